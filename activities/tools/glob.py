"""glob: which files have names that match a pattern, newest first."""

import asyncio
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.locate import Kind, locate
from activities.files.place import Place
from activities.tools import ripgrep
from activities.tools.search import search_plan
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError

SHOWN: Final = 100  # paths (opencode.md 7.2)
CONSIDERED: Final = 50_000  # files among which the newest are looked for
_MORE: Final = (
    f"(Results are truncated: showing first {SHOWN} results. Consider using a more specific path or pattern.)"
)


class GlobParams(Params):
    """Arguments of glob."""

    pattern: str
    path: str | None = None


class Glob(Tool[GlobParams]):
    """Lists files below a directory; hidden and ignored ones, and those that no rule lets be read, stay out."""

    name = "glob"
    recovery = Recovery.REPEATABLE
    params = GlobParams
    subject = "pattern"

    async def plan(self, params: GlobParams, place: Place) -> Plan:
        return await asyncio.to_thread(search_plan, self.name, params, params.path, place)

    async def run(self, params: GlobParams, plan: Plan, around: Surroundings) -> Output:
        root = Path(plan.targets[0].path)
        await asyncio.to_thread(_check_directory, root, around.place)
        found = await ripgrep.files(root, params.pattern, CONSIDERED)
        newest = await asyncio.to_thread(_newest_first, found, around.place)
        return _output(around.place.title(root), newest)


def _check_directory(root: Path, place: Place) -> None:
    match locate(str(root), place).kind:
        case Kind.MISSING:
            raise ToolError(f"glob path does not exist: {root}")
        case Kind.FILE | Kind.SPECIAL:
            raise ToolError(f"glob path must be a directory: {root}")


def _newest_first(files: list[Path], place: Place) -> list[Path]:
    return sorted(filter(place.readable, files), key=lambda path: (-_changed(path), path))


def _changed(path: Path) -> int:
    """When the file was changed; one that has gone meanwhile counts as oldest."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def _output(title: str, files: list[Path]) -> Output:
    truncated = len(files) > SHOWN
    lines = [str(path) for path in files[:SHOWN]] or ["No files found"]
    if truncated:
        lines += ["", _MORE]
    metadata: dict[str, JsonValue] = {"count": min(len(files), SHOWN), "truncated": truncated}
    return Output(title=title, output="\n".join(lines), metadata=metadata, truncated=truncated)
