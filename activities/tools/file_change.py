"""A change of one file, as edit and write make it."""

import asyncio
import hashlib
import os
from abc import abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from pydantic import Field, JsonValue

from activities.files import diff, permission_requests
from activities.files.locate import LocatedPath, PathKind, locate
from activities.files.replace import BACKUP, CHANGED, Replacement, file_digest, remove_temporaries, replace_file
from activities.files.safe_open import read_whole
from activities.files.text_file import decode_lossy
from activities.files.workspace import Workspace
from activities.shell.lease import CallDirectory
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.effects import Effect, Recovery, Target
from workflows.domain.errors import OutcomeUnknown, ToolError
from workflows.domain.file_changes import FileChanged, FileVersion
from workflows.domain.permissions import permission_keys

MAX_FILE_BYTES: Final = 32 * 1024 * 1024  # bytes of a file for edit and write: they compare it whole
_UNCHANGED: Final = "Nothing was written: the file has exactly this content already."
_MAX_SHORT_CHARS: Final = 8 * 1024  # characters of arguments, and
_MAX_SMALL_BYTES: Final = 64 * 1024  # bytes of a file: diffed within milliseconds


@dataclass(frozen=True)
class FilePreview:
    """A file now and after the call, or the call's error. `note`: for the call's result."""

    located: LocatedPath
    before: bytes | None
    after: bytes | ToolError
    note: str = ""

    @property
    def target(self) -> Target:
        after = None if isinstance(self.after, ToolError) else _sha256(self.after)
        return Target(path=str(self.located.path), before=_sha256(self.before), after=after)

    @property
    def diff(self) -> str:
        if isinstance(self.after, ToolError):
            return ""
        return diff.unified_diff(str(self.located.path), decode_lossy(self.before or b""), decode_lossy(self.after))


class EarlierEdit(NamedTuple):
    """An edit that stands before a call in its answer, and is not written yet."""

    tool: "FileChangeTool[Any]"
    arguments: dict[str, JsonValue]
    paths: Sequence[str]

    def takes_long(self, turn: TurnContext) -> Awaitable[bool]:
        return self.tool.takes_long(self.tool.parse(self.arguments), turn)

    def apply(self, located: LocatedPath, before: bytes | None) -> bytes | None:
        """`before` as it leaves it: as it is, where it fits no more."""
        try:
            return self.tool.content(self.tool.parse(self.arguments), located, before)[0]
        except ToolError:
            return before


class FileParams(Params):
    file_path: str = Field(alias="filePath")


P = TypeVar("P", bound=FileParams)


