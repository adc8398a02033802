"""grep: which lines match a regular expression."""

import asyncio
from itertools import groupby
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.locate import Kind, locate
from activities.files.place import Place
from activities.tools import ripgrep
from activities.tools.ripgrep import Match
from activities.tools.search import search_plan
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError

SHOWN: Final = 100  # matching lines (opencode.md 7.2)
_MORE: Final = "(Results truncated. Consider using a more specific path or pattern.)"


class GrepParams(Params):
    """Arguments of grep."""

    pattern: str
    path: str | None = None
    include: str | None = None


class Grep(Tool[GrepParams]):
    """Searches files below a directory, or one file; ignored ones, and those that no rule lets be read unasked, stay
    out."""

    name = "grep"
    recovery = Recovery.REPEATABLE
    params = GrepParams
    subject = "pattern"

    async def plan(self, params: GrepParams, place: Place) -> Plan:
        if not params.pattern:
            raise ToolError("pattern is required")
        return await asyncio.to_thread(search_plan, self.name, params, params.path, place, shows_contents=True)

    async def run(self, params: GrepParams, plan: Plan, around: Surroundings) -> Output:
        where = Path(plan.targets[0].path)
        located = await asyncio.to_thread(locate, str(where), around.place)
        if located.kind is Kind.MISSING:
            raise ToolError(f"grep path does not exist: {where}")
        found = await ripgrep.matches(where, params.pattern, params.include, around.place.searched(where), SHOWN + 1)
        return _output(params.pattern, found)


def _output(title: str, found: list[Match]) -> Output:
    shown, truncated = found[:SHOWN], len(found) > SHOWN
    metadata: dict[str, JsonValue] = {"matches": len(shown), "truncated": truncated}
    return Output(title=title, output=_listed(shown, truncated), metadata=metadata, truncated=truncated)


def _listed(shown: list[Match], truncated: bool) -> str:
    if not shown:
        return "No files found"
    by_file = ["\n".join(_of_file(path, list(hits))) for path, hits in groupby(shown, key=lambda match: match.path)]
    head = f"Found {len(shown)} matches{' (more matches available)' * truncated}\n"
    return head + "\n\n".join([*by_file, _MORE] if truncated else by_file)


def _of_file(path: Path, hits: list[Match]) -> list[str]:
    return [f"{path}:", *(f"  Line {match.number}: {match.text}" for match in hits)]
