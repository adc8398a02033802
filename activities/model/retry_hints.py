"""A provider's hint when to ask again: a header, a moment in its body, or its words."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_RESET: Final = re.compile(  # Anthropic, OpenAI, Mistral, and the IETF's earlier drafts
    r"(?:anthropic|x)-(?:ratelimit|priority)-(?P<of>.+)-reset|x-ratelimit-reset(?:-(?P<openai>.+))?|ratelimit(bysize)?-reset"
)
_RATE_LIMIT: Final = re.compile(r";\s*r=0\b[^,]*;\s*t=(\d+)")  # of `RateLimit` (draft-ietf-httpapi-ratelimit-headers)
_IN_BODY: Final = re.compile(  # Google; OpenAI, Groq and Azure; OpenRouter, which quotes its header
    r'(?i)"retryDelay":\s*"([\d.]+s)"'
    r"|(?:try again|retry) (?:in|after) ((?:[, ]{0,2}(?:and )?[\d.]+ ?(?:ms|[hms])[a-z]*)+)"
    r'|"x-ratelimit-reset":\s*"?(\d+)'
)
_LENGTHS: Final = re.compile(r"([\d.]+) ?(ms|h|m|s)(?:ours?|inutes?|econds?|ecs?|ins?)?", re.IGNORECASE)
_MOMENT: Final = 1e8  # a number from here on is a moment, in seconds since 1970
_MILLISECONDS: Final = 1e11  # since 1970: in seconds, that is the year 5138
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def hinted_seconds(headers: Mapping[str, str], text: str, now: datetime) -> float | None:
    """Seconds until the provider may be asked again; None without a hint.

    Its word for this request wins over the resets of its limits, and of these only those that are used up count.
    """
    named = {name.lower(): value for name, value in headers.items()}
    asked = _retry_after(named, now)
    if asked is None and (found := _IN_BODY.search(text)):
        asked = _seconds(next(filter(None, found.groups())), now)  # not "0s": attempt after attempt
    return max(_resets(named, now), default=None) if asked is None else asked


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    milliseconds, given = _number(headers.get("retry-after-ms", "")), headers.get("retry-after", "")
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = _number(given)
    return _until(given, now) if seconds is None else math.ceil(seconds * 1000) / 1000


def _resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    yield from map(float, _RATE_LIMIT.findall(headers.get("ratelimit", "")))
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        remaining = found and (
            headers.get(f"x-ratelimit-remaining-{found['openai']}")
            or headers.get(name.removesuffix("-reset") + "-remaining")
            or headers.get("x-ratelimit-remaining")
            or ("0" if headers.get(name.removesuffix("-reset") + "-status") == "rejected" else None)
        )
        if remaining == "0" and (seconds := _seconds(value, now)):
            yield seconds


def _seconds(text: str, now: datetime) -> float | None:
    """Those in "6m0s", "20.5s", "1 minute and 5 seconds" or a small number (Together), or until a moment ahead: in
    seconds or milliseconds since 1970 (OpenRouter), of HTTP or of RFC 3339."""
    parts = _LENGTHS.findall(text)
    if parts and not _LENGTHS.sub("", text).replace("and", "").strip(", "):
        return sum((_number(number) or 0) * _SECONDS[unit.lower()] for number, unit in parts) or None
    number = _number(text)
    if number is None:
        return _until(text, now)
    if number >= _MOMENT:
        number = (number / 1000 if number > _MILLISECONDS else number) - now.timestamp()
    return number if number > 0 else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(date: str, now: datetime) -> float | None:
    try:
        moment = datetime.fromisoformat(date) if date[:4].isdigit() else parsedate_to_datetime(date)
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
