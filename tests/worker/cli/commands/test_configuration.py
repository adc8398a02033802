"""A session's sources of configuration belong to the session, not to the worker."""

import asyncio
import json
from pathlib import Path

from tests.activities.web.page_server import page_server
from tests.harness import ACTOR, Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.conftest import OpenHarness, shell
from tests.workflows.delegation import delegates, delegation_scripts
from worker.client import Holdfast
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events.sessions import SessionConfigured
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt

TOUCH = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
HELLO = ScriptedAnswer(text="Hello.")
REFUSED = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
MODEL = ("-m", "scripted/model")
NO_BASH = {"bash": "deny"}
DENY = {"permission": NO_BASH}
KEPT = "The session keeps the configuration it was started with; this shell has another "


def elsewhere(harness: Harness) -> Path:
    """A configuration folder of only the test's shell: the scripted provider, and no bash."""
    own = json.loads((harness.settings.config / "opencode.json").read_text())
    folder = harness.project.parent / "elsewhere" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(json.dumps(own | DENY))
    return folder


async def last(harness: Harness) -> SessionId:
    return (await harness.client.sessions.list_recent())[0].id


async def test_a_denial_holds_wherever_the_shell_of_the_run_has_it(open_harness: OpenHarness) -> None:
    async with open_harness(*(TOUCH, HELLO) * 5) as harness, harness.running_worker():
        folder = elsewhere(harness)
        variables = {
            "XDG_CONFIG_HOME": str(folder.parent),
            "OPENCODE_CONFIG": "../elsewhere/opencode/opencode.json",
            "OPENCODE_CONFIG_DIR": "../elsewhere/opencode",
            "OPENCODE_CONFIG_CONTENT": json.dumps(DENY),
            "OPENCODE_PERMISSION": json.dumps(NO_BASH),
        }
        ran = {}
        for name, value in variables.items():
            ended = await shell(harness).with_(**{name: value}).run("run", *MODEL, "go")
            ran[name] = ended.code, (harness.project / "ran").exists()

    assert ran == dict.fromkeys(variables, (0, False))


