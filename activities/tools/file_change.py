"""A change of files: all of them or none, once, and reconciled after a crash."""

import asyncio
import os
import shutil
from abc import abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import Field, JsonValue

from activities.files import diff, permission_requests
from activities.files.locate import LocatedPath, PathKind
from activities.files.planned_files import PlannedFile, PlannedFiles
from activities.files.replace import (
    CHANGED,
    Replacement,
    backup_of,
    content_digest,
    file_digest,
    remove_temporaries,
    replace_files,
)
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

MAX_FILE_BYTES: Final = 32 * 1024 * 1024  # bytes of a file for tools that change it: they compare it whole
_UNCHANGED: Final = "Nothing was written: the {files} exactly this content already."
_MAX_SHORT_CHARS: Final = 8 * 1024  # characters of arguments, and
_MAX_SMALL_BYTES: Final = 64 * 1024  # bytes of a file: diffed within milliseconds

P = TypeVar("P", bound=Params)
C = TypeVar("C", PlannedFile, Target)
Contents: TypeAlias = Mapping[Path, bytes | None]


class ChangePreview(NamedTuple):
    """A call's files in the order of its arguments, and a `note` for its result; or its error."""

    files: tuple[PlannedFile, ...]
    note: str = ""
    error: ToolError | None = None

    @property
    def in_order(self) -> list[PlannedFile]:
        """Of their changes: what is moved is written before it is removed."""
        return sorted(self.files, key=lambda each: each.after is None)

    @property
    def targets(self) -> tuple[Target, ...]:
        digests = ((each.path, content_digest(each.before), content_digest(each.after)) for each in self.in_order)
        found = (Target(path=str(path), before=before, after=after) for path, before, after in digests)
        return tuple(each.model_copy(update={"after": None}) if self.error else each for each in found)

    def replacements(self, context: ToolContext) -> list[Replacement]:
        names, changed = (context.call, context.attempt, _private(context)), _changed(self.in_order)
        like = [each.source.path if each.source else None for each in changed]
        return [
            Replacement(each.path, content_digest(each.before), each.after, *names, place, like[place])
            for place, each in enumerate(changed)
        ]


class EarlierEdit(NamedTuple):
    """An edit that stands before a call in its answer, and is not written yet."""

    tool: "FileChangeTool[Any]"
    arguments: dict[str, JsonValue]
    paths: Sequence[str]

    def takes_long(self, turn: TurnContext) -> Awaitable[bool]:
        return self.tool.takes_long(self.tool.parse(self.arguments), turn)

    def apply(self, files: PlannedFiles) -> None:
        """Changes nothing where it fits no more."""
        before = {path: file.after for path, file in files.found.items()}
        try:
            self.tool.change(self.tool.parse(self.arguments), files)
        except ToolError:
            for path, file in files.found.items():
                file.after = before.get(path, file.before)


# A file as a later attempt finds it. UNMADE: changed by others, certainly not by the call. CHANGED: by others, and
# perhaps by the call before.
_State = Enum("_State", "BEFORE PLANNED UNMADE CHANGED")


