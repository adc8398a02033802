"""The merged configuration of a directory, value by value, for people: where each is written, without secrets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from activities.project import config_secrets
from activities.project.file_positions import FilePositions
from activities.project.json_positions import TextPosition
from activities.redact import Redactor
from workflows.domain.config import references
from workflows.domain.config.config import Config
from workflows.domain.config.fields import FieldPath, JsonObject, is_within, value_at
from workflows.domain.config.merge import JOINED_LISTS, ConfigLayer
from workflows.domain.config.trust_items import UntrustedField

MASK: Final = "[redacted]"


@dataclass(frozen=True)
class PlacedValue:
    """A value and the file that it is from, with its position if that is still there."""

    path: FieldPath
    value: JsonValue
    file: str | None
    position: TextPosition | None


@dataclass(frozen=True)
class MergedConfig:
    """What is in effect. `layers`: as written, and with the texts of prompts. `held`: what has no effect of them."""

    config: Config
    layers: tuple[tuple[ConfigLayer, ConfigLayer], ...]
    held: tuple[UntrustedField, ...]

    def list_values(self, redactor: Redactor) -> Iterator[PlacedValue]:
        """Each that a file sets, in the order of the merged configuration; without secrets."""
        positions = FilePositions()
        for path, value in iter_values(as_written(self.config, defaults=True)):
            written, there = self._origin(path, value)
            if written is None:
                yield PlacedValue(path, mask_secrets(value, path, redactor), None, None)
                continue
            shown = mask_secrets(value_at(written.tree, there), path, redactor)
            yield PlacedValue(path, shown, written.file, positions.find(written.file, ".".join(there)))

    def value_of(self, file: str, field: str, redactor: Redactor) -> JsonValue:
        """What a file says of a field, in effect or not. `field`: with its path joined."""
        trees = [written.tree for written, _ in self.layers if written.file == file]
        names = (field, field.removesuffix(".*"))  # of a rule without patterns
        found = ((tree, path) for tree in trees for name in names for path in _paths_named(tree, name))
        return next((mask_secrets(value_at(tree, path), path, redactor) for tree, path in found), None)

    def _origin(self, path: FieldPath, value: JsonValue) -> tuple[ConfigLayer | None, FieldPath]:
        """The strongest layer that says so, as written, and the path there: joined lists have others."""
        held = {(each.file, each.field) for each in self.held}
        for written, layer in reversed(self.layers):
            if any((layer.file, ".".join(path[:end])) in held for end in range(1, len(path) + 1)):
                continue
            items = _items(value_at(layer.tree, path[:-1])) if is_within(path[:-1], JOINED_LISTS) else []
            if value in items:
                return written, (*path[:-1], str(items.index(value)))
            for there in (path, path[:-1]) if path[-1] == "*" else (path,):  # a rule for everything, in short
                if value_at(layer.tree, there) == value and _is_set(layer.tree, there):
                    return written, there
        return None, path


def to_tree(values: Sequence[PlacedValue]) -> JsonObject:
    """The values in the shape of OpenCode's files."""
    tree: JsonObject = {}
    for each in values:
        inner: JsonObject = tree
        for key in each.path[:-2] if is_within(each.path[:-1], JOINED_LISTS) else each.path[:-1]:
            below = inner.setdefault(key, {})
            assert isinstance(below, dict)
            inner = below
        if not is_within(each.path[:-1], JOINED_LISTS):
            inner[each.path[-1]] = each.value
        elif isinstance(items := inner.setdefault(each.path[-2], []), list):
            items.append(each.value)
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


def _paths_named(tree: JsonObject, field: str, at: FieldPath = ()) -> Iterator[FieldPath]:
    """The paths that a name with dots may mean: keys may contain dots, too."""
    for key, value in tree.items():
        if field == key:
            yield (*at, key)
        elif field.startswith(f"{key}.") and isinstance(value, dict):
            yield from _paths_named(value, field.removeprefix(f"{key}."), (*at, key))
