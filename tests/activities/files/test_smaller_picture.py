"""Pictures that some provider would refuse are made smaller, and look as before."""

import random
import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from activities.files.image_size import MAX_PICTURE_BYTES, MAX_SIDE, SmallerCopy, dimensions, smaller_copy

ORIENTATION = 0x0112  # EXIF's
BLUE, RED = (0, 0, 255), (255, 0, 0)


def encoded(picture: Image.Image, form: str = "PNG", **more: Any) -> bytes:
    file = BytesIO()
    picture.save(file, form, **more)
    return file.getvalue()


def shrunk(content: bytes) -> tuple[SmallerCopy, Image.Image]:
    copy = smaller_copy(content)
    assert copy is not None
    return copy, Image.open(BytesIO(copy.content))


def noise(width: int, height: int, mode: str) -> Image.Image:
    return Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * len(mode)))


@settings(max_examples=20, deadline=None)
@given(
    width=st.integers(1, 3000),
    height=st.integers(1, 3000),
    mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]),
    form=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]),
)
def test_what_is_shown_is_within_the_limits_and_keeps_its_proportions(
    width: int, height: int, mode: str, form: str
) -> None:
    picture = Image.new(mode if form == "PNG" else "RGB", (width, height))
    content = encoded(picture, form)
    copy = smaller_copy(content)
    if copy is None:
        assert max(width, height) <= MAX_SIDE
        return
    after = dimensions(copy.content)
    assert after is not None and max(after) == MAX_SIDE and len(copy.content) <= MAX_PICTURE_BYTES
    assert abs(after[0] * height - after[1] * width) <= max(width, height)
    assert (
        copy.note == f"[The picture has {width}×{height} pixels; a smaller copy of {after[0]}×{after[1]} is attached.]"
    )


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_within_the_limits_stays_as_it_is(form: str) -> None:
    assert smaller_copy(encoded(Image.new("RGB", (MAX_SIDE, 3)), form)) is None


@pytest.mark.parametrize(
    ("mode", "color", "mime"),
    [
        ("RGB", BLUE, "image/jpeg"),
        ("RGBA", (*BLUE, 255), "image/jpeg"),  # as screenshots are, with nothing to see through
        ("RGBA", (*BLUE, 9), "image/png"),
        ("LA", (7, 9), "image/png"),
    ],
)
def test_only_what_can_be_seen_through_stays_a_png(mode: str, color: Any, mime: str) -> None:
    copy, picture = shrunk(encoded(Image.new(mode, (2001, 10), color)))
    assert copy.mime == mime and Image.MIME[picture.format or ""] == mime


def test_colors_stay_and_a_picture_of_16_bits_is_not_white() -> None:
    palette = Image.new("RGB", (2100, 10), RED).quantize(4)
    for content in (
        encoded(palette),
        encoded(palette, "GIF"),
        encoded(Image.new("CMYK", (2100, 10), (0, 255, 255, 0)), "JPEG"),
    ):
        red, green, blue = shrunk(content)[1].convert("RGB").getpixel((9, 3))  # type: ignore[misc]  # of three colours
        assert red > 200 and green < 50 and blue < 50
    grey = shrunk(encoded(Image.new("I;16", (2100, 10), 0x4000)))[1].convert("L").getpixel((9, 3))
    assert grey == 0x40


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_turned_as_its_camera_says(form: str) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    wide = Image.new("RGB", (4000, 1000), BLUE)
    wide.paste(RED, (0, 0, 2000, 1000))
    copy, picture = shrunk(encoded(wide, form, exif=exif))
    assert picture.size == (500, 2000) and "has 1000×4000 pixels" in copy.note
    assert not picture.getexif().get(ORIENTATION)
    top, bottom = (picture.convert("RGB").getpixel((250, y)) for y in (100, 1900))
    assert isinstance(top, tuple) and isinstance(bottom, tuple) and top[0] > 200 and bottom[2] > 200


def test_of_moving_pictures_the_first_is_shown() -> None:
    others = [Image.new("RGB", (2100, 10), BLUE)]
    content = encoded(Image.new("RGB", (2100, 10), RED), "GIF", save_all=True, append_images=others)
    pixel = shrunk(content)[1].convert("RGB").getpixel((9, 3))
    assert isinstance(pixel, tuple) and pixel[0] > 200


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_picture_of_too_many_bytes_is_made_smaller_until_it_fits(mode: str) -> None:
    content = encoded(noise(1200, 1200, mode))
    assert len(content) > MAX_PICTURE_BYTES
    copy, picture = shrunk(content)
    assert len(copy.content) <= MAX_PICTURE_BYTES and picture.width == picture.height > 500


def png_of(width: int, height: int) -> bytes:
    """A PNG with nothing in it but its size."""
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", b""), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def test_more_pixels_than_fit_into_memory_are_refused_by_the_header() -> None:
    with pytest.raises(ValueError, match="it has 30000×30000 pixels; .* of 50,000,000 at most"):
        smaller_copy(png_of(30_000, 30_000))


@pytest.mark.parametrize(
    "content",
    [
        png_of(3000, 10),
        encoded(Image.new("RGB", (3000, 10)), "JPEG")[:600],
        b"GIF89a" + struct.pack("<HH", 3000, 10) + b"\0",
        b"?" * (MAX_PICTURE_BYTES + 1),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_the_reason(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"it is too large, and no smaller copy can be made \([^<]+\)"):
        smaller_copy(content)