class FileChangeTool(BuiltInTool[P]):
    """After a crash the files' hashes before and after tell what happened."""

    recovery = Recovery.RECONCILABLE
    gives_patches = False
    success_message: ClassVar[str]

    @property
    def permission(self) -> str:
        return permission_keys.EDIT

    @abstractmethod
    def paths(self, params: P) -> Sequence[str]:
        """The files, as the arguments name them."""

    @abstractmethod
    def change(self, params: P, files: PlannedFiles) -> str:
        """A note for the result, which like a ToolError holds lines of a file only after its own first line."""

    async def takes_long(self, params: P, turn: TurnContext) -> bool:
        texts = sum(len(value) for value in params.model_dump().values() if isinstance(value, str))
        if texts > _MAX_SHORT_CHARS:
            return True
        files = [turn.workspace.directory / each for each in self.paths(params)]
        return await asyncio.to_thread(lambda: sum(map(_size, files))) > _MAX_SMALL_BYTES

    async def plan(self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit] = ()) -> Plan:
        """What it would do after the `earlier` edits of its answer."""
        return await asyncio.to_thread(self._plan, params, turn, earlier)

    async def run(self, params: P, plan: Plan, context: ToolContext) -> Output:
        preview = await asyncio.to_thread(self._preview, params, context.turn)
        if preview.error is not None:
            raise preview.error
        if preview.targets != plan.targets:
            drifted = (each for each in plan.targets if each not in preview.targets)
            raise ToolError(CHANGED.format(path=next(drifted, plan.targets[0]).path))
        await self._make(preview.replacements(context), plan, context)
        return self._output(plan, context.workspace)

    async def _make(
        self,
        changes: list[Replacement],
        plan: Plan,
        context: ToolContext,
        made: Sequence[Replacement] = (),
    ) -> None:
        """Raises ToolError where nothing is changed, OutcomeUnknown where something may be."""
        try:
            await replace_files(changes, context.fence, made)
        except (ToolError, OSError) as error:
            if isinstance(error, ToolError) and len(plan.targets) == 1:
                raise
            found = set(await _look(plan, context))
            if found == {_State.PLANNED}:
                return
            if _State.PLANNED in found or (isinstance(error, OSError) and found != {_State.BEFORE}):
                raise _unknown(plan, context) from error
            if isinstance(error, OSError):
                raise ToolError(f"{error.filename!r} cannot be written: {error.strerror}.") from error
            raise

    async def recover(self, params: P, claimed: Plan, context: ToolContext) -> Output:
        done = await self.stop(params, claimed, context)
        return done if done is not None else await self.run(params, claimed, context)

    async def stop(self, params: P, claimed: Plan, context: ToolContext) -> Output | None:
        """Whether the files were changed as planned or not at all; no earlier attempt can change any after this. What
        was left half done is done, or undone."""
        try:
            found = await _look(claimed, context)
        except ToolError as error:
            raise _unknown(claimed, context) from error
        reached = takewhile(lambda state: state not in (_State.BEFORE, _State.UNMADE), found)
        if _State.CHANGED in reached:
            raise _unknown(claimed, context)
        done = _State.PLANNED in found
        if len(set(found)) > 1 and done:
            return await self._finish(params, claimed, found, context)
        await asyncio.to_thread(shutil.rmtree, _private(context), ignore_errors=True)
        return self._output(claimed, context.workspace) if done else None

    async def _finish(self, params: P, claimed: Plan, found: list[_State], context: ToolContext) -> Output | None:
        """Change the files that an earlier attempt has left; None where others have changed one of them, and the others
        are changed back."""
        known = await asyncio.to_thread(_old_contents, claimed, context)
        preview = await asyncio.to_thread(self._preview, params, context.turn, (), known)
        if preview.error is not None or preview.targets != claimed.targets:
            raise _unknown(claimed, context)
        changes = list(zip(preview.replacements(context), found, strict=True))
        made = [each for each, state in changes if state is _State.PLANNED]
        try:
            await self._make([each for each, _ in changes if each not in made], claimed, context, made)
        except ToolError:
            return None
        return self._output(claimed, context.workspace)

    def _plan(self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit]) -> Plan:
        preview, workspace = self._preview(params, turn, earlier), turn.workspace
        located = [each.located for each in preview.files]
        if preview.error is not None and not any(permission_requests.is_outside(each, workspace) for each in located):
            raise preview.error
        shown = {"diff": ""} if preview.error else self.difference(preview.files, workspace)
        return Plan(
            requests=permission_requests.edit_requests(located, workspace, shown),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json", by_alias=True, exclude_unset=True),
                directory=str(workspace.directory),
                targets=preview.targets,
            ),
            note=preview.note,
            replaced=tuple(str(each.path) for each in preview.files if each.replaced),
        )

    def _preview(
        self, params: P, turn: TurnContext, earlier: Sequence[EarlierEdit] = (), known: Contents | None = None
    ) -> ChangePreview:
        files = PlannedFiles(turn.workspace, MAX_FILE_BYTES, known or {})
        own = tuple({each.path: each for each in map(files.find, self.paths(params))}.values())
        for each in _on_files(earlier, {str(file.path) for file in own}):
            each.apply(files)
        files.begin()
        readable = all(turn.may_read(each.path) and not turn.asks_before_read(each.path) for each in own)
        shown = None if readable else 1  # lines of notes
        try:
            _refuse(own, PathKind.SPECIAL, "is not a regular file: only regular files are read and written")
            note = self.change(params, files)
            read_only = [each for each in own if not os.access(each.path, os.W_OK)]
            _refuse(read_only, PathKind.FILE, "is read-only: change its permissions first")
            return ChangePreview(own, "\n".join(note.split("\n")[:shown]))
        except ToolError as error:
            return ChangePreview(own, error=ToolError("\n".join(str(error).split("\n")[:shown])))

    @abstractmethod
    def difference(self, files: Sequence[PlannedFile], workspace: Workspace) -> dict[str, JsonValue]:
        """For people, before they decide: `diff`, and what else they see."""

    @abstractmethod
    def report(self, plan: Plan, workspace: Workspace) -> tuple[str, dict[str, JsonValue], tuple[FileChanged, ...]]:
        """The result's text and metadata, and the lines of each file."""

    def _output(self, plan: Plan, workspace: Workspace) -> Output:
        text, metadata, changes = self.report(plan, workspace)
        if not _changed(plan.targets):
            text = _UNCHANGED.format(files="file has" if len(plan.targets) == 1 else "files have")
        left = ((each, None if each.path in plan.replaced else each.before) for each in plan.targets)
        return Output(
            title=", ".join(workspace.title(Path(each.path)) for each in plan.targets),
            output=f"{text} {plan.note}".rstrip(),
            metadata=metadata,
            versions=tuple(
                FileVersion(file=each.path, digest=each.after, replaced=replaced)
                for each, replaced in left
                if each.after is not None
            ),
            changes=changes,
        )


