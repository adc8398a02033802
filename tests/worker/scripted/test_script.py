"""Which answer is due."""

from typing import Any

import pytest

from worker.scripted.script import DEFAULT_SCRIPT, ScriptPosition, script_position

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
