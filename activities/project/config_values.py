"""The merged configuration of a directory, value by value, for people: with the files, without secrets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from activities.project import config_secrets
from activities.project.checked_config import CheckedConfig
from activities.redact import Redactor
from workflows.domain.config import references
from workflows.domain.config.config import Config
from workflows.domain.config.fields import FieldPath, JsonObject, is_within, value_at, with_value_at
from workflows.domain.config.merge import JOINED_LISTS

MASK: Final = "[redacted]"


@dataclass(frozen=True)
class PlacedValue:
    """A value and the file that it is from; None: several."""

    path: FieldPath
    value: JsonValue
    file: str | None


def list_values(checked: CheckedConfig, redactor: Redactor) -> Iterator[PlacedValue]:
    """Each value in effect that a file sets, in the order of the merged configuration; without secrets."""
    for path, value in iter_values(as_written(checked.settings, defaults=True)):
        file, shown = _origin(checked, path, value)
        yield PlacedValue(path, mask_secrets(shown, path, redactor), file)


def _origin(checked: CheckedConfig, path: FieldPath, value: JsonValue) -> tuple[str | None, JsonValue]:
    """The strongest file that says so, and the value as it is written there."""
    for written, layer in reversed([*zip(checked.files, checked.layers, strict=True)]):
        items = _items(value_at(layer.tree, path[:-1])) if is_within(path[:-1], JOINED_LISTS) else []
        if value in items:
            return written.file, value
        for there in (path, path[:-1]) if path[-1] == "*" else (path,):  # a rule for everything, in short
            if value_at(layer.tree, there) == value and _is_set(layer.tree, there):
                return written.file, value_at(written.tree, there)
    return None, value


def to_tree(values: Sequence[PlacedValue]) -> JsonObject:
    """The values in the shape of OpenCode's files."""
    tree: JsonObject = {}
    for each in values:
        path, value = each.path, each.value
        if is_within(path[:-1], JOINED_LISTS):
            path = path[:-1]
            value = [*_items(value_at(tree, path)), value]
        tree = with_value_at(tree, path, value)
    return tree


def mask_secrets(value: JsonValue, at: FieldPath, redactor: Redactor) -> JsonValue:
    """Mask secrets. References stay as they are written, except ours, which stand for a secret of a file."""
    match value:
        case dict():
            return {redactor.text(key): mask_secrets(item, (*at, key), redactor) for key, item in value.items()}
        case list():
            return [mask_secrets(item, (*at, str(number)), redactor) for number, item in enumerate(value)]
        case str():
            return MASK if _is_secret(value, at) else redactor.text(value)
    return value


def _is_secret(text: str, at: FieldPath) -> bool:
    if any(kind == "config" or ":config:" in name for kind, name in references.references_of(text)):
        return True
    plain = not references.has_reference(text)
    return config_secrets.holds_secret(text, at) or (plain and config_secrets.stays_in_file(text, at))


def as_written(config: Config, *, defaults: bool = False) -> JsonObject:
    """In the shape of a file, without the older maps of tools, which are rules of `permission` by now. `defaults`: also
    what a file says though it holds anyway."""
    tree: JsonObject = config.model_dump(
        mode="json", by_alias=True, exclude_unset=defaults, exclude_defaults=not defaults
    )
    agents = tree.get("agent")
    for each in (tree, *(agents.values() if isinstance(agents, dict) else ())):
        if isinstance(each, dict):
            each.pop("tools", None)
    return tree


def iter_values(tree: JsonObject, at: FieldPath = ()) -> Iterator[tuple[FieldPath, JsonValue]]:
    for key, value in tree.items():
        path = (*at, key)
        if isinstance(value, dict):
            yield from iter_values(value, path)
        elif isinstance(value, list) and is_within(path, JOINED_LISTS):
            yield from (((*path, str(number)), item) for number, item in enumerate(value))
        else:
            yield path, value


def _is_set(tree: JsonObject, path: FieldPath) -> bool:
    """Also to null."""
    table = value_at(tree, path[:-1]) if path[:-1] else tree
    return isinstance(table, dict) and path[-1] in table


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
