"""Smaller copies of pictures that some provider would refuse."""

from io import BytesIO
from threading import Lock
from typing import Final

from PIL import Image, ImageOps

from activities.files.image_size import MAX_PICTURE_BYTES, MAX_SIDE, SmallerCopy
from prompts import render_prompt

_DECODING: Final = Lock()  # one at a time, for the memory
_FORMATS: Final = "PNG", "JPEG", "GIF", "WEBP"
_QUALITY: Final = 85


def shrink(content: bytes) -> SmallerCopy:
    """A copy that each provider takes; of moving pictures, the first. Blocks. Raises ValueError with the reason."""
    try:
        with _DECODING, Image.open(BytesIO(content), formats=_FORMATS) as picture:
            return _shrink(picture)
    except Exception as error:  # decoders raise whatever a broken file leads to
        reason = str(error).partition(" <")[0].rstrip(".") or type(error).__name__
        raise ValueError(f"it is too large, and no smaller copy can be made ({reason})") from error


def _shrink(picture: Image.Image) -> SmallerCopy:
    before = picture.size
    copy = _decode(picture)
    turned = ImageOps.exif_transpose(copy)
    if turned.size != copy.size:
        before = before[::-1]
    content, mime = _encode(turned)
    while len(content) > MAX_PICTURE_BYTES:
        turned.thumbnail((max(turned.size) * 3 // 4,) * 2)
        content, mime = _encode(turned)
    note = render_prompt("tools/smaller_copy", before="×".join(map(str, before)), after="×".join(map(str, turned.size)))
    return SmallerCopy(content, mime, note)


def _decode(picture: Image.Image) -> Image.Image:
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    if picture.mode.startswith("I"):  # 16 bits of grey
        picture = picture.convert("I").point(lambda level: level / 256)
    if picture.mode != mode and picture.format != "JPEG":  # which is decoded at a part of its size
        picture = picture.convert(mode)
    picture.thumbnail((MAX_SIDE, MAX_SIDE))
    copy = picture.convert(mode)
    opaque = mode == "RGBA" and copy.getchannel("A").getextrema() == (255, 255)
    return copy.convert("RGB") if opaque else copy


def _encode(picture: Image.Image) -> tuple[bytes, str]:
    encoded = BytesIO()
    form = "PNG" if picture.mode == "RGBA" else "JPEG"
    picture.save(encoded, form, quality=_QUALITY)
    return encoded.getvalue(), Image.MIME[form]