class FileParams(Params):
    file_path: str = Field(alias="filePath")


F = TypeVar("F", bound=FileParams)


class OneFileTool(FileChangeTool[F]):
    """It changes one file. `replaces_file`: as a whole."""

    replaces_file: ClassVar[bool] = False

    @abstractmethod
    def content(self, params: F, located: LocatedPath, before: bytes | None) -> tuple[bytes, str]:
        """The new content, and a note as for `change`. `before` is None where there is no regular file."""

    def paths(self, params: F) -> Sequence[str]:
        return (params.file_path,)

    def change(self, params: F, files: PlannedFiles) -> str:
        file = files.find(params.file_path)
        file.after, note = self.content(params, file.located, file.after)
        file.replaced = self.replaces_file
        return note

    def difference(self, files: Sequence[PlannedFile], workspace: Workspace) -> dict[str, JsonValue]:
        return {"diff": file_diff(files[0].path, files[0].before, files[0].after)}

    def report(self, plan: Plan, workspace: Workspace) -> tuple[str, dict[str, JsonValue], tuple[FileChanged, ...]]:
        target, patch = plan.targets[0], planned_diff(plan)
        additions, deletions = diff.count_changes(patch)
        change = FileChanged(file=target.path, additions=additions, deletions=deletions)
        metadata: dict[str, JsonValue] = {
            "diff": patch,
            "filediff": change.model_dump(exclude={"type"}) | {"patch": patch},
            "diagnostics": {},
            "filepath": target.path,
            "exists": target.before is not None,
        }
        return self.success_message, metadata, (change,) if target.before != target.after else ()


def file_diff(path: Path, before: bytes | None, after: bytes | None) -> str:
    return diff.unified_diff(str(path), decode_lossy(before or b""), decode_lossy(after or b""))


def planned_diff(plan: Plan) -> str:
    return cast(str, plan.requests[-1].metadata["diff"])


def _refuse(files: Sequence[PlannedFile], kind: PathKind, why: str) -> None:
    for each in files:
        if each.located.kind is kind:
            raise ToolError(f"{str(each.path)!r} {why}.")


def _on_files(earlier: Sequence[EarlierEdit], paths: set[str]) -> list[EarlierEdit]:
    """Those that have a say in what these files hold, in their order."""
    found: list[EarlierEdit] = []
    for each in reversed(earlier):
        if not paths.isdisjoint(each.paths):
            paths |= set(each.paths)
            found.insert(0, each)
    return found


def _changed(files: Sequence[C]) -> list[C]:
    return [each for each in files if each.before != each.after]


def _private(context: ToolContext) -> Path:
    return CallDirectory.of(context.workspace, context.call).path


async def _look(plan: Plan, context: ToolContext) -> list[_State]:
    """After this, no earlier attempt can change a file."""
    await context.fence()
    targets = _changed(plan.targets)

    def look() -> list[_State]:
        unmade = set[int]().union(*(remove_temporaries(Path(each.path), context.call) for each in targets))
        return [_state(each, unmade=place in unmade) for place, each in enumerate(targets)]

    return await asyncio.to_thread(look)


def _state(target: Target, *, unmade: bool) -> _State:
    now = _current_digest(Path(target.path))
    if now in (target.before, target.after):
        return _State.BEFORE if now == target.before else _State.PLANNED
    return _State.UNMADE if unmade else _State.CHANGED


def _old_contents(plan: Plan, context: ToolContext) -> Contents:
    """Of the files that the call may have changed; none where it was not kept."""
    backups = {Path(each.path): backup_of(_private(context), at) for at, each in enumerate(_changed(plan.targets))}
    return {path: backup.read_bytes() if backup.exists() else None for path, backup in backups.items()}


def _unknown(plan: Plan, context: ToolContext) -> OutcomeUnknown:
    paths = ", ".join(repr(each.path) for each in _changed(plan.targets))
    private, patch = _private(context), planned_diff(plan)
    backup = backup_of(private, 0)
    if len(plan.targets) > 1:
        return OutcomeUnknown(render_prompt("tools/changes_unknown", paths=paths, backups=str(private), diff=patch))
    if backup.exists():
        return OutcomeUnknown(render_prompt("tools/change_cut", path=paths, backup=str(backup), diff=patch))
    return OutcomeUnknown(render_prompt("tools/change_unknown", path=paths, diff=patch))


def _size(path: Path) -> int:
    """0 where the file cannot be read: its plan reports that."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _current_digest(path: Path) -> str | None:
    """What is no regular file matches neither before nor after."""
    try:
        return file_digest(path)
    except ToolError as error:
        return str(error)
