"""AWS's event streams, read as botocore reads them."""

from struct import pack

import pytest
from botocore.eventstream import EventStreamBuffer

from activities.model.wires.event_frames import FrameSplitter
from tests.providers.event_stream_frames import event_frame, frame_of, text_header
from workflows.domain.errors import ModelError

OTHERS = b"".join(
    bytes([2]) + b"x%d" % kind + bytes([kind]) + value
    for kind, value in (
        (0, b""),
        (1, b""),
        (2, b"1"),
        (3, b"12"),
        (4, b"1234"),
        (5, b"12345678"),
        (6, pack("!H", 3) + b"123"),
        (8, b"12345678"),
        (9, b"1234567890123456"),
    )
)
FRAMES = (
    frame_of(OTHERS + text_header(":event-type", "messageStart"), b'{"role": "assistant"}')
    + frame_of(text_header(":event-type", "contentBlockStop"), b"")
    + event_frame("messageStop", {"stopReason": "end_turn"})
)


@pytest.mark.parametrize("size", [1, 7, len(FRAMES)])
def test_frames_are_found_wherever_the_stream_is_cut(size: int) -> None:
    splitter, reference = FrameSplitter("own"), EventStreamBuffer()
    reference.add_data(FRAMES)
    pieces = [FRAMES[start : start + size] for start in range(0, len(FRAMES), size)]

    found = [event for piece in pieces for event in splitter.feed(piece)]

    assert found == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    assert [frame.headers[":event-type"] for frame in reference] == [name for event in found for name in event]


@pytest.mark.parametrize(
    "sent",
    [
        b"<html>Welcome</html>",
        FRAMES[:5] + bytes([FRAMES[5] ^ 1]) + FRAMES[6:],
        FRAMES[:40] + bytes([FRAMES[40] ^ 1]) + FRAMES[41:],
        frame_of(bytes([9]) + b"x", b"{}"),
        frame_of(b"", b"x" * 2**23),
    ],
    ids=["a page", "a wrong length", "a wrong header", "half a header", "too long"],
)
def test_what_is_no_frame_is_no_piece_of_an_answer(sent: bytes) -> None:
    with pytest.raises(ModelError, match="not part of an answer"):
        list(FrameSplitter("own").feed(sent))