class FileChangeTool(BuiltInTool[P]):
    """After a crash the file's hashes before and after tell what happened."""

    recovery = Recovery.RECONCILABLE
    success_message: ClassVar[str]

    @property
    def permission(self) -> str:
        return permission_keys.EDIT

    @abstractmethod
    def content(self, params: P, located: LocatedPath, before: bytes | None) -> tuple[bytes, str]:
        """With a note for the result, which like a ToolError holds lines of the file only after its own first line.
        `before` is None where there is no regular file."""

    async def takes_long(self, params: P, turn: TurnContext) -> bool:
        texts = sum(len(value) for value in params.model_dump().values() if isinstance(value, str))
        return (
            texts > _MAX_SHORT_CHARS
            or await asyncio.to_thread(_size, turn.workspace.directory / params.file_path) > _MAX_SMALL_BYTES
        )

    async def plan(self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit] = ()) -> Plan:
        """What it would do after the `earlier` edits of its answer."""
        return await asyncio.to_thread(self._plan, params, turn, earlier)

    async def run(self, params: P, plan: Plan, context: ToolContext) -> Output:
        preview = await asyncio.to_thread(self._preview, params, context.turn)
        if isinstance(preview.after, ToolError):
            raise preview.after
        if preview.target != plan.targets[0]:
            raise ToolError(CHANGED.format(path=plan.targets[0].path))
        if preview.target.before != preview.target.after:
            found, private = preview.located.path, CallDirectory.of(context.workspace, context.call).path
            change = Replacement(found, preview.target.before, preview.after, context.call, context.attempt, private)
            try:
                await replace_file(change, context.fence)
            except OSError as error:
                if await self.stop(params, plan, context) is None:
                    raise ToolError(f"{str(found)!r} cannot be written: {error.strerror}.") from error
        return self._output(plan, context.workspace)

    async def recover(self, params: P, claimed: Plan, context: ToolContext) -> Output:
        done = await self.stop(params, claimed, context)
        return done if done is not None else await self.run(params, claimed, context)

    async def stop(self, params: P, claimed: Plan, context: ToolContext) -> Output | None:
        """Whether the file was changed as planned or not at all; no earlier attempt can change it after this."""
        target = claimed.targets[0]
        await context.fence()
        await asyncio.to_thread(remove_temporaries, Path(target.path), context.call)
        now = await asyncio.to_thread(_current_digest, Path(target.path))
        if now == target.before:
            return None
        if now == target.after:
            return self._output(claimed, context.workspace)
        backup = CallDirectory.of(context.workspace, context.call).path / BACKUP
        path, patch = repr(target.path), _planned_diff(claimed)
        if backup.exists():
            raise OutcomeUnknown(render_prompt("tools/change_cut", path=path, backup=str(backup), diff=patch))
        raise OutcomeUnknown(render_prompt("tools/change_unknown", path=path, diff=patch))

    def _plan(self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit]) -> Plan:
        preview, workspace = self._preview(params, turn, earlier), turn.workspace
        if isinstance(preview.after, ToolError) and not permission_requests.is_outside(preview.located, workspace):
            raise preview.after
        return Plan(
            requests=permission_requests.edit_requests(preview.located, workspace, preview.diff),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json", by_alias=True, exclude_unset=True),
                directory=str(workspace.directory),
                targets=(preview.target,),
            ),
            note=preview.note,
        )

    def _preview(self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit] = ()) -> FilePreview:
        located = locate(params.file_path, turn.workspace)
        before = read_whole(located.path, MAX_FILE_BYTES) if located.kind is PathKind.FILE else None
        for each in earlier:
            if str(located.path) in each.paths:
                before = each.apply(located, before)
        shown = None if turn.may_read(located.path) and not turn.asks_before_read(located.path) else 1  # lines of notes
        try:
            after, note = self._checked_content(params, located, before)
            return FilePreview(located, before, after, "\n".join(note.split("\n")[:shown]))
        except ToolError as error:
            return FilePreview(located, before, ToolError("\n".join(str(error).split("\n")[:shown])))

    def _checked_content(self, params: P, located: LocatedPath, before: bytes | None) -> tuple[bytes, str]:
        if located.kind is PathKind.SPECIAL:
            raise ToolError(f"{str(located.path)!r} is not a regular file: only regular files are read and written.")
        changed = self.content(params, located, before)
        if located.kind is PathKind.FILE and not os.access(located.path, os.W_OK):
            raise ToolError(f"{str(located.path)!r} is read-only: change its permissions first.")
        return changed

    def _output(self, plan: Plan, workspace: Workspace) -> Output:
        target, patch = plan.targets[0], _planned_diff(plan)
        is_change, replaced = target.before != target.after, None if self.replaces_files else target.before
        additions, deletions = diff.count_changes(patch)
        filediff: dict[str, JsonValue] = {
            "file": target.path,
            "patch": patch,
            "additions": additions,
            "deletions": deletions,
        }
        return Output(
            title=workspace.title(Path(target.path)),
            output=f"{self.success_message if is_change else _UNCHANGED} {plan.note}".rstrip(),
            metadata={
                "diff": patch,
                "filediff": filediff,
                "diagnostics": {},
                "filepath": target.path,
                "exists": target.before is not None,
            },
            versions=(FileVersion(file=target.path, digest=cast(str, target.after), replaced=replaced),),
            changes=(FileChanged(file=target.path, additions=additions, deletions=deletions),) * is_change,
        )


def _size(path: Path) -> int:
    """0 where the file cannot be read: its plan reports that."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _planned_diff(plan: Plan) -> str:
    return cast(str, plan.requests[-1].metadata["diff"])


def _current_digest(path: Path) -> str | None:
    """What is no regular file matches neither before nor after."""
    try:
        return file_digest(path)
    except ToolError as error:
        return str(error)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
