"""glob: files whose names match a pattern, newest first."""

import asyncio
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.listing import with_similar_names
from activities.files.locate import PathKind, locate
from activities.files.workspace import Workspace
from activities.tools import ripgrep
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.search import search_plan, with_link_hint
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError

MAX_RESULTS: Final = 100  # paths (opencode.md 7.2)
MAX_FILES: Final = 50_000  # files searched for the newest
_TRUNCATED_NOTICE: Final = (
    f"(Results are truncated: showing first {MAX_RESULTS} results. Consider using a more specific path or pattern.)"
)


class GlobParams(Params):
    pattern: str
    path: str | None = None


class GlobTool(BuiltInTool[GlobParams]):
    """Leaves out files that no rule allows to read, and what `list_files` leaves out."""

    name = "glob"
    recovery = Recovery.REPEATABLE
    quick = True
    params = GlobParams
    display = CallDisplay(kind=DisplayKind.READ, verb="search", subject="pattern")

    async def plan(self, params: GlobParams, turn: TurnContext) -> Plan:
        return await asyncio.to_thread(search_plan, self.name, params, params.path, turn)

    async def run(self, params: GlobParams, plan: Plan, context: ToolContext) -> Output:
        root = Path(plan.targets[0].path)
        await asyncio.to_thread(_check_directory, root, context.workspace)
        found = await ripgrep.list_files(root, params.pattern, MAX_FILES)
        newest = await asyncio.to_thread(_newest_first, found, context.turn)
        nothing = "" if newest else await asyncio.to_thread(with_link_hint, "No files found", root, params.pattern)
        return _output(root, newest, context.workspace, nothing)


def _check_directory(root: Path, workspace: Workspace) -> None:
    match locate(str(root), workspace).kind:
        case PathKind.MISSING:
            raise ToolError(with_similar_names(f"glob path does not exist: {root}", root))
        case PathKind.FILE | PathKind.SPECIAL:
            raise ToolError(f"glob path must be a directory: {root}")


def _newest_first(files: list[Path], turn: TurnContext) -> list[Path]:
    return sorted(filter(turn.may_read, files), key=lambda path: (-_modified_ns(path), path))


def _modified_ns(path: Path) -> int:
    """A file that has vanished counts as oldest."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def _output(root: Path, files: list[Path], workspace: Workspace, nothing: str) -> Output:
    truncated = len(files) > MAX_RESULTS
    lines = [workspace.shorten(path) for path in files[:MAX_RESULTS]] or [nothing]
    if truncated:
        lines += ["", _TRUNCATED_NOTICE]
    metadata: dict[str, JsonValue] = {"count": min(len(files), MAX_RESULTS), "truncated": truncated}
    return Output(title=workspace.title(root), output="\n".join(lines), metadata=metadata, truncated=truncated)
