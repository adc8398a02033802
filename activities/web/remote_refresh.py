"""Renews the copies of what configuration names on the net."""

import asyncio
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote, urljoin
from uuid import uuid4

from pydantic import ValidationError

from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.remote_copies import (
    FOLDER,
    RemoteCopy,
    RemoteSkill,
    RemoteSource,
    digest_of,
    folder_name,
    read_copy,
    write_copy,
)
from activities.web.web_address import parse_address
from activities.web.web_fetcher import WebFetcher
from workflows.domain.errors import ConfigError, FetchError
from workflows.domain.skills import is_skill_name
from workflows.domain.value import Value

_LIMIT: Final = 2**20  # bytes of a text, of an index, of a skill's file
_SECONDS: Final = 5.0  # of one request (opencode.md 6.4)
_TOGETHER: Final = 20.0  # seconds of all that a turn waits for
_PARALLEL: Final = 4
_MAX_SKILLS: Final = 100  # of an index
_MAX_FILES: Final = 50  # of a skill
_RETENTION: Final = 7 * 24 * 3600  # seconds; folders of skills that a running turn may still know
_LOG: Final = logging.getLogger("holdfast.web")
_INDEX: Final = "index.json"
_SKILL: Final = "SKILL.md"


class _ListedSkill(Value):
    name: str
    files: tuple[str, ...] = ()
    version: str | int | float | None = None

    @property
    def wanted_files(self) -> tuple[str, ...]:
        """Raises FetchError for files that would be elsewhere."""
        if not is_skill_name(self.name) or len(self.files) > _MAX_FILES:
            raise FetchError(f"the skill {self.name[:100]!r} has no usable name, or more than {_MAX_FILES} files")
        for each in self.files:
            path = PurePosixPath(each)
            odd = path.is_absolute() or ".." in path.parts or "\\" in each or not each.isprintable() or len(each) > 200
            if odd or not path.parts or str(path) != each:
                raise FetchError(f"the skill {self.name!r} names the file {each[:100]!r}, which is not below it")
        return self.files


class _SkillIndex(Value):
    skills: tuple[_ListedSkill, ...]


