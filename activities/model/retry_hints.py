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
        length, moment = found[1] or found[2], found[3]
        asked = (_until_epoch(moment, now) if moment else _length(length)) or None  # "0s": attempt after attempt
    return max(_resets(named, now), default=None) if asked is None else asked


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None:
        return math.ceil(seconds * 1000) / 1000
    return _until(given, now) if given else None


def _resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    for seconds in _RATE_LIMIT.findall(headers.get("ratelimit", "")):
        yield float(seconds)
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        remaining = found and (
            headers.get(f"x-ratelimit-remaining-{found['openai']}")
            or headers.get(name.removesuffix("-reset") + "-remaining")
            or headers.get("x-ratelimit-remaining")
            or ("0" if headers.get(name.removesuffix("-reset") + "-status") == "rejected" else None)
        )
        seconds = (_length(value) or _until_epoch(value, now) or _until(value, now)) if remaining == "0" else None
        if seconds is not None:
            yield seconds


def _length(text: str) -> float | None:
    """The seconds in "6m0s", "20.5s", "350ms" or "1 minute and 5 seconds"."""
    parts = _LENGTHS.findall(text)
    if _LENGTHS.sub("", text).replace("and", "").strip(", "):
        return None
    try:
        return sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until_epoch(text: str, now: datetime) -> float | None:
    """Seconds to a moment in seconds or milliseconds since 1970 (OpenRouter); small numbers are seconds (Together)."""
    moment = _number(text)
    if moment is None or moment < _MOMENT:
        return moment or None
    seconds = (moment / 1000 if moment > _MILLISECONDS else moment) - now.timestamp()
    return seconds if seconds > 0 else None


def _until(date: str, now: datetime) -> float | None:
    """Seconds to a moment of HTTP or of RFC 3339."""
    try:
        moment = datetime.fromisoformat(date) if date[:4].isdigit() else parsedate_to_datetime(date)
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
