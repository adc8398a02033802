"""Texts in the charsets of the web, and what is none."""

import codecs

import pytest

from activities.web.fetch_request import Fetched
from activities.web.page import is_page, text_of


def sent(content: bytes, media_type: str = "text/html", charset: str | None = None) -> Fetched:
    return Fetched(url="https://a.test/", media_type=media_type, content=content, charset=charset)


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("Zażółć".encode("iso-8859-2"), "ISO-8859-2", "Zażółć"),
        ("“quoted” €".encode("cp1252"), "iso-8859-1", "“quoted” €"),
        ("Привет".encode("koi8-r"), "KOI8-R", "Привет"),
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        ("中文".encode("gb18030"), "gb18030", "中文"),
        (codecs.BOM_UTF8 + "é".encode(), "iso-8859-1", "é"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), None, "é"),
        ("é".encode("utf-16-be"), "utf-16be", "é"),
        ('<meta charset="windows-1251">Привет'.encode("cp1251"), None, '<meta charset="windows-1251">Привет'),
        (
            "<meta http-equiv=content-type content='text/html; charset=euc-kr'>한".encode("euc-kr"),
            None,
            "<meta http-equiv=content-type content='text/html; charset=euc-kr'>한",
        ),
        (b"<meta charset=utf-16>\xc3\xa9", None, "<meta charset=utf-16>é"),
        (b"a\xffb", "utf-8", "a\ufffdb"),
        (b"caf\xc3\xa9", "no-such-charset", "café"),
        (b"+AOk- xn--9ca", "utf-7", "+AOk- xn--9ca"),
        (b"nbsp:\\x41", "unicode_escape", "nbsp:\\x41"),
        (b"abc", "iso-8859-99", "abc"),
        (b"", None, ""),
    ],
    ids=repr,
)
def test_a_text_is_read_in_its_charset(content: bytes, charset: str | None, text: str) -> None:
    assert text_of(sent(content, charset=charset)) == text


def test_a_charset_within_a_text_counts_in_pages_only() -> None:
    text = b'<meta charset="utf-16">\xe9'
    assert text_of(sent(text, "text/plain", "iso-8859-1")) == '<meta charset="utf-16">é'


@pytest.mark.parametrize(
    ("content", "media_type"),
    [(b"PK\x03\x04\0\0", "application/zip"), (b"\0\1\2", "text/html"), (b"text", "audio/mpeg"), (b"text", "video/mp4")],
)
def test_what_is_no_text_is_not_read(content: bytes, media_type: str) -> None:
    assert text_of(sent(content, media_type)) is None


def test_a_page_is_known_by_its_type_else_by_its_beginning() -> None:
    assert all(is_page(sent(b"", each)) for each in ("text/html", "application/xhtml+xml"))
    assert is_page(sent(b"\n <!DOCTYPE HTML><p>", "")) and is_page(sent(b"<html lang=en>", ""))
    assert not is_page(sent(b"<html>", "text/plain")) and not is_page(sent(b"htmlx", ""))
