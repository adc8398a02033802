"""Waits on purpose: a call that waits for a moment, a file or a poke; pure parts."""

import re
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from workflows.domain.value import Value

LONGEST: Final = timedelta(days=3660)
MISSING: Final = "missing"  # the fingerprint of no file
TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_WORDS: Final = re.compile(
    r"(?:(\d{1,5})\s*w\s*)?(?:(\d{1,5})\s*d\s*)?(?:(\d{1,6})\s*h\s*)?(?:(\d{1,7})\s*m(?:in)?\s*)?(?:(\d{1,9})\s*s)?"
)
_ISO: Final = re.compile(r"p(?:(\d{1,5})w)?(?:(\d{1,5})d)?(?:t(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?)?")


class WaitKind(StrEnum):
    TIME = "time"
    FILE = "file"
    POKE = "poke"


class FileEvent(StrEnum):
    """What a file's wait is for."""

    ANY = "any"
    CREATED = "created"
    DELETED = "deleted"


class WaitEnd(StrEnum):
    """CAME: its moment; GAVE_UP: its latest moment; WOKEN: by a person; STOPPED: with its turn."""

    CAME = "came"
    GAVE_UP = "gave_up"
    CHANGED = "changed"
    POKED = "poked"
    WOKEN = "woken"
    STOPPED = "stopped"


class WaitSubject(Value):
    """What a call waits for. `name`: of a file, its path as the model sees it; of a poke, the token. `path`: the file's
    real one; `seen`: its fingerprint when the wait began."""

    kind: WaitKind
    name: str = ""
    path: str = ""
    event: FileEvent = FileEvent.ANY
    seen: str = ""


class WaitStatus(Value):
    """A wait on purpose. `until`: its moment, or the latest one, `seconds` from now. `author`: the person who has ended
    it, with `text`."""

    subject: WaitSubject
    until: datetime | None
    seconds: float | None
    begun_at: datetime
    ending: WaitEnd | None
    ended_at: datetime | None
    author: str | None
    text: str | None


def parse_moment(text: str) -> timedelta | datetime:
    """A duration (`90s`, `2h 30m`, `PT2H`) or an ISO 8601 moment, naive without an offset. Raises ValueError."""
    written = text.strip().lower()
    found = _WORDS.fullmatch(written) or _ISO.fullmatch(written)
    if found is not None and any(found.groups()):
        weeks, days, hours, minutes, seconds = (int(each or 0) for each in found.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return datetime.fromisoformat(text.strip())


def has_happened(subject: WaitSubject, now: str) -> bool:
    """Whether a file, whose fingerprint is `now`, has done what the wait is for."""
    if subject.kind is not WaitKind.FILE:
        return False
    match subject.event:
        case FileEvent.CREATED:
            return now != MISSING
        case FileEvent.DELETED:
            return now == MISSING
    return now != subject.seen
