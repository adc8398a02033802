"""Fields in YAML, as OpenCode reads them (opencode.md 1.3)."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml
from pydantic import JsonValue

from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError

_MOST_LEVELS: Final = 50  # of brackets
_PLAIN_FIELD: Final = re.compile(r"([A-Za-z_]\w*)[ \t]*:[ \t]*(?![\"'|>{\[])(\S.*)", re.ASCII)
_TAB: Final = re.compile(r"^([A-Za-z_]\w*[ \t]*:)[ \t]*\t[ \t]*", re.ASCII | re.MULTILINE)
# Below an unquoted description: what begins another field. The speakers of its examples do not.
_NEXT_FIELD: Final = re.compile(
    r"(?!(?:assistant|commentary|context|user)[ \t]*:)[\w-]+[ \t]*:(?:\s|$)", re.ASCII | re.I
)
_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")
_TAG: Final = "tag:yaml.org,2002:"


def read_fields(head: str, file: Path, above: int) -> JsonObject:
    """`above`: lines of the file before the head. Raises ConfigError with file, line and column."""
    try:
        try:
            return _read(head)
        except yaml.YAMLError:
            return _read(repair(head))
    except yaml.YAMLError as error:
        line, column, problem = _explain(error, head)
        place = f"{file}:{above + line + 1}:{column + 1}"
        raise ConfigError(f"{place}: this is not YAML: {' '.join(problem.split())}.") from error
    except RecursionError as error:
        raise ConfigError(f"{file}: the fields are nested too deeply.") from error


def repair(head: str) -> str:
    """Quotes what stands behind a top-level key, unquoted and with a colon in it, and a description with the lines
    below it that are no field. No line moves."""
    return "\n".join(map(_repair_field, _split_fields(_TAB.sub(r"\1 ", head).split("\n"))))


def _split_fields(lines: list[str]) -> Iterator[list[str]]:
    """Line by line, but for a description, which has the lines that go on with it."""
    description: list[str] = []
    for line in lines:
        if description and not _NEXT_FIELD.match(line):
            description.append(line)
            continue
        if description:
            yield description
        field = _PLAIN_FIELD.fullmatch(line.rstrip())
        description = [line] if field is not None and field[1] == "description" else []
        if not description:
            yield [line]
    if description:
        yield description


def _repair_field(lines: list[str]) -> str:
    field = _PLAIN_FIELD.fullmatch(lines[0].rstrip())  # by a pattern, long blanks would take quadratic time
    if field is None:
        return "\n".join(lines)
    value = "\n ".join((field[2], *lines[1:]))
    text = value.rstrip()
    if ":" not in text and all(not line.strip() or line[0].isspace() for line in lines[1:]):
        return "\n".join(lines)
    return f"{field[1]}: '{text.replace(chr(39), chr(39) * 2)}'" + "\n" * value.count("\n", len(text))


def _explain(error: yaml.YAMLError, head: str) -> tuple[int, int, str]:
    """Line and column below the beginning of the head, from 0, and what is wrong there."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        return line, column, " ".join(filter(None, (error.context, error.problem)))
    if isinstance(error, yaml.reader.ReaderError):
        before = head[: error.position].split("\n")
        return len(before) - 1, len(before[-1]), f"it holds the character {chr(error.character)!r}"
    return 0, 0, str(error)


def _read(head: str) -> JsonObject:
    loader = _Loader(head)
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise _error("these are no fields: write each as NAME: VALUE", root)
    return _mapping(root)


class _Loader(yaml.SafeLoader):
    """Reads scalars by YAML's core schema, as OpenCode does: `no` and dates are texts."""

    yaml_implicit_resolvers = {}

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        if self.flow_level >= _MOST_LEVELS:  # Python's own limit comes late: each level makes all that follows slower
            raise RecursionError
        super().fetch_flow_collection_start(token)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # a few of them can stand for gigabytes
            raise yaml.MarkedYAMLError(problem="aliases are not read", problem_mark=self.current_event.start_mark)
        return super().compose_node(parent, index)


def _number(text: str) -> JsonValue:
    value = float(text)
    return value if math.isfinite(value) else text


_SCALARS: Final[Mapping[str, tuple[str, Callable[[str], JsonValue]]]] = {
    "null": (r"~|null|Null|NULL|", lambda _: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (r"[-+]?[0-9]{1,18}", int),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", _number),
}
for _name, (_pattern, _) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), None)
_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"\Z"), [""])


def _value(node: yaml.Node) -> JsonValue:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        return [_value(each) for each in node.value]
    if isinstance(node, yaml.ScalarNode) and node.tag == _TAG + "str":
        return _text(node)
    known = _SCALARS.get(node.tag.removeprefix(_TAG))
    if known is None or not isinstance(node, yaml.ScalarNode):
        raise _error(f"the tag {node.tag} is not read", node)
    return known[1](node.value)


def _text(node: yaml.ScalarNode) -> str:
    """Escapes may stand for what no row takes."""
    if _NO_TEXT.search(node.value):
        raise _error("it holds a NUL, or half of a character", node)
    return str(node.value)


def _mapping(node: yaml.MappingNode) -> JsonObject:
    if node.tag != _TAG + "map":
        raise _error(f"the tag {node.tag} is not read", node)
    found: JsonObject = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _error("a key is a word", key)
        if _text(key) in found:
            raise _error(f"the key {key.value!r} stands here a second time", key)
        found[key.value] = _value(value)
    return found


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