@dataclass
class RemoteRefresh:
    """One turn's. `data`: Holdfast's directory. `may_fetch`: what its rules say of an address. `check`: of an
    organisation's text, and its address; raises ConfigError for what cannot be used."""

    data: Path
    environment: Mapping[str, str]
    may_fetch: Callable[[str], bool]
    check: Callable[[str, str], object]
    began: float = field(default_factory=time.monotonic)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PARALLEL))

    async def renew(self, sources: Sequence[RemoteSource]) -> bool:
        """Renew the copies; returns whether there was something to do. Failures are recorded in the copies."""
        known = await asyncio.to_thread(lambda: [read_copy(self.data, each.url) for each in sources])
        now = time.time()
        due = [(source, copy) for source, copy in zip(sources, known, strict=True) if copy is None or copy.is_due(now)]
        await asyncio.gather(
            *(self._renew(source, copy or RemoteCopy(url=source.url, checked_at=0)) for source, copy in due)
        )
        return bool(due)

    async def _renew(self, source: RemoteSource, copy: RemoteCopy) -> None:
        now = time.time()
        try:
            parse_address(source.url)
            renewed = await (self._skills if source.skills else self._text)(source, copy)
            renewed = renewed.model_copy(update={"checked_at": now})
        except Exception as error:  # what a server sends fails no turn, and no other copy
            if not isinstance(error, FetchError):
                _LOG.exception("the copy of %s cannot be renewed", source.url)
            problem = str(error) or type(error).__name__
            renewed = copy.model_copy(update={"checked_at": now, "problem": problem})
        try:
            await asyncio.to_thread(write_copy, self.data, renewed)
        except OSError as error:
            _LOG.warning("the copy of %s cannot be written: %s", source.url, error)

    async def _text(self, source: RemoteSource, copy: RemoteCopy) -> RemoteCopy:
        """Fetch a text; an unchanged one stays."""
        address = _index_of(source.url) if source.skills else source.url
        found = await self._fetch(source, address, copy.etag, copy.modified)
        if found.content is None and copy.text is not None:
            return copy.model_copy(update={"problem": None})
        text = (found.content or b"").decode("utf-8-sig", "replace")
        if "\0" in text:
            raise FetchError("it is no text")
        if source.organisation:
            await asyncio.to_thread(self._check, text, source.url)
        given = {"text": text, "etag": found.etag, "modified": found.modified, "fetched_at": time.time()}
        return copy.model_copy(update=given | {"problem": None})

    def _parent(self, source: RemoteSource) -> Path:
        """The folder that contains the folders of its skills."""
        return self.data / FOLDER / folder_name(parse_address(source.url).host, source.url)

    def _check(self, text: str, url: str) -> None:
        """Raises FetchError for a text that cannot be used: it must not replace a copy that can."""
        try:
            self.check(text, url)
        except ConfigError as error:
            raise FetchError(str(error).partition("\n")[0].removesuffix(".")) from None

    async def _skills(self, source: RemoteSource, copy: RemoteCopy) -> RemoteCopy:
        """Fetch a folder's skills; those that fail stay as they were."""
        renewed = await self._text(source, copy)
        listed = await asyncio.to_thread(_parse_index, renewed.text or "", _index_of(source.url))
        known = {each.name: each for each in copy.skills}
        wanted = [each for each in listed if _SKILL in each.files]
        found = await asyncio.gather(*(self._skill(source, each, known.get(each.name)) for each in wanted))
        skills = tuple(skill for skill, _ in found if skill is not None)
        problem = next((problem for _, problem in found if problem is not None), None)
        await asyncio.to_thread(_remove_old, self._parent(source), {each.folder for each in skills})
        return renewed.model_copy(update={"skills": skills, "problem": problem})

    async def _skill(
        self, source: RemoteSource, listed: _ListedSkill, known: RemoteSkill | None
    ) -> tuple[RemoteSkill | None, str | None]:
        version = None if listed.version is None else str(listed.version)
        same = known is not None and version is not None and (known.version, known.files) == (version, listed.files)
        if known is not None and same and await asyncio.to_thread(Path(known.folder).is_dir):
            return known, None
        base = urljoin(_index_of(source.url), f"{quote(listed.name)}/")
        try:
            names = listed.wanted_files
            found = await asyncio.gather(*(self._fetch(source, base + quote(name)) for name in names))
            contents = {name: each.content or b"" for name, each in zip(names, found, strict=True)}
            folder = await asyncio.to_thread(_store, self._parent(source), listed.name, contents)
        except (FetchError, OSError) as error:
            return known, f"the skill {listed.name!r}: {error}"
        return RemoteSkill(name=listed.name, version=version, files=names, folder=str(folder)), None

    async def _fetch(
        self, source: RemoteSource, url: str, etag: str | None = None, modified: str | None = None
    ) -> Fetched:
        async with self.slots:
            left = self.began + _TOGETHER - time.monotonic()
            if left <= 0:
                raise FetchError(f"all of them together have {_TOGETHER:g} seconds, which were over")
            request = FetchRequest(
                url=url,
                limit=_LIMIT,
                seconds=min(_SECONDS, left),
                named=frozenset({parse_address(source.url).authority}),
                https_only=source.organisation,
                etag=etag,
                modified=modified,
            )
            may_fetch = (lambda url: True) if source.organisation else self.may_fetch
            return await WebFetcher(self.environment, may_fetch=may_fetch).fetch(request)


def _index_of(url: str) -> str:
    return urljoin(url if url.endswith("/") else f"{url}/", _INDEX)


def _parse_index(text: str, url: str) -> tuple[_ListedSkill, ...]:
    """Raises FetchError."""
    try:
        listed = _SkillIndex.model_validate(json.loads(text)).skills
    except (ValueError, ValidationError, RecursionError):
        raise FetchError(f"{url} is no index of skills") from None
    if len(listed) > _MAX_SKILLS:
        raise FetchError(f"it has more than {_MAX_SKILLS} skills")
    return listed


def _store(parent: Path, name: str, contents: Mapping[str, bytes]) -> Path:
    """Store the skills atomically, in a folder named after them."""
    parts = "".join(f"{digest_of(file)}{digest_of(content.hex())}" for file, content in sorted(contents.items()))
    folder = parent / folder_name(name, name, parts)
    if not folder.exists():
        scratch = parent / f".{uuid4().hex}"
        for file, content in contents.items():
            (scratch / file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (scratch / file).write_bytes(content)
        with suppress(OSError):  # another turn was faster
            scratch.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
    os.utime(folder)
    return folder


def _remove_old(parent: Path, current: set[str]) -> None:
    for each in parent.glob("*") if parent.is_dir() else ():
        with suppress(OSError):
            if str(each) not in current and time.time() - each.stat().st_mtime > _RETENTION:
                shutil.rmtree(each)
