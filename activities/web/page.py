"""What a server has sent, as text."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath
from typing import Final

from activities.files.file_type import HEAD_BYTES, is_binary
from activities.web.fetch_request import Fetched

_HTML: Final = ("text/html", "application/xhtml+xml")
_HTML_START: Final = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_META: Final = re.compile(rb"<meta[^>]{0,200}\bcharset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_META_BYTES: Final = 1024  # bytes of a page in which it says how it is encoded (HTML standard)
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# of the web; others of Python's read texts as programs, or take long
_CHARSETS: Final = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|us-ascii|iso-?8859-?\d+|windows-125\d|cp(125\d|866|932|949)|koi8-[ru]|gbk|gb2312|gb18030"
    r"|big5|shift-jis|euc-(jp|kr)|iso-2022-jp|tis-620|macintosh|latin-?1"
)
_WIDER: Final = dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii"), "cp1252")  # as browsers read them


def is_page(found: Fetched) -> bool:
    """Whether it is HTML."""
    return found.media_type in _HTML or (not found.media_type and _HTML_START.match(found.content or b"") is not None)


def text_of(found: Fetched) -> str | None:
    """None for what is no text. What does not fit the charset is replaced."""
    content = found.content or b""
    charset = next(_charsets(found, content), None)
    if found.media_type.startswith(("audio/", "video/", "font/")):
        return None
    if not (charset or "").startswith("utf-16") and is_binary(content[:HEAD_BYTES], PurePath()):
        return None
    return content.decode(charset or "utf-8", "replace")


def _charsets(found: Fetched, content: bytes) -> Iterator[str]:
    """The first that is known counts: of the text's own mark, the server, and the page."""
    yield from (charset for mark, charset in _MARKS if content.startswith(mark))
    named = [found.charset or ""]
    if is_page(found) and (meta := _META.search(content[:_META_BYTES])):
        # what can be searched so is no UTF-16, whatever it says (HTML standard)
        named.append(re.sub("utf-16.*", "utf-8", meta[1].decode("ascii", "replace").lower()))
    for name in (each.lower().replace("_", "-") for each in named):
        with suppress(LookupError):
            if _CHARSETS.fullmatch(name) and codecs.lookup(name):
                yield _WIDER.get(name, name)
