"""What an edit does not touch stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.files.text_file import TextFile, decode_lossy, require_encodable
from workflows.domain.errors import ToolError


@given(st.binary())
def test_any_bytes_survive_the_way_there_and_back(raw: bytes) -> None:
    assert TextFile.of(raw).encode() == raw


def test_a_byte_order_mark_is_set_aside_and_put_back_once() -> None:
    text = TextFile.of(b"\xef\xbb\xbfabc")
    assert text == TextFile("abc", has_bom=True)
    assert TextFile("\ufeffnew", has_bom=True).encode() == b"\xef\xbb\xbfnew"


@pytest.mark.parametrize(("raw", "ending"), [(b"a\r\nb\n", "\r\n"), (b"a\nb", "\n"), (b"a\rb", "\n"), (b"", "\n")])
def test_any_crlf_makes_a_crlf_file(raw: bytes, ending: str) -> None:
    assert TextFile.of(raw).line_ending == ending


def test_text_that_utf8_cannot_encode_is_not_written() -> None:
    assert require_encodable("é\0") == "é\0"
    with pytest.raises(ToolError, match="lone surrogate"):
        require_encodable("\ud800")


def test_other_encodings_are_shown_with_replacement_characters() -> None:
    assert decode_lossy(b"caf\xe9") == "caf\ufffd"
