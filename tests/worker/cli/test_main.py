"""The table of commands: help, usage errors, imports."""

import json

import click
import pytest
from pydantic import JsonValue

from tests.worker.cli.conftest import CommandRunner
from worker.cli.main import COMMANDS, commands


def every_command() -> list[tuple[str, click.Command]]:
    """All commands with their sub-commands."""
    context = click.Context(commands)
    found = [(name, commands.get_command(context, name)) for name in COMMANDS]
    known = [(name, command) for name, command in found if command is not None]
    inner = [
        (f"{name} {each}", child)
        for name, group in known
        if isinstance(group, click.Group)
        for each, child in group.commands.items()
    ]
    return known + inner


def test_every_listing_command_has_json() -> None:
    listing = [
        (name, command)
        for name, command in every_command()
        if name.endswith(" list") or (isinstance(command, click.Group) and command.invoke_without_command)
    ]

    assert len(listing) > 2
    assert [name for name, command in listing if "--json" not in {o for p in command.params for o in p.opts}] == []


def test_the_table_has_each_commands_own_summary() -> None:
    shown = {name: (command.help or "").split("\n\n")[0] for name, command in every_command() if name in COMMANDS}

    assert shown == {name: entry.summary for name, entry in COMMANDS.items()}


@pytest.mark.parametrize(
    ("name", "command"), every_command(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_has_help_with_an_example(name: str, command: click.Command) -> None:
    assert f"holdfast {name}" in (command.help or "").partition("\b")[2]


async def test_help_and_version_need_no_stack(bare: CommandRunner) -> None:
    shown, version = await bare.run("--help"), await bare.run("version")
    pairs = [(("help",), ("--help",)), (("help", "grants", "revoke"), ("grants", "revoke", "--help"))]
    same = [(await bare.run(*one), await bare.run(*other)) for one, other in pairs]

    assert shown.code == 0 and all(f"\n  {name} " in shown.out for name in COMMANDS)
    assert version.code == 0 and version.out.startswith("holdfast 0.")
    assert all(one == other for one, other in same)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--thinking", "status"), "--thinking belongs to `holdfast` alone, or after `run`"),
        (("fly",), "holdfast: No such command 'fly'.\n"),
        (("undo",), "holdfast: There is no undo yet: `git stash` puts the files back, `holdfast fork"),
        (("upgrade", "now"), "holdfast: To upgrade, in the checkout: `git pull && make install"),
        (("help", "rn"), "holdfast: No such command 'rn'. Did you mean 'run'?\n"),
        (("rn",), "holdfast: No such command 'rn'. Did you mean 'run'?\n"),
        (("grants", "revok"), "holdfast: No such command 'revok'. Did you mean 'revoke'?\n`holdfast grants --help"),
        (
            ("run", "--detached"),
            "holdfast: No such option '--detached'. Did you mean '--detach'?\n`holdfast run --help",
        ),
        (("sesions",), "'sessions', 'version'?)\n`holdfast --help` shows"),
        (("answer", "per_1"), "An answer is missing"),
        (("run",), "Say what to do"),
        (("run", "-m", "one/model", " \t"), "The prompt is empty"),
        (("send", "last", ""), "The prompt is empty"),
        (("run", "-m", "one/", "mend it"), "'one/' names no model after the '/'"),
        (("run", "mend it"), "No provider has a key yet: `holdfast auth login anthropic` (or openai"),
        (
            ("run", "-m", "anthropic/claude-sonnet-4-6", "mend it"),
            "no key for 'anthropic': set ANTHROPIC_API_KEY",
        ),
        (("run", "-m", "anthropic/claude-sonet-4-6", "mend it"), "Did you mean 'anthropic/claude-sonnet-4-6'?"),
        (("run", "-m", "nobody", "mend it"), "names no provider"),
        (("run", "-m", "antropic/claude", "mend it"), "no provider 'antropic'. Did you mean 'anthropic'? Built in: "),
        (("answer", "per_1", "once", "-m", "why"), "-m says why something is rejected"),
    ],
)
async def test_what_is_typed_wrongly_ends_with_2_and_starts_nothing(
    bare: CommandRunner, arguments: tuple[str, ...], said: str
) -> None:
    ended = await bare.run(*arguments)

    assert ended.code == 2 and said in ended.err
    assert "Starting the stack" not in ended.err


async def test_a_wrong_configuration_is_named_before_anything_starts(bare: CommandRunner) -> None:
    (bare.directory / "opencode.json").write_text('{\n  "model": 7\n}')

    ended = await bare.run("run", "mend it")

    assert ended.code == 2 and "opencode.json: the field 'model'" in ended.err


@pytest.mark.parametrize(
    "config",
    [{"model": "nope/x"}, {"model": "openai/x", "agent": {"build": {"model": "nope/x"}}}],
    ids=["configured", "agent"],
)
async def test_a_configured_model_without_a_provider_is_named_before_anything_starts(
    bare: CommandRunner, config: dict[str, JsonValue]
) -> None:
    (bare.directory / "opencode.json").write_text(json.dumps(config))

    ended = await bare.run("run", "mend it")

    assert ended.code == 2 and "There is no provider 'nope'." in ended.err and "Starting" not in ended.err


async def test_a_wrong_setting_is_named_by_its_variable(bare: CommandRunner) -> None:
    ended = await CommandRunner({**bare.environment, "HOLDFAST_IDLE_SECONDS": "soon"}, bare.directory).run("status")

    assert ended.code == 2 and "HOLDFAST_IDLE_SECONDS='soon'" in ended.err
