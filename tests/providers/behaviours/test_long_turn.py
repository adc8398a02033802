"""What counts as an extension of an earlier request."""

import pytest

from tests.providers.behaviours.long_turn import check_extension

FIRST = b'{"messages":[{"role":"user","content":"h\xc3\xad"}],"tools":[{"name":"read"}]}'
MARKED = b'{"messages":[{"role":"user","content":[{"type":"text","text":"go","cache_control":{}}]}]}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FIRST, FIRST.replace(b"}],", b'},{"role":"assistant"}],', 1)),
        (FIRST, FIRST.replace(b"]}", b'],"tool_choice":"none"}')),
        (MARKED, b'{"messages":[{"role":"user","content":"go"},{"role":"assistant"}]}'),
    ],
    ids=["a message more", "no calls", "a mark moves"],
)
def test_an_extension(before: bytes, after: bytes) -> None:
    check_extension([before, after])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FIRST, FIRST.replace(b"\xc3\xad", b"\\u00ed")),
        (FIRST, FIRST.replace(b'"user",', b'"user", ')),
        (FIRST, FIRST.replace(b"read", b"write")),
        (FIRST, FIRST.replace(b"]}", b'],"tool_choice":"none","stream":true}')),
        (FIRST, b'{"messages":[],"tools":[{"name":"read"}]}'),
        (MARKED, MARKED.replace(b"go", b"gone")),
    ],
    ids=["the same text, escaped", "a blank", "another tool", "no calls, and more", "fewer", "a marked message"],
)
def test_none(before: bytes, after: bytes) -> None:
    with pytest.raises(AssertionError, match="request 2"):
        check_extension([before, after])
