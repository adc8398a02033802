"""Which fields a configuration file may have, and which of them Holdfast honours so far (opencode.md 14.3)."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, get_args, get_origin

from pydantic import AliasChoices, JsonValue

from workflows.domain.config.config import Config, Section

JsonObject = dict[str, JsonValue]
Path = tuple[str, ...]

# For editors and for the terminal program of OpenCode: accepted without a word.
FOREIGN: Final = ("$schema", "keybinds", "theme", "tui")


def paths(*fields: str) -> tuple[Path, ...]:
    """Field paths as they are matched: a `*` stands for any one key, and a path includes all that is below it."""
    return tuple(tuple(field.split(".")) for field in fields)


def _honoured(model: type[Section]) -> Iterator[Path]:
    """The fields of a section, and of the sections in it, as a file may write them."""
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
        below, section = _below(field.annotation)
        deeper = [(*below, *path) for path in _honoured(section)] if section not in (None, model) else [()]
        yield from ((str(key), *path) for key in choices for path in deeper)


def _below(annotation: Any) -> tuple[Path, type[Section] | None]:
    """The section that a field holds, and what stands between: a `*` where it holds one for each of some names."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (), annotation
    inner = get_args(annotation)
    if get_origin(annotation) is dict:
        return ("*",), _below(inner[1])[1]
    return (), next((found for each in inner if (found := _below(each)[1]) is not None), None)


HONOURED: Final = (*paths(*FOREIGN), *_honoured(Config))

_LATER: Final = (
    "attachment",
    "autoshare",
    "autoupdate",
    "command",
    "compaction",
    "disabled_providers",
    "enabled_providers",
    "enterprise",
    "formatter",
    "layout",
    "logLevel",
    "lsp",
    "mcp",
    "mode",
    "plugin",
    "references",
    "server",
    "share",
    "shell",
    "skills",
    "small_model",
    "snapshot",
    "username",
    "watcher",
)

KNOWN: Final = frozenset(path[0] for path in HONOURED).union(_LATER)


def split(tree: JsonObject, wanted: Sequence[Path]) -> tuple[JsonObject, tuple[Path, ...]]:
    """The part of `tree` that the `wanted` paths name, and the paths of what is left out of it."""
    kept: JsonObject = {}
    rest: list[Path] = []
    for key, value in tree.items():
        below = [path[1:] for path in wanted if path[0] in ("*", key)]
        if () in below:
            kept[key] = value
        elif below and isinstance(value, dict):
            kept[key], deeper = split(value, below)
            rest += [(key, *path) for path in deeper]
        else:
            rest.append((key,))
    return kept, tuple(rest)


def within(path: Path, wanted: Sequence[Path]) -> bool:
    """Whether one of the `wanted` paths names `path`, or something that it is a part of."""
    return any(
        len(each) <= len(path) and all(key in ("*", mine) for key, mine in zip(each, path, strict=False))
        for each in wanted
    )


def not_honoured(tree: JsonObject) -> tuple[Path, ...]:
    """The fields of `tree` that OpenCode knows and Holdfast does not act on yet."""
    return tuple(path for path in split(tree, HONOURED)[1] if path[0] in KNOWN)


def unknown(tree: JsonObject) -> tuple[str, ...]:
    """The top-level fields of `tree` that nobody knows: probably misspelt."""
    return tuple(key for key in tree if key not in KNOWN)


def at(tree: JsonObject, path: Path) -> JsonValue:
    """The value at `path`, None when there is none; the items of a list are named by their numbers, from 0."""
    value: JsonValue = tree
    for key in path:
        items = dict(zip(map(str, count()), value, strict=False)) if isinstance(value, list) else value
        value = items.get(key) if isinstance(items, dict) else None
    return value


def put(tree: JsonObject, path: Path, value: JsonValue) -> JsonObject:
    """`tree` with `value` in the place of what is at `path`."""
    key, *below = path
    inner = tree.get(key)
    return {**tree, key: put(inner if isinstance(inner, dict) else {}, tuple(below), value) if below else value}


def without(tree: JsonObject, path: Path) -> JsonObject:
    """`tree` without what is at `path`."""
    key, *below = path
    if not below:
        return {name: value for name, value in tree.items() if name != key}
    inner = tree.get(key)
    return {**tree, key: without(inner, tuple(below))} if isinstance(inner, dict) else tree
