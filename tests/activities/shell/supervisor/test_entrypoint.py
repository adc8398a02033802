"""The supervisor's two failpoints: its death before and after the command."""

from activities.shell.launch import launch
from activities.shell.lease import CommandEnd
from activities.shell.supervisor import call_files
from tests.activities.shell.command_rig import CommandRig

EFFECT = 'echo effect >> "$LEDGER"'


async def supervised_with(commands: CommandRig, point: str, action: str) -> None:
    command_spec = commands.command_spec(EFFECT)
    command_spec.faults = {point: action}
    await launch(commands.directory(), command_spec)


async def test_a_supervisor_that_dies_with_the_lease_keeps_all_from_starting(commands: CommandRig) -> None:
    await supervised_with(commands, "supervisor.leased", "kill9")
    assert await commands.run(EFFECT) is None
    assert commands.effects() == []


async def test_the_end_is_known_when_the_supervisor_dies_after_recording_it(commands: CommandRig) -> None:
    await supervised_with(commands, "supervisor.exit_written", "kill9")
    assert await commands.end(commands.directory()) == CommandEnd(status=0)
    assert commands.effects() == ["effect"]


async def test_a_record_is_there_as_a_whole_or_not_at_all(commands: CommandRig) -> None:
    directory = commands.directory()
    directory.create()
    (directory.path / f"{call_files.EXIT}.1").write_text('{"status"')
    assert await commands.run(EFFECT) == CommandEnd(status=0)
