"""Which answer is due."""

from pathlib import Path
from typing import Any

import pytest

from worker.scripted.script import DEFAULT_SCRIPT, ScriptPosition, Stall, read_scripts, script_position

USER, MARKED = {"role": "user", "content": "go"}, {"role": "user", "content": "go [[script:two-2]]"}
SAID, RESULT = {"role": "assistant", "content": "x"}, {"role": "tool", "content": "y"}


@pytest.mark.parametrize(
    ("messages", "script", "step"),
    [
        ([USER], DEFAULT_SCRIPT, 0),
        ([USER, SAID, RESULT, SAID], DEFAULT_SCRIPT, 2),
        ([MARKED, SAID], "two-2", 1),
        ([USER, SAID, MARKED], "two-2", 0),
        ([MARKED, SAID, USER, SAID], "two-2", 2),
        ([{"role": "user", "content": [{"type": "text", "text": "[[script:two-2]]"}]}], "two-2", 0),
        ([{"role": "system", "content": "[[script:other]]"}, USER], DEFAULT_SCRIPT, 0),
        ([USER, {"role": "assistant", "content": "[[script:other]]"}], DEFAULT_SCRIPT, 1),
    ],
)
def test_the_cue_follows_from_the_conversation(messages: list[dict[str, Any]], script: str, step: int) -> None:
    assert script_position(messages) == ScriptPosition(script=script, step=step)


def test_scripts_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "scripts.json"
    file.write_text('{"default": {"answers": [{"text": "hi", "faults": {"2": {"kind": "stall", "after": 1}}}]}}')

    answer = read_scripts(file)["default"].answers[0]

    assert (answer.text, answer.faults) == ("hi", {2: Stall(after=1)})
