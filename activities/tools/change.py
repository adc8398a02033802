"""FileChange: what edit and write share, from the look at the file to the reconciliation after a crash."""

import asyncio
import hashlib
import os
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, cast

from pydantic import JsonValue

import prompts
from activities.files import difference, requests
from activities.files.locate import Kind, Located, locate
from activities.files.opening import read_whole
from activities.files.place import Place
from activities.files.replace import Replacement, digest, remove_temporaries, replace
from activities.files.text import shown
from activities.tools.tool import Output, P, Plan, Surroundings, Tool, Unknown
from workflows.domain.effects import Effect, Recovery, Target
from workflows.domain.errors import ToolError

LARGEST: Final = 32 * 1024 * 1024  # bytes of a file that edit and write take on: its whole content is compared
_SHORT: Final = 8 * 1024  # characters of arguments, and
_SMALL: Final = 64 * 1024  # bytes of a file, of which the difference is found within milliseconds


@dataclass(frozen=True)
class Look:
    """The file as it is now and as the call would leave it, or why the call is wrong."""

    located: Located
    before: bytes | None
    after: bytes | ToolError

    @property
    def target(self) -> Target:
        after = None if isinstance(self.after, ToolError) else _sha256(self.after)
        return Target(path=str(self.located.path), before=_sha256(self.before), after=after)

    @property
    def diff(self) -> str:
        if isinstance(self.after, ToolError):
            return ""
        return difference.unified(str(self.located.path), shown(self.before or b""), shown(self.after))


class FileChange(Tool[P]):
    """A tool that gives one file new content; after a crash the hashes before and after tell what happened."""

    recovery = Recovery.RECONCILABLE
    done: ClassVar[str]

    @abstractmethod
    def path(self, params: P) -> str:
        """The file to change, as the model wrote it."""

    @abstractmethod
    def content(self, params: P, located: Located, before: bytes | None) -> bytes:
        """The new content; ToolError for what is wrong. `before` is None where there is no regular file."""

    async def takes_long(self, params: P, place: Place) -> bool:
        texts = sum(len(value) for value in params.model_dump().values() if isinstance(value, str))
        return texts > _SHORT or await asyncio.to_thread(_size, place.directory / self.path(params)) > _SMALL

    async def plan(self, params: P, place: Place) -> Plan:
        return await asyncio.to_thread(self._plan, params, place)

    async def run(self, params: P, plan: Plan, around: Surroundings) -> Output:
        look = await asyncio.to_thread(self._look, params, around.place)
        if isinstance(look.after, ToolError):
            raise look.after
        if look.target != plan.targets[0]:
            raise ToolError(f"{plan.targets[0].path!r} was changed meanwhile; nothing was written. Read it again.")
        change = Replacement(look.located.path, look.target.before, look.after, around.call, around.attempt)
        await replace(change, around.fence)
        return self._output(plan, around.place)

    async def recover(self, params: P, claimed: Plan, around: Surroundings) -> Output:
        done = await self.stop(params, claimed, around)
        return done if done is not None else await self.run(params, claimed, around)

    async def stop(self, params: P, claimed: Plan, around: Surroundings) -> Output | None:
        """What the file says: changed as planned, or not at all; no earlier attempt can change it after this."""
        target = claimed.targets[0]
        await around.fence()
        await asyncio.to_thread(remove_temporaries, Path(target.path), around.call)
        now = await asyncio.to_thread(_found, Path(target.path))
        if now == target.before:
            return None
        if now == target.after:
            return self._output(claimed, around.place)
        raise Unknown(prompts.load("tools/change_unknown", path=repr(target.path), diff=_diff(claimed)))

    def _plan(self, params: P, place: Place) -> Plan:
        look = self._look(params, place)
        if isinstance(look.after, ToolError) and not requests.outside(look.located, place):
            raise look.after
        return Plan(
            requests=requests.changing(look.located, place, look.diff),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json", by_alias=True, exclude_unset=True),
                directory=str(place.directory),
                targets=(look.target,),
            ),
            file_key=str(look.located.path),
        )

    def _look(self, params: P, place: Place) -> Look:
        located = locate(self.path(params), place)
        before = read_whole(located.path, LARGEST) if located.kind is Kind.FILE else None
        try:
            return Look(located, before, self._checked_content(params, located, before))
        except ToolError as error:
            return Look(located, before, error)

    def _checked_content(self, params: P, located: Located, before: bytes | None) -> bytes:
        if located.kind is Kind.SPECIAL:
            raise ToolError(f"{str(located.path)!r} is not a regular file: only regular files are read and written.")
        content = self.content(params, located, before)
        if before is not None and not os.access(located.path, os.W_OK):
            raise ToolError(f"{str(located.path)!r} is read-only: its rights have to be changed first.")
        return content

    def _output(self, plan: Plan, place: Place) -> Output:
        target, patch = plan.targets[0], _diff(plan)
        additions, deletions = difference.counted(patch)
        filediff: dict[str, JsonValue] = {
            "file": target.path,
            "patch": patch,
            "additions": additions,
            "deletions": deletions,
        }
        return Output(
            title=place.title(Path(target.path)),
            output=self.done,
            metadata={
                "diff": patch,
                "filediff": filediff,
                "diagnostics": {},
                "filepath": target.path,
                "exists": target.before is not None,
            },
        )


def _size(path: Path) -> int:
    """The bytes of a file; 0 for what cannot be looked at, which its plan will say."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _diff(plan: Plan) -> str:
    return cast(str, plan.requests[-1].metadata["diff"])


def _found(path: Path) -> str | None:
    """The hash of what is there now; something that is no regular file is neither before nor after."""
    try:
        return digest(path)
    except ToolError as error:
        return str(error)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
