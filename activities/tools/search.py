"""What glob and grep have in common: the plan of a search."""

from pydantic import JsonValue

from activities.files import requests
from activities.files.locate import locate
from activities.files.place import Place
from activities.tools.tool import Params, Plan
from workflows.domain.effects import Effect, Target
from workflows.domain.errors import ToolError
from workflows.domain.permissions.requests import PermissionRequest


def search_plan(tool: str, params: Params, path: str | None, place: Place, *, shows_contents: bool = False) -> Plan:
    """The plan of a search at `path`, by default in the session's directory; its subject is the search pattern.

    One that shows contents also needs `path` to be read, where a rule asks about that.
    """
    arguments: dict[str, JsonValue] = params.model_dump(mode="json", by_alias=True, exclude_unset=True)
    _check(arguments)
    located = locate(path if path is not None else str(place.directory), place)
    own = PermissionRequest(permission=tool, patterns=(str(arguments["pattern"]),), always=("*",), metadata=arguments)
    needed = (*requests.external(located, place), own)
    if shows_contents and place.asks_to_read(located.path):
        needed += requests.reading(located, place)[-1:]
    return Plan(
        requests=needed,
        effect=Effect(
            tool=tool,
            arguments=arguments,
            directory=str(place.directory),
            targets=(Target(path=str(located.path), before=None),),
        ),
    )


def _check(arguments: dict[str, JsonValue]) -> None:
    for name, value in arguments.items():
        if "\0" in str(value) or any("\ud800" <= character <= "\udfff" for character in str(value)):
            raise ToolError(f"{name} holds a character that no program can be given: {value!r}.")
