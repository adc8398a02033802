"""grep: lines that match a regular expression."""

import asyncio
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.files.listing import with_similar_names
from activities.files.locate import PathKind, locate
from activities.files.workspace import Workspace
from activities.tools import ripgrep
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.ripgrep import Match
from activities.tools.search import search_plan, with_link_hint
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError

MAX_MATCHES: Final = 100  # matching lines (opencode.md 7.2)
_MAX_COUNTED: Final = 500  # files, where no line matches
_AROUND: Final = 20  # bytes with each match
_TRUNCATED_NOTICE: Final = "(Results truncated. Consider using a more specific path or pattern.)"


class GrepParams(Params):
    pattern: str
    path: str | None = None
    include: str | None = None


class GrepTool(BuiltInTool[GrepParams]):
    """Leaves out ignored files and those that no rule allows to read unasked."""

    name = "grep"
    recovery = Recovery.REPEATABLE
    quick = True
    params = GrepParams
    display = CallDisplay(kind=DisplayKind.READ, verb="search", subject="pattern")

    async def plan(self, params: GrepParams, turn: TurnContext) -> Plan:
        if not params.pattern:
            raise ToolError("pattern is required")
        return await asyncio.to_thread(search_plan, self.name, params, params.path, turn, shows_contents=True)

    async def run(self, params: GrepParams, plan: Plan, context: ToolContext) -> Output:
        where = Path(plan.targets[0].path)
        located = await asyncio.to_thread(locate, str(where), context.workspace)
        if located.kind is PathKind.MISSING:
            raise ToolError(await asyncio.to_thread(with_similar_names, f"grep path does not exist: {where}", where))
        is_shown, workspace = context.turn.search_filter(where), context.workspace
        found = await ripgrep.search_lines(where, params.pattern, params.include, is_shown, MAX_MATCHES + 1)
        sizes = accumulate(len(match.text.encode()) + _AROUND for match in found[:MAX_MATCHES])
        limit = context.turn.limits.max_bytes
        shown = [match for match, size in zip(found, sizes, strict=False) if size <= limit] or found[:1]
        truncated = len(shown) < len(found)
        if shown:
            text = _format_matches(shown, truncated, workspace)
        else:
            is_file = located.kind is PathKind.FILE
            searched = 1 if is_file else await ripgrep.count_files(where, params.include, is_shown, _MAX_COUNTED)
            text = _explain_nothing(workspace.shorten(where), params.include, searched)
            if params.include and not searched:
                text = await asyncio.to_thread(with_link_hint, text, where, params.include)
        metadata: dict[str, JsonValue] = {"matches": len(shown), "truncated": truncated}
        return Output(title=params.pattern, output=text, metadata=metadata, truncated=truncated)


def _explain_nothing(where: str, include: str | None, searched: int) -> str:
    if searched:
        return f"No line matches; files searched: {searched}{' or more' * (searched == _MAX_COUNTED)}."
    if not include:
        return f"There is no file to search in {where}; files that git ignores or rules protect are left out."
    anchored = "/" in include and not include.startswith("**/")
    hint = f" A pattern with `/` counts from there: `**/{include.lstrip('./')}` fits at any depth." * anchored
    return f"No file in {where} fits include '{include}'.{hint}"


def _format_matches(shown: list[Match], truncated: bool, workspace: Workspace) -> str:
    by_file = [
        "\n".join(_format_file(workspace.shorten(path), list(hits)))
        for path, hits in groupby(shown, key=lambda match: match.path)
    ]
    head = f"Found {len(shown)} matches{' (more matches available)' * truncated}\n"
    return head + "\n\n".join([*by_file, _TRUNCATED_NOTICE] if truncated else by_file)


def _format_file(path: str, hits: list[Match]) -> list[str]:
    return [f"{path}:", *(f"  Line {match.number}: {match.text}" for match in hits)]
