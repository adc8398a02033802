"""Exit codes are right, even while Temporal's client lives at the end of the process."""

import asyncio
from pathlib import Path

import pytest

from tests.worker.cli.conftest import OpenHarness, shell
from worker.cli.exit_codes import ExitCode, exit_code_of_error, exit_code_of_turn
from worker.scripted.script import ScriptedAnswer
from workflows.domain.errors import Conflict, HoldfastError, NotFound, ToolError, Unavailable, UsageError

TIMES = 8
HELLO = ScriptedAnswer(text="Hello.")


@pytest.mark.parametrize(
    ("error", "code"), [(Unavailable, 3), (Conflict, 6), (NotFound, 2), (UsageError, 2), (ToolError, 1)]
)
def test_each_error_has_its_code(error: type[HoldfastError], code: int) -> None:
    assert exit_code_of_error(error("why")) == code


@pytest.mark.parametrize(
    ("reason", "code"), [("done", 0), ("failed", 1), ("stopped", 5), ("rejected", 5), ("ended", 5)]
)
def test_each_end_of_a_turn_has_its_code(reason: str, code: int) -> None:
    assert exit_code_of_turn(reason) == code


def test_every_code_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "usage.md").read_text()

    assert all(f"| {int(code)} |" in text for code in ExitCode)


@pytest.mark.parametrize("arguments", [("send", "last", "hello"), ("stop", "last"), ("end", "last", "--yes")])
async def test_a_command_that_rings_never_aborts_at_its_end(
    open_harness: OpenHarness, arguments: tuple[str, ...]
) -> None:
    async with open_harness(HELLO) as harness:
        session = await harness.start_session("hello")
        person = shell(harness)
        ended = [await asyncio.gather(*(person.run(*arguments) for _ in range(4))) for _ in range(TIMES // 4)]
        assert (await harness.client.sessions.get(session)).id == session

    assert [each.code for batch in ended for each in batch] == [0] * TIMES
