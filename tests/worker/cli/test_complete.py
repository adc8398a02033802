"""Completion: what a shell is told, with and without a stack."""

import subprocess

import pytest

from tests.house import House
from tests.worker.cli.conftest import Ended, Shell, shell
from tests.worker.conftest import house as house
from tests.worker.conftest import unheard


async def tab(person: Shell, typed: str) -> Ended:
    """What bash is told for the last word of what was typed."""
    words = typed.split(" ")
    variables = {"_HOLDFAST_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    return await person.with_(**variables).run()


async def test_commands_and_options_are_completed_and_nothing_is_started(bare: Shell) -> None:
    commands, options, ids = [await tab(bare, f"holdfast {typed}") for typed in ("wa", "up --js", "watch ses_")]

    assert commands.out == "plain,watch\n"
    assert "plain,--json" in options.out
    assert (ids.out.strip(), ids.err) == ("", "")


async def test_ids_come_from_a_stack_that_serves(house: House) -> None:
    session = (await unheard(house)).session

    watched, answered = (
        await tab(shell(house), f"holdfast watch {session[:8]}"),
        await tab(shell(house), "holdfast asks "),
    )

    assert watched.out == f"plain,{session}\n"
    assert answered.out.strip() == ""


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
async def test_each_shell_gets_its_script_and_the_place_for_it(bare: Shell, name: str) -> None:
    ended = await bare.run("completion", name)

    assert ended.code == 0 and "_HOLDFAST_COMPLETE" in ended.out and "belongs into ~/." in ended.err
    if name == "bash":
        tried = subprocess.run(["bash", "-c", f"{ended.out}\ncomplete -p holdfast"], capture_output=True, text=True)
        assert "_holdfast_completion holdfast" in tried.stdout
