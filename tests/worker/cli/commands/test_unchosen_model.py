"""`holdfast run` where nothing names a model, and where a name is wrong."""

import json
import re

import pytest

from tests.harness import Harness
from tests.worker.cli.conftest import CTRL_D, CommandRunner, OpenHarness, shell
from worker.scripted.script import ScriptedAnswer
from workflows.domain.events.turns import TurnOpened

HELLO = ScriptedAnswer(text="Hello to you.")
COMMENTED = '{\n  // mine\n  "share": "manual", /* as ever */\n}\n'


async def opened_models(harness: Harness) -> list[str]:
    return [
        event.model
        for each in await harness.client.sessions.list_recent()
        for event in await harness.events(each.id)
        if isinstance(event, TurnOpened)
    ]


async def test_the_only_model_that_can_be_asked_is_taken_and_said_in_one_line(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness, harness.running_worker():
        harness.configure_person(model={})
        started = await shell(harness).run("run", "go")
        sent = await shell(harness).run("send", "last", "on")
        await harness.ended((await harness.client.sessions.list_recent())[0].id)
        async with shell(harness).terminal() as terminal:
            await terminal.until(r"scripted/model \(nothing is configured; `run -m` changes it\)")
            await terminal.until_shown(r"(?s)scripted/model in.*leaves\.\n> $")
            terminal.type("Hello\r")
            await terminal.until("Hello to you")
            await terminal.until("Type the next prompt")
            terminal.type(CTRL_D)
            code = await terminal.ended()
        models = await opened_models(harness)

    assert (started.code, sent.code, code) == (0, 0, 0), (started.err, sent.err)
    assert started.err.startswith("scripted/model (nothing is configured; `run -m` changes it)\n")
    assert models == ["scripted/model"] * 3


async def test_a_session_that_a_program_starts_without_a_model_has_it_too(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        harness.configure_person(model={})
        started = await harness.client.start(str(harness.project), "go")
        await harness.ended(started.session)
        models = await opened_models(harness)

    assert models == ["scripted/model"]


async def test_a_person_chooses_between_several_once_and_a_pipe_is_told_of_them(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness, harness.running_worker():
        file = harness.settings.config / "opencode.json"
        own = json.loads(file.read_text())
        own["provider"]["scripted"]["models"] = {"model": {}}
        own["provider"] = {"other": {**own["provider"]["scripted"], "models": {"m": {}}}} | own["provider"]
        file.write_text("// mine\n" + json.dumps(own))
        piped = await shell(harness).run("run", "go")
        async with shell(harness).terminal("run", "--exit", "go") as terminal:
            await terminal.until("No model is configured, and several providers can be asked:")
            await terminal.until("1  other/m\r\n  2  scripted/model\r\n")
            await terminal.until(r"Which one .*\[1\]: ")
            terminal.type("2\r")
            await terminal.until(r"(?s)Kept as `model` in\s.*names\s+another\s+one")
            await terminal.until("Hello to you")
            assert await terminal.ended() == 0
        again = await shell(harness).run("run", "go")
        models = await opened_models(harness)

    assert piped.code == 2 and "2 providers can be asked. Name one with -m: other/m, scripted/model." in piped.err
    assert again.code == 0 and "nothing is configured" not in again.err
    assert models == ["scripted/model"] * 2
    kept = file.read_text()
    assert kept.startswith('// mine\n{\n  "model": "scripted/model",\n') and kept.endswith(json.dumps(own)[1:])


async def test_a_misspelt_model_is_asked_about_on_a_terminal_and_refused_in_a_pipe(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness, harness.running_worker():
        harness.configure_person(model={})
        person, wrong = shell(harness), ("-m", "scripted/modell")
        piped = await person.run("run", *wrong, "go")
        assert await harness.client.sessions.list_recent() == []
        async with person.terminal("run", "--exit", *wrong, "go") as terminal:
            await terminal.until(r"Did you mean 'scripted/model'\? \[Y/n\]: ")
            terminal.type("\r")
            await terminal.until("Hello to you")
            assert await terminal.ended() == 0
        async with person.terminal("run", *wrong, "go") as terminal:
            await terminal.until(r"\[Y/n\]: ")
            terminal.type("n\r")
            await terminal.until("add --any-model")
            assert await terminal.ended() == 2
        taken = await person.run("run", "--any-model", *wrong, "go")
        models = await opened_models(harness)

    assert piped.code == 2 and "To have 'scripted/modell' asked all the same, add --any-model." in piped.err
    assert taken.code == 0 and "Did you mean" not in taken.err
    assert sorted(models) == ["scripted/model", "scripted/modell"]


@pytest.mark.parametrize("arguments", [("run", "hello"), ("doctor", "--model")])
async def test_a_name_that_a_newer_table_may_have_goes_on_with_a_line(
    bare: CommandRunner, arguments: tuple[str, ...]
) -> None:
    (bare.directory / "opencode.json").write_text(json.dumps({"model": "anthropic/claude-sonnet-99"}))
    ended = await bare.run(*arguments, *(["anthropic/claude-sonnet-99"] if arguments[0] == "doctor" else []))
    fetch = "`holdfast models --refresh=https://models.dev/api.json` fetches a newer one.\n"
    line = rf"anthropic/claude-sonnet-99 is not in the table of models, and is taken for claude-sonnet-\S+: {fetch}"

    assert re.search(line, ended.err) and "Did you mean" not in ended.err


async def test_a_model_without_a_key_is_refused_before_a_session_exists(bare: CommandRunner) -> None:
    named = await bare.run("run", "-m", "anthropic/claude-sonnet-4-6", "hello")
    (bare.directory / "opencode.json").write_text(json.dumps({"model": "openai/gpt-5.5"}))
    configured = await bare.run("run", "hello")
    keyed = {"provider": {"openai": {"options": {"keyName": "work"}}}, "model": "openai/gpt-5.5"}
    (bare.directory.parent / ".config" / "opencode").mkdir(parents=True)
    (bare.directory.parent / ".config" / "opencode" / "opencode.json").write_text(json.dumps(keyed))
    by_name = await bare.run("run", "hello")

    assert [each.code for each in (named, configured, by_name)] == [2, 2, 2]
    assert "There is no key for 'anthropic': set ANTHROPIC_API_KEY, or run `holdfast auth login" in named.err
    assert "There is no key for 'openai'" in configured.err and "There is no key 'work' for 'openai'" in by_name.err
    assert all("Starting" not in each.err for each in (named, configured, by_name))
