"""What an edit does not touch stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.files.text import Text, checked, shown
from workflows.domain.errors import ToolError


@given(st.binary())
def test_any_bytes_survive_the_way_there_and_back(raw: bytes) -> None:
    assert Text.of(raw).raw() == raw


def test_a_byte_order_mark_is_set_aside_and_put_back_once() -> None:
    text = Text.of(b"\xef\xbb\xbfabc")
    assert text == Text("abc", marked=True)
    assert Text("\ufeffnew", marked=True).raw() == b"\xef\xbb\xbfnew"


@pytest.mark.parametrize(("raw", "ending"), [(b"a\r\nb\n", "\r\n"), (b"a\nb", "\n"), (b"a\rb", "\n"), (b"", "\n")])
def test_any_crlf_makes_a_crlf_file(raw: bytes, ending: str) -> None:
    assert Text.of(raw).ending == ending


def test_what_utf8_cannot_hold_is_not_written() -> None:
    assert checked("é\0") == "é\0"
    with pytest.raises(ToolError, match="lone surrogate"):
        checked("\ud800")


def test_other_encodings_are_shown_with_replacement_characters() -> None:
    assert shown(b"caf\xe9") == "caf\ufffd"
