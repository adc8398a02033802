"""Copies of what configuration names on the net: commands and turns read these, and a worker renews them."""

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from pydantic import ValidationError

from workflows.domain.value import Value

FOLDER: Final = "web"  # of Holdfast's data directory
TO_BE_FETCHED: Final = "is fetched when the next turn begins"
_FRESH: Final = 600.0  # seconds after which a copy is looked at again
_PAUSE: Final = 60.0  # seconds after a failure


class RemoteSource(Value):
    """An address that a configuration names. `skills`: of a folder of skills with an index. `organisation`: of a
    configuration, by TLS only; no rule of an agent is about it."""

    url: str
    skills: bool = False
    organisation: bool = False


class RemoteSkill(Value):
    """`folder` holds its files. Without a `version` they are looked at again with their index."""

    name: str
    version: str | None
    files: tuple[str, ...]
    folder: str


class RemoteCopy(Value):
    """`text`: the last good one, of `fetched_at`. `problem`: why it could not be renewed at `checked_at`. Times are
    seconds since 1970."""

    url: str
    checked_at: float
    fetched_at: float = 0
    text: str | None = None
    etag: str | None = None
    modified: str | None = None
    skills: tuple[RemoteSkill, ...] = ()
    problem: str | None = None

    def is_due(self, now: float) -> bool:
        return not 0 <= now - self.checked_at < (_FRESH if self.problem is None else _PAUSE)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def folder_name(shown: str, *contents: str) -> str:
    """A folder that people can recognise, and no other has."""
    return f"{re.sub('[^A-Za-z0-9.-]', '_', shown)[:60]}-{digest_of(' '.join(contents))[:16]}"


def read_copy(data: Path, url: str) -> RemoteCopy | None:
    try:
        return RemoteCopy.model_validate_json((data / FOLDER / f"{digest_of(url)}.json").read_bytes())
    except (OSError, ValidationError):
        return None


def write_copy(data: Path, copy: RemoteCopy) -> None:
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = folder / f".{uuid4().hex}"
    scratch.write_text(copy.model_dump_json(), "utf-8")
    scratch.replace(folder / f"{digest_of(copy.url)}.json")


def describe_problem(url: str, named_by: str, copy: RemoteCopy | None) -> str | None:
    """For people: why there is no copy, or an old one."""
    if copy is None:
        return f"{named_by}: {url} {TO_BE_FETCHED}; `holdfast doctor` says then if that has failed."
    if copy.problem is None:
        return None
    if copy.text is None:
        return f"{named_by}: {url} is left out: it cannot be fetched: {copy.problem}."
    at = datetime.fromtimestamp(copy.fetched_at, UTC)
    return f"{named_by}: {url} cannot be fetched: {copy.problem}. The copy of {at:%Y-%m-%d %H:%M} UTC is used."
