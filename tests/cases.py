"""The case files: loads them as test parameters, makes their generated texts, compares by their suffixes.

Read from HOLDFAST_CASES, else from `tests/data/cases`. Every entry is collected, and each file has a test or stands in
UNPLAYED.
"""

import base64
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.mark.structures import ParameterSet


@dataclass(frozen=True)
class Case:
    """One entry of a case file; if it names several policies, under one of them."""

    file: str
    number: int
    fields: dict[str, Any]
    policy: str | None = None

    @property
    def input(self) -> Any:
        return self.fields.get("input", self.fields)

    @property
    def expected(self) -> Any:
        return self.fields["expected"]

    @property
    def holdfast(self) -> str | None:
        """What Holdfast does instead of `expected`, where it differs by decision."""
        return self.fields.get("holdfast")

    @property
    def op(self) -> str | None:
        return _named(self.fields, self.input, "op")

    @property
    def tool(self) -> str | None:
        return _named(self.fields, self.input, "tool")

    @property
    def kind(self) -> str | None:
        """The kind of trick in a security case."""
        return self.fields.get("class")

    @property
    def topic(self) -> str:
        return self.op or self.tool or self.kind or "case"


@dataclass(frozen=True)
class NotImplementedCase:
    """Cases about missing features: strict expected failures, chosen by tool, operation or topic."""

    file: str
    selects: Callable[[Case], bool]
    reason: str


# Files that no test loads, as their features are not built yet.
UNPLAYED: Final[Mapping[str, str]] = {
    "filter_compacted": "a context begins at its newest summary by a row, not by a walk over messages",
}

UNPLAYED_OPERATIONS: Final[Mapping[tuple[str, str], str]] = {
    ("patch", "detect_command"): "a patch in a command is the command's own matter: bash is judged by what it runs",
    ("wildcard", "all"): "no rule is chosen by the length of its pattern: the last one that matches counts",
    ("wildcard", "all_structured"): "the same: commands are read by their structure, and each is a subject of its own",
}

_TOOLS: Final = ("bash", "edit", "glob", "grep", "read", "todowrite", "webfetch", "write")


NOT_BUILT: tuple[NotImplementedCase, ...] = (
    NotImplementedCase(
        "model_messages",
        lambda case: '"compaction"' in json.dumps(case.input),
        "a compaction is a row here, no part of a prompt; the address of a picture is not sent: nobody has checked it",
    ),
    NotImplementedCase(
        "model_messages",
        lambda case: "providerOptions" in json.dumps(case.expected),
        "what a provider wants back with a text comes later",
    ),
    NotImplementedCase(
        "tool_outputs",
        lambda case: case.tool not in _TOOLS,
        "the list of all tools is complete only with those that come later",
    ),
    NotImplementedCase("path_escape", lambda case: case.tool == "http-file", "the HTTP server comes later"),
    NotImplementedCase(
        "always_patterns",
        lambda case: case.input["approved"].startswith("mcp:"),
        "MCP comes later",
    ),
    NotImplementedCase(
        "loop_flow",
        lambda case: '"subagent_type": "plan"' in json.dumps(case.input),
        "an agent that works for people takes no work from others: tests/workflows/test_subagents.py plays it",
    ),
    NotImplementedCase(
        "loop_flow",
        lambda case: "compaction" in json.dumps(case.expected),
        "a compaction is a row here, and no message: tests/workflows/test_compaction.py plays it",
    ),
)


def load(
    file: str, *, op: str | None = None, tool: str | None = None, policies: str | None = None
) -> list[ParameterSet]:
    """The entries of `<file>.json` as parameters, marked `cases`, with ids like `tool_outputs-read-17`.

    `op` and `tool` select the entries of one operation or tool. `policies` names a field with policies between vertical
    bars; each of them becomes a parameter.
    """
    chosen = [case for case in entries(file) if op in (None, case.op) and tool in (None, case.tool)]
    split = [each for case in chosen for each in (_split(case, policies) if policies else [case])]
    return [pytest.param(case, id=_id(case), marks=_marks(case)) for case in split]


@cache
def entries(file: str) -> tuple[Case, ...]:
    """All entries of `<file>.json`, numbered from 1."""
    return tuple(Case(file, number, fields) for number, fields in enumerate(document(file), start=1))


@cache
def document(file: str) -> Any:
    """The parsed `<file>.json`, from any subfolder."""
    folder = Path(os.environ.get("HOLDFAST_CASES") or Path(__file__).parent / "data" / "cases")
    found = next((path for path in (folder, folder / "opencode_cases") if (path / f"{file}.json").is_file()), folder)
    return json.loads((found / f"{file}.json").read_text("utf-8"))


