"""apply_patch: add, delete, change and move files, all of them or none."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from pydantic import Field, JsonValue

from activities.files import diff
from activities.files.listing import with_similar_names
from activities.files.locate import PathKind
from activities.files.planned_files import PlannedFile, PlannedFiles
from activities.files.real_paths import is_link
from activities.files.text_file import TextFile, require_encodable
from activities.files.workspace import Workspace
from activities.tools.apply_patch.patch import ADD, DELETE, FAILED, Hunk, parse_patch
from activities.tools.apply_patch.update_lines import update_text
from activities.tools.arguments import Params
from activities.tools.file_change import FileChangeTool, file_diff, planned_diff
from activities.tools.tool import Plan
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.errors import ToolError
from workflows.domain.file_changes import FileChanged
from workflows.domain.reminder_tags import unescape_reminders

_EMPTY: Final = "*** Begin Patch\n*** End Patch"
_LETTERS: Final = {"add": "A", "delete": "D"}


class ApplyPatchParams(Params):
    patch_text: str = Field(alias="patchText")

    @cached_property
    def hunks(self) -> list[Hunk]:
        """Raises ToolError."""
        if not self.patch_text:
            raise ToolError("patchText is required")
        if self.patch_text.split() == _EMPTY.split():
            raise ToolError("patch rejected: empty patch")
        hunks = parse_patch(require_encodable(self.patch_text))
        if not hunks:
            raise ToolError(f"{FAILED} no hunks found")
        return hunks


class ApplyPatchTool(FileChangeTool[ApplyPatchParams]):
    """In place of the tools that change one file, for models that were taught to give patches."""

    name = "apply_patch"
    params = ApplyPatchParams
    gives_patches = True
    display = CallDisplay(kind=DisplayKind.EDIT, verb="change files")
    success_message = "Success. Updated the following files:"

    def paths(self, params: ApplyPatchParams) -> Sequence[str]:
        return [path for hunk in params.hunks for path in (hunk.path, hunk.move_to) if path is not None]

    def change(self, params: ApplyPatchParams, files: PlannedFiles) -> str:
        for hunk in params.hunks:
            file = files.find(hunk.path)
            target = file if hunk.move_to is None else files.find(hunk.move_to)
            if target.located.kind is PathKind.DIRECTORY:
                raise ToolError(f"{FAILED} Path is a directory, not a file: {target.path}")
            if hunk.kind == ADD:
                file.replace(_added_content(file, hunk))
            elif hunk.kind == DELETE:
                _require_file(file, hunk, "delete", files.workspace)
                file.replace(None)
            elif target is file:
                file.after = _updated_content(file, hunk, _require_file(file, hunk, "update", files.workspace))
            else:
                before = _require_file(file, hunk, "move", files.workspace)
                target.replace(_updated_content(file, hunk, before), file.source or file)
                file.after = file.source = None
        return ""

    def difference(self, files: Sequence[PlannedFile], workspace: Workspace) -> dict[str, JsonValue]:
        """`files`: as OpenCode describes them; one that is moved is one of them."""
        moved = [each.source for each in files if each.source and each.source.after is None]
        changed = [each for each in files if each.before != each.after and each not in moved]
        described = [_describe(each, workspace) for each in changed]
        return {"diff": "\n".join(str(each["patch"]) for each in described), "files": cast(JsonValue, described)}

    def report(self, plan: Plan, workspace: Workspace) -> tuple[str, dict[str, JsonValue], tuple[FileChanged, ...]]:
        files: list[dict[str, Any]] = cast(Any, plan.requests[-1].metadata["files"])
        changed = [f"{_LETTERS.get(each['type'], 'M')} {each['relativePath']}" for each in files]
        same = [workspace.relative(Path(each.path)) for each in plan.targets if each.before == each.after is not None]
        left = [f"Not changed, as it has this content already: {each}" for each in same]
        lines = (
            FileChanged(
                file=each.get("movePath", each["filePath"]), additions=each["additions"], deletions=each["deletions"]
            )
            for each in files
        )
        metadata: dict[str, JsonValue] = {
            "diff": planned_diff(plan),
            "files": cast(JsonValue, files),
            "diagnostics": {},
        }
        return "\n".join([self.success_message, *changed, *left]), metadata, tuple(lines)


def _require_file(file: PlannedFile, hunk: Hunk, action: str, workspace: Workspace) -> bytes:
    """Its content. A link is changed where it leads, and neither deleted nor moved."""
    if action != "update" and is_link(workspace.directory / hunk.path):
        raise ToolError(f"{FAILED} {hunk.path!r} is a link, and a patch can only {action} files: use bash.")
    if file.after is None:
        raise ToolError(with_similar_names(f"{FAILED} Failed to read file to {action}: {file.path}", file.path))
    return file.after


def _updated_content(file: PlannedFile, hunk: Hunk, before: bytes) -> bytes:
    return update_text(str(file.path), TextFile.of(before), hunk.chunks).encode() if hunk.chunks else before


def _added_content(file: PlannedFile, hunk: Hunk) -> bytes:
    known = TextFile.of(file.after or b"")
    content = unescape_reminders("".join(f"{line}\n" for line in hunk.added), known.content)
    return TextFile(content, known.has_bom).encode()


def _describe(file: PlannedFile, workspace: Workspace) -> dict[str, JsonValue]:
    source = file.source if file.source and file.source.before is not None and file.source.after is None else None
    before = source.before if source else file.before
    kind = "move" if source else "add" if before is None else "delete" if file.after is None else "update"
    patch = file_diff(file.path, before, file.after)
    additions, deletions = diff.count_changes(patch)
    named = {"filePath": str((source or file).path), "relativePath": workspace.relative(file.path), "type": kind}
    moved = {"movePath": str(file.path)} if source else {}
    return {**named, "patch": patch, "additions": additions, "deletions": deletions, **moved}
