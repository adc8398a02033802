"""Variants of models: chosen by a flag, kept with the session, recorded with the turn and its answers."""

import json
from pathlib import Path
from typing import Any

from tests.harness import Harness
from tests.worker.cli.conftest import CommandRunner, OpenHarness, shell
from worker.scripted.script import Refuse, ScriptedAnswer
from workflows.domain.events.turns import TurnOpened

HELLO = ScriptedAnswer(text="Hello to you.")
WRONG_KEY = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
MODEL = ("-m", "scripted/model")
VARIANTS = {"deep": {"reasoningEffort": "high", "seed": 7}, "fast": {"seed": 1}}


async def test_an_unknown_variant_is_refused_with_the_known_ones_and_nothing_is_started(bare: CommandRunner) -> None:
    wrong = await bare.run("run", "-m", "anthropic/claude-sonnet-4-5", "--variant", "deep", "hello")

    assert wrong.code == 2 and "has no variant 'deep'. It has: high, max." in wrong.err
    assert not (bare.directory.parent / "home").exists()


async def test_a_variant_stays_with_the_session_and_a_prompt_or_a_retry_may_name_another(
    open_harness: OpenHarness,
) -> None:
    fails = ScriptedAnswer(text="Here I am.", faults={1: WRONG_KEY})
    async with open_harness(HELLO, HELLO, HELLO, fails) as harness, harness.running_worker():
        describe_variants(harness)
        person, seeds, shown = shell(harness), list[Any](), ""
        for command in (
            ("run", *MODEL, "--variant", "deep", "hello"),
            ("run", "-c", "again"),
            ("run", "-c", "--variant", "fast", "and again"),
            ("run", "-c", "once more"),
            ("retry", "last", "--variant", "fast"),
        ):
            shown += (await person.run(*command)).out
            assert harness.model.last_request is not None
            seeds.append(harness.model.last_request.body.get("seed"))
        refused = [
            await person.run(*command, "--variant", "no") for command in (("send", "last", "x"), ("retry", "last"))
        ]
        unknown = await person.run("send", "last", "-m", "scripted/modell", "--variant", "no", "x")
        (session,) = await harness.client.sessions.list_recent()
        opened = [event.variant for event in await harness.events(session.id) if isinstance(event, TurnOpened)]
        exported = json.loads((await person.run("export", "last")).out)

    assert seeds == [7, 7, 1, 7, 1]
    assert opened == ["deep", "deep", "fast", "deep", "fast"]
    assert [each.code for each in refused] == [2, 2] and "It has: deep, fast." in refused[0].err
    assert "Did you mean 'scripted/model'?" in unknown.err
    assert "scripted/model deep" in shown and "scripted/model fast" in shown
    variants = [each["info"].get("variant") for each in exported["messages"] if each["info"]["role"] == "assistant"]
    assert variants == ["deep", "deep", "fast", None, "fast"]  # the fourth turn has failed, without an answer


def describe_variants(harness: Harness) -> None:
    """In the user's own configuration, which the harness has written."""
    file = Path(harness.settings.config) / "opencode.json"
    tree = json.loads(file.read_text())
    tree["provider"]["scripted"]["models"] = {"model": {"variants": VARIANTS}}
    file.write_text(json.dumps(tree))
