"""OpenCode's tools as data: outputs, titles and errors to the letter."""

import json
import re
from typing import Any

import pytest

from activities.files.workspace import Workspace
from activities.tools.registry import TOOLS
from activities.tools.tool import Output
from tests import cases
from tests.activities.tools.tool_calls import call
from workflows.domain.errors import ToolError

RELATIVE = "paths in the project are relative to the working directory"
HOLDFAST: dict[str, dict[str, Any]] = {
    "the error names the path that does not exist": {"error_ends_with": "path does not exist: /ws/proj/zzz"},
    "the text of a number is taken as that number": {"status": "completed", "output_contains": "<content>\n2: world\n"},
    "the answer says how many files were searched": {"output_starts_with": "No line matches; files searched: "},
    "the error says how many matches there are, and where": {
        "error_starts_with": "Found multiple matches for oldString: 1000, on lines 1, 10, 11, 12, 13, 14, 15, 16, 17, "
    },
    "the answer counts what is done; the call itself has the list": {
        "title": "1 todos",
        "output": "Noted: 1 of 2 completed.",
    },
    "an unknown status is an error that names the known ones": {
        "error_contains": "Input should be 'pending', 'in_progress', 'completed' or 'cancelled', got \"weird\""
    },
}
OTHERS = [parameter for parameter in cases.load("tool_outputs") if "-bash-" not in str(parameter.id)]


@pytest.mark.parametrize("case", OTHERS)
async def test_a_tool_answers_as_opencode_does(case: cases.Case, workspace: Workspace) -> None:
    for name, content in cases.files(case.input["files"]).items():
        path = workspace.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    actual = await answered(case, workspace)
    if case.holdfast == RELATIVE:
        expected = json.loads(json.dumps(case.expected).replace(f"{case.input['project']}/", ""))
    else:
        expected = case.expected if case.holdfast is None else HOLDFAST[case.holdfast]
    cases.assert_matches(actual, expected)


async def answered(case: cases.Case, workspace: Workspace) -> dict[str, Any]:
    """The answer in the case's form, with the project at the case's path."""
    here, there = str(workspace.directory), case.input["project"]
    tool = TOOLS[case.input["tool"]]
    arguments = {key: moved(value, there, here) for key, value in case.input["args"].items()}
    try:
        output = await call(tool, workspace, **arguments)
    except ToolError as error:
        text = moved(str(error), here, there)
        kind = {"error_kind": "invalid_arguments"} if "invalid arguments: " in text else {}
        return {"tool": tool.name, "status": "error", "error": text, **kind}
    return {"tool": tool.name, "status": "completed", **described(output, here, there)}


def moved(value: Any, source: str, target: str) -> Any:
    return value.replace(source, target) if isinstance(value, str) else value


def described(output: Output, here: str, there: str) -> dict[str, Any]:
    text = output.output.replace(here, there)
    head, _, body = text.partition("\n")
    matches = re.findall(r"(?m)^(\S.*):$|^  (Line \d+: .*)$", body)
    return {
        "title": output.title,
        "truncated": output.truncated,
        "output": text,
        "attachments": [{"mime": attachment["mime"]} for attachment in output.attachments],
        "paths": text.split("\n"),
        "header": head,
        "match_count": sum(bool(line) for _, line in matches),
        "matches": by_file(matches),
        "matched_line_text": body.partition(": ")[2],
    }


def by_file(matches: list[tuple[str, str]]) -> list[list[str]]:
    """Pairs of path and line, the line cut as the case cuts it for printing."""
    pairs, path = [], ""
    for named, line in matches:
        path = named or path
        if line:
            pairs.append([path, line[:80]])
    return pairs
