"""The supervisor's own two failpoints: what the death of it means, before the command and after it."""

import pytest

from activities.shell.lease import End
from activities.shell.start import start
from activities.shell.supervisor import layout
from tests.activities.shell.commands import Commands

EFFECT = 'echo effect >> "$LEDGER"'


async def supervised_with(commands: Commands, point: str, action: str) -> None:
    order = commands.order(EFFECT)
    order.faults = {point: action}
    await start(commands.directory(), order)


@pytest.mark.parametrize("action", ["kill9", "exit"])
async def test_a_supervisor_that_dies_with_the_lease_keeps_all_from_starting(commands: Commands, action: str) -> None:
    await supervised_with(commands, "supervisor.leased", action)
    assert await commands.run(EFFECT) is None
    assert commands.effects() == []


async def test_a_supervisor_that_dies_after_the_record_has_told_the_end(commands: Commands) -> None:
    await supervised_with(commands, "supervisor.exit_written", "kill9")
    assert await commands.end(commands.directory()) == End(status=0)
    assert commands.effects() == ["effect"]


async def test_a_record_is_there_as_a_whole_or_not_at_all(commands: Commands) -> None:
    directory = commands.directory()
    directory.create()
    (directory.path / f"{layout.EXIT}.1").write_text('{"status"')
    assert await commands.run(EFFECT) == End(status=0)
