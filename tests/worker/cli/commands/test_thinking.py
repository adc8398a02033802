"""What a terminal shows while a model thinks."""

from pathlib import Path

import pytest

from tests.worker.cli.conftest import OpenHarness, shell
from worker.scripted.script import Hold, ScriptedAnswer

MODEL = ("-m", "scripted/model")


@pytest.mark.parametrize(
    ("reasoning", "pieces", "does"),
    [("", 0, "waits for the answer"), ("", 1, "waits for the answer"), ("It greets me.", 2, "thinking")],
    ids=["no piece", "pieces without words", "thoughts that are not wanted"],
)
async def test_it_says_that_and_how_long_the_model_thinks_or_is_waited_for(
    open_harness: OpenHarness, tmp_path: Path, reasoning: str, pieces: int, does: str
) -> None:
    hold = tmp_path / "hold"
    faults = {1: Hold(after=pieces, path=str(hold))}
    answer = ScriptedAnswer(text="Hello to you.", reasoning=reasoning, faults=dict(faults))
    async with open_harness(answer) as harness, harness.running_worker():
        person = shell(harness)
        async with person.terminal("run", *MODEL, "hi") as terminal:
            await terminal.until(rf"· {does} for 0:\d\d")
            async with person.terminal("watch", "last") as watching:  # which comes later
                await watching.until_shown(rf"· {does} for \d:\d\d")
                hold.touch()
                await watching.until("Hello to you.")
            shown = await terminal.until("(?s).*Hello to you.")

    assert "It greets" not in shown[0]


async def test_wanted_thoughts_are_shown_while_they_come(open_harness: OpenHarness, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    answer = ScriptedAnswer(
        text="Hello to you.", reasoning="It greets me. I greet it.", chunk=13, faults={1: Hold(after=2, path=str(hold))}
    )
    async with (
        open_harness(answer) as harness,
        harness.running_worker(),
        shell(harness).terminal("run", "--thinking", *MODEL, "hi") as terminal,
    ):
        await terminal.until("Thinking: It greets me")
        await terminal.until(r"· thinking for \d:\d\d")
        hold.touch()
        await terminal.until("I greet it")
        await terminal.until("Hello to you")