def text(value: Any) -> str:
    """A case's text: literal, or from its generator (cases/opencode_cases/README.md)."""
    match value:
        case str():
            return value
        case {"repeat": str(piece), "times": int(times)}:
            return str(value.get("prefix", "")) + piece * times + str(value.get("then", ""))
        case {"repeat_line": str(line), "times": int(times)}:
            return re.sub(r"(.)\*(\d+)", lambda hit: hit[1] * int(hit[2]), line) * times
        case {"numbered_lines": str(line), "from": int(first), "to": int(last)}:
            return "".join(line.replace("{n}", str(n)) for n in range(first, last + 1))
        case {"lines": str(line), "count": int(count)}:
            first = int(value.get("from", 0))
            lines = [line.replace("{i}", str(i)) for i in range(first, first + count)]
            return "\n".join(lines) + ("\n" if value.get("final_newline") else "")
    raise ValueError(f"a case holds the unknown generator {value!r}: teach tests.cases.text about it")


def content(value: Any) -> bytes:
    """The bytes of a case's file: a text, or `hex` generators, or `base64`."""
    if isinstance(value, Mapping) and "base64" in value:
        return base64.b64decode(value["base64"])
    if isinstance(value, Mapping) and "hex" in value:
        first = bytes.fromhex(value["hex"]) * int(value.get("times", 1))
        return first + bytes.fromhex(value.get("then_hex", "")) * int(value.get("then_times", 1))
    return text(value).encode("utf-8", "surrogatepass")


def files(described: Mapping[str, Any]) -> dict[str, bytes]:
    """A case's files, relative name to bytes; `f{000..119}.g` becomes 120 files."""
    return {name: content(value) for pattern, value in described.items() for name in _numbered(pattern)}


def assert_matches(actual: Any, expected: Any) -> None:
    """Compare `actual` with a case's expected value, key by key, by the keys' suffixes.

    `x_any_order`, `x_starts_with`, `x_ends_with`, `x_contains` and `x_length` are about `actual["x"]`. Other keys are
    free.
    """
    if not isinstance(expected, Mapping):
        assert actual == expected
        return
    for key, value in expected.items():
        stem, compare = _comparison(key) if key not in actual else (key, assert_matches)
        assert stem in actual, f"{stem!r} is missing in {actual!r}"
        compare(actual[stem], value)


def _named(fields: Mapping[str, Any], given: Any, key: str) -> str | None:
    found = fields.get(key) or (given.get(key) if isinstance(given, Mapping) else None)
    return found if isinstance(found, str) else None


def _split(case: Case, field: str) -> list[Case]:
    return [replace(case, policy=policy) for policy in case.fields[field].split("|")]


def _id(case: Case) -> str:
    named = f"{case.file}-{case.topic}-{case.number}"
    return f"{named}-{case.policy}" if case.policy else named


def _marks(case: Case) -> Sequence[pytest.MarkDecorator]:
    missing = [item.reason for item in NOT_BUILT if item.file == case.file and item.selects(case)]
    return [pytest.mark.cases, *(pytest.mark.xfail(strict=True, reason=reason) for reason in missing)]


def _numbered(pattern: str) -> list[str]:
    hit = re.search(r"\{(\d+)\.\.(\d+)\}", pattern)
    if hit is None:
        return [pattern]
    width = len(hit[1])
    return [f"{pattern[: hit.start()]}{n:0{width}}{pattern[hit.end() :]}" for n in range(int(hit[1]), int(hit[2]) + 1)]


def _comparison(key: str) -> tuple[str, Callable[[Any, Any], None]]:
    for suffix, compare in _SUFFIXES.items():
        if key.endswith(suffix):
            return key.removesuffix(suffix), compare
    return key, assert_matches


def _any_order(actual: Any, expected: Any) -> None:
    assert sorted(map(repr, map(_plain, actual))) == sorted(map(repr, map(_plain, expected)))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def _starts_with(actual: str, expected: str) -> None:
    assert actual[: len(expected)] == expected


def _ends_with(actual: str, expected: str) -> None:
    assert actual[-len(expected) :] == expected


def _contains(actual: str, expected: str) -> None:
    assert expected in actual


def _length(actual: Any, expected: int) -> None:
    assert len(actual) == expected


_SUFFIXES: dict[str, Callable[[Any, Any], None]] = {
    "_any_order": _any_order,
    "_starts_with": _starts_with,
    "_ends_with": _ends_with,
    "_contains": _contains,
    "_length": _length,
}
