"""Completion with and without a stack."""

import subprocess

import pytest

from tests.harness import Harness
from tests.worker.cli.conftest import CommandResult, CommandRunner, shell
from tests.worker.conftest import harness as harness
from tests.worker.conftest import undelivered_prompt


async def tab(person: CommandRunner, typed: str) -> CommandResult:
    """bash's completions of the last typed word."""
    words = typed.split(" ")
    variables = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    return await person.with_(**variables).run()


async def test_commands_and_options_are_completed_and_nothing_is_started(bare: CommandRunner) -> None:
    commands, options, ids = [await tab(bare, f"holdfast {typed}") for typed in ("wat", "up --js", "watch ses_")]

    assert commands.out == "plain,watch\n"
    assert "plain,--json" in options.out
    assert (ids.out.strip(), ids.err) == ("", "")


async def test_ids_come_from_a_stack_that_serves(harness: Harness) -> None:
    session = (await undelivered_prompt(harness)).session

    watched, answered = (
        await tab(shell(harness), f"holdfast watch {session[:8]}"),
        await tab(shell(harness), "holdfast asks "),
    )

    assert watched.out == f"plain,{session}\n"
    assert answered.out.strip() == ""


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
async def test_each_shell_gets_its_script_and_the_place_for_it(bare: CommandRunner, name: str) -> None:
    ended = await bare.run("completion", name)

    assert ended.code == 0 and "_HOLDFAST_COMPLETE" in ended.out and "goes into ~/." in ended.err
    if name == "bash":
        tried = subprocess.run(["bash", "-c", f"{ended.out}\ncomplete -p holdfast"], capture_output=True, text=True)
        assert "_holdfast_completion holdfast" in tried.stdout
