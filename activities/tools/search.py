"""What glob and grep have in common: the plan of a search, and what is to say of one that finds nothing."""

from pathlib import Path, PurePath

from pydantic import JsonValue

from activities.files import permission_requests
from activities.files.locate import locate
from activities.files.real_paths import is_link
from activities.tools.arguments import Params
from activities.tools.tool import Plan
from activities.turn_context import TurnContext
from workflows.domain.effects import Effect, Target
from workflows.domain.errors import ToolError
from workflows.domain.permissions.requests import PermissionRequest


def search_plan(
    tool: str, params: Params, path: str | None, turn: TurnContext, *, shows_contents: bool = False
) -> Plan:
    """The plan of a search at `path` (default: the session's directory). One that shows contents also needs `read` of
    `path` where a rule asks about that."""
    workspace = turn.workspace
    arguments: dict[str, JsonValue] = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    _require_printable(arguments)
    located = locate(path or str(workspace.directory), workspace)
    own = PermissionRequest(permission=tool, patterns=(str(arguments["pattern"]),), always=("*",), metadata=arguments)
    needed = (*permission_requests.external_requests(located, workspace), own)
    if shows_contents and turn.asks_before_read(located.path):
        needed += permission_requests.read_requests(located, workspace)[-1:]
    return Plan(
        requests=needed,
        effect=Effect(
            tool=tool,
            arguments=arguments,
            directory=str(workspace.directory),
            targets=(Target(path=str(located.path), before=None),),
        ),
    )


def with_link_hint(text: str, root: Path, pattern: str) -> str:
    """The result of a search that finds nothing, and whether its pattern leads through a link."""
    path = root
    for part in PurePath(pattern.lstrip("/")).parts:
        path /= part
        if is_link(path):
            link = str(path.relative_to(root))
            return f"{text.removesuffix('.')}. {link!r} is a link, and a search follows none: give it as `path`."
    return text


def _require_printable(arguments: dict[str, JsonValue]) -> None:
    for name, value in arguments.items():
        if "\0" in str(value) or any("\ud800" <= character <= "\udfff" for character in str(value)):
            raise ToolError(f"{name} holds a character that no program can be given: {value!r}.")