async def test_a_denial_of_the_administrator_holds_against_a_shells_configuration(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness:
        managed = elsewhere(harness)
        allowing = json.dumps({"bash": "allow", "*": "allow"})
        async with harness.running_worker(managed_config=managed):
            ended = await shell(harness).with_(OPENCODE_PERMISSION=allowing).run("run", *MODEL, "go")

    assert ended.code == 0 and not (harness.project / "ran").exists()


async def test_the_administrators_model_wins_over_the_flag(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO) as harness:
        (managed := harness.project.parent / "managed").mkdir()
        (managed / "opencode.json").write_text('{"model": "scripted/managed"}')
        person = shell(harness).with_(HOLDFAST_MANAGED_CONFIG=str(managed))
        async with harness.running_worker(managed_config=managed):
            ended = await person.run("run", *MODEL, "go")
            (opened,) = [each for each in await harness.events(await last(harness)) if isinstance(each, TurnOpened)]

    assert (ended.code, opened.model) == (0, "scripted/managed")
    assert "-m scripted/model has no effect" in ended.err


async def test_a_switch_of_the_shell_leaves_the_project_out_of_the_turn(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(**DENY)
        ended = await shell(harness).with_(OPENCODE_DISABLE_PROJECT_CONFIG="1").run("run", *MODEL, "go")

    assert ended.code == 0 and (harness.project / "ran").exists()


async def test_later_prompts_from_other_shells_and_a_new_worker_change_nothing(open_harness: OpenHarness) -> None:
    async with open_harness(*(TOUCH, HELLO) * 3) as harness:
        first = shell(harness).with_(OPENCODE_PERMISSION=json.dumps(NO_BASH))
        async with harness.running_worker():
            await first.run("run", *MODEL, "go")
            again = await shell(harness).run("run", "-s", "last", *MODEL, "again")
        (bold := harness.project.parent / "bold" / "opencode").mkdir(parents=True)
        (bold / "opencode.json").write_text('{"permission": "allow"}')
        others = {
            "OPENCODE_CONFIG_DIR": str(bold),
            "OPENCODE_PERMISSION": '"allow"',
            "XDG_CONFIG_HOME": str(bold.parent),
        }
        async with harness.running_worker(config=bold, environment={**harness.settings.environment, **others}):
            sent = await first.with_(OPENCODE_CONFIG_DIR=str(harness.project.parent)).run(
                "send", "last", *MODEL, "more"
            )
            await harness.ended(await last(harness), turns=3)

    assert (again.code, sent.code) == (0, 0) and not (harness.project / "ran").exists()
    assert f"{KEPT}OPENCODE_PERMISSION. To use this shell's: --config here" in again.err
    assert f"{KEPT}OPENCODE_CONFIG_DIR." in sent.err


async def test_a_session_that_a_program_starts_has_the_configuration_of_that_program(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        environment = {**harness.settings.environment, "OPENCODE_PERMISSION": json.dumps(NO_BASH)}
        settings = harness.settings.model_copy(update={"environment": environment})
        async with Holdfast(settings, harness.endpoints) as holdfast:
            client = holdfast.as_(ACTOR)
            started = await client.start(str(harness.project), Prompt.of_text("go", model="scripted/model"))
        ended = await harness.ended(started.session)

    assert isinstance(ended, TurnEnded) and ended.reason == "done" and not (harness.project / "ran").exists()


async def test_a_session_takes_over_a_shells_configuration_on_request(open_harness: OpenHarness) -> None:
    async with open_harness(*(TOUCH, HELLO) * 2) as harness, harness.running_worker():
        await shell(harness).with_(OPENCODE_PERMISSION=json.dumps(NO_BASH)).run("run", *MODEL, "go")
        denied = not (harness.project / "ran").exists()
        taken = await shell(harness).run("run", "-s", "last", "--config", "here", *MODEL, "again")
        events = await harness.events(await last(harness))
        sources = (await harness.client.sessions.origin(await last(harness))).sources

    assert denied and taken.code == 0 and (harness.project / "ran").exists()
    assert "From its next turn on the session uses this shell's OPENCODE_PERMISSION." in taken.err
    assert sources is not None
    assert [each for each in events if isinstance(each, SessionConfigured)] == [
        SessionConfigured(variables=("OPENCODE_PERMISSION",), sources=sources.digest)
    ]


async def test_sources_stay_what_they_were_where_what_is_sent_with_them_is_refused(open_harness: OpenHarness) -> None:
    refused = {
        ("run", "-s", "last", "-m", "other", "again"): 2,
        ("run", "-s", "last", *MODEL, "--agent", "other", "again"): 2,
        ("run", "-c", "-m", "other", "again"): 2,
        ("send", "last", "-m", "other", "again"): 2,
        ("retry", "last", "-m", "other"): 2,
        ("retry", "last", *MODEL): 6,  # its last turn did not fail
    }
    async with open_harness(HELLO) as harness, harness.running_worker():
        person = shell(harness).with_(OPENCODE_PERMISSION=json.dumps(NO_BASH))
        await person.run("run", *MODEL, "go")
        session = await last(harness)
        before = (await harness.client.sessions.origin(session)).sources
        codes = {each: (await shell(harness).run(*each, "--config", "here")).code for each in refused}
        await harness.client.end(session)
        ended = await shell(harness).run("send", "last", "--config", "here", *MODEL, "again")
        after = (await harness.client.sessions.origin(session)).sources
        events = await harness.events(session)

    assert codes == refused and ended.code == 6 and before is not None and after == before
    assert not [each for each in events if isinstance(each, SessionConfigured)]


async def test_a_turn_that_found_no_model_is_retried_once_the_configuration_names_one(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        started = await harness.client.start(str(harness.project), "go")
        await harness.ended(started.session)
        without = await shell(harness).run("retry", "last")
        harness.configure(model="scripted/model")
        retried = await shell(harness).run("retry", "last")

    assert (without.code, retried.code) == (2, 0) and "No model is chosen" in without.err


async def test_a_retry_from_another_shell_goes_by_the_sessions_configuration(open_harness: OpenHarness) -> None:
    failing = HELLO.model_copy(update={"faults": {1: REFUSED}})
    async with open_harness(failing, TOUCH, HELLO) as harness, harness.running_worker():
        failed = await shell(harness).with_(OPENCODE_PERMISSION=json.dumps(NO_BASH)).run("run", *MODEL, "go")
        ended = await shell(harness).run("retry", "last", *MODEL)

        *_, opened = [each for each in await harness.events(await last(harness)) if isinstance(each, TurnOpened)]

    assert (failed.code, ended.code) == (1, 0) and not (harness.project / "ran").exists()
    assert f"{KEPT}OPENCODE_PERMISSION." in ended.err and f", configuration {opened.turn_config}: retrying" in ended.err


async def test_subagents_go_by_the_configuration_of_the_session_above_them(open_harness: OpenHarness) -> None:
    content = json.dumps({"agent": {"general": {"permission": NO_BASH}}})
    scripts = delegation_scripts(delegates("child", agent="general"), HELLO, child=(TOUCH, HELLO))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        ended = await shell(harness).with_(OPENCODE_CONFIG_CONTENT=content).run("run", *MODEL, "go")
        child = (await harness.client.sessions.list_recent())[1]
        refused = await shell(harness).run("send", child.id, "--config", "here", *MODEL, "more")

    assert ended.code == 0 and child.parent is not None and not (harness.project / "ran").exists()
    assert refused.code == 6 and "is a subagent's" in refused.err


async def test_a_secret_in_a_variable_is_refused_with_the_way_to_do_it(open_harness: OpenHarness) -> None:
    content = json.dumps({"provider": {"x": {"options": {"apiKey": "very-secret-1"}}}})
    async with open_harness(HELLO) as harness:
        ended = await shell(harness).with_(OPENCODE_CONFIG_CONTENT=content).run("run", *MODEL, "go")
        started = await harness.client.sessions.list_recent()

    assert ended.code == 2 and started == [] and "very-secret-1" not in ended.err
    assert "OPENCODE_CONFIG_CONTENT: the field 'provider.x.options.apiKey' holds a secret" in ended.err
    assert "{env:NAME}" in ended.err and "{file:path}" in ended.err and "holdfast auth login" in ended.err


async def test_the_configuration_that_a_run_shows_is_the_one_of_its_turn(open_harness: OpenHarness) -> None:
    content = json.dumps({"permission": {"edit": "ask"}, "instructions": ["~/notes.md"]})
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        (harness.project.parent / "notes.md").write_text("Use tabs.")
        person = shell(harness).with_(OPENCODE_CONFIG_CONTENT=content)
        first = await person.run("run", *MODEL, "--detach", "--json", "go")
        await harness.ended(await last(harness))
        second = await shell(harness).run("run", "-s", "last", *MODEL, "--detach", "--json", "again")
        await harness.ended(await last(harness), turns=2)
        opened = [
            each.turn_config for each in await harness.events(await last(harness)) if isinstance(each, TurnOpened)
        ]

    assert [json.loads(each.out)["configuration"] for each in (first, second)] == opened
    assert f", configuration {opened[0]}" in first.err and "another configuration" not in first.err + second.err


async def test_a_configuration_changed_before_the_turn_holds_and_is_reported(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness:
        async with shell(harness).process("run", *MODEL, "go") as process:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not await harness.client.sessions.list_recent():
                    await asyncio.sleep(0.05)
            harness.configure(**DENY)
            async with harness.running_worker():
                _, err = await process.communicate()
        (opened,) = [each for each in await harness.events(await last(harness)) if isinstance(each, TurnOpened)]
        denied = not (harness.project / "ran").exists()

    said = err.decode()
    assert process.returncode == 0 and denied
    assert f"Turn 1 works with another configuration: {opened.turn_config}" in said
    assert f", configuration {opened.turn_config}" not in said and ", configuration cfg_" in said


async def test_an_address_that_fails_as_the_first_turn_begins_is_said_in_its_run(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker(), page_server({}) as server:
        harness.configure_person(model={}, instructions=[f"{server.url}/lost.md"])
        done = await shell(harness).run("run", *MODEL, "go")

    assert done.code == 0 and done.err.count("is fetched when the next turn begins") == 1
    assert done.err.count("/lost.md is left out: it cannot be fetched: the server answered with 404.") == 1
    assert "configuration cfg_" not in done.err and "another configuration" not in done.err


async def test_references_are_stored_as_they_are_and_looked_up_by_the_worker(open_harness: OpenHarness) -> None:
    options = {"apiKey": "{env:SCRIPTED_SECRET}", "headers": {"X-Team": "{file:../team.txt}", "X-No": "{env:NOT_SET}"}}
    content = json.dumps({"provider": {"scripted": {"options": options}}})
    async with open_harness(HELLO) as harness, harness.running_worker():
        (harness.project.parent / "team.txt").write_text("blue\n")
        person = shell(harness).with_(OPENCODE_CONFIG_CONTENT=content, SCRIPTED_SECRET="very-secret-1")
        stack = person.with_(HOLDFAST_WORKER="true")
        ended, down = await stack.run("run", *MODEL, "go"), await stack.run("down")
        sources = (await harness.client.sessions.origin(await last(harness))).sources
        asked = harness.model.last_request

    assert (ended.code, down.code) == (0, 0) and asked is not None
    assert asked.headers["Authorization"] == "Bearer very-secret-1" and asked.headers["X-Team"] == "blue"
    assert sources is not None and "very-secret-1" not in sources.model_dump_json()
    assert "{env:SCRIPTED_SECRET}" in sources.model_dump_json()
    assert "the worker lacks" in ended.err and "{env:NOT_SET}" in ended.err
