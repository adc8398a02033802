"""A killed command line, typed again, finds what it had done (reliability.md row 28, B22)."""

import json
from asyncio.subprocess import Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.new_ids import new_id
from tests.acceptance.conftest import Open
from tests.acceptance.database_proxy import DatabaseProxy, Interception
from tests.acceptance.recording_client import RecordedRequest
from tests.acceptance.scenarios import DONE, held, runs
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.worker.cli.conftest import CommandRunner, shell
from worker.cli.exit_codes import ExitCode
from workflows.domain.ids import MessageId, Prefix, session_id_for
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.accepted import AcceptedPrompt

pytestmark = pytest.mark.acceptance

RUN = ("run", "-m", "scripted/model", "--id")


def typed(trial: Trial, text: str) -> MessageId:
    """Record a prompt before it is typed."""
    prompt = MessageId(new_id(Prefix.MESSAGE))
    trial.ledger.prompts.append(RecordedRequest(prompt, text))
    return prompt


async def killed(process: Process) -> None:
    process.kill()
    assert await process.wait() == -9


@pytest.mark.parametrize(
    "catch", [DatabaseProxy.hold_request, DatabaseProxy.hold], ids=["before_the_row", "after_the_row"]
)
async def test_row_28_a_task_whose_command_was_killed_is_typed_again_and_is_one_task(
    open_trial: Open, catch: Callable[[DatabaseProxy, str], Interception]
) -> None:
    async with open_trial(DONE) as trial:
        between = await trial.database_proxy()
        await trial.worker()
        person, prompt = shell(trial.harness).with_(HOLDFAST_IDLE_SECONDS="0.5"), typed(trial, "Hello?")
        accepting = catch(between, "prompt.accepted")
        over_the_crossing = person.with_(HOLDFAST_POSTGRES_URL=between.url)
        async with over_the_crossing.process(*RUN, prompt, "Hello?") as process:
            await accepting.wait_until_caught()
            await killed(process)
        between.close()  # as its own connections are, when a process dies
        known = await trial.harness.client.sessions.get(session_id_for(prompt))
        ended = await person.run(*RUN, prompt, "Hello?")
        trial.ledger.prompts[0].got = AcceptedPrompt(session=known.id, prompt=prompt, delivered=True)
        events: list[str] = [event.type for event in await trial.harness.events(known.id)]
    assert (known.waiting > 0 or known.turn is not None) == (catch is DatabaseProxy.hold)
    assert ended.code == ExitCode.DONE and "Done." in ended.out
    assert [events.count(kind) for kind in ("session.created", "prompt.accepted", "turn.ended")] == [1, 1, 1]


async def test_row_28_who_watches_or_answers_and_is_killed_types_it_again_and_misses_nothing(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with open_trial(runs("one"), held(gate)) as trial:
        between = await trial.database_proxy()
        session, ask = await trial.asked()
        person = shell(trial.harness)
        seen = await until_killed(person, session, "ask")
        trial.ledger.answers.append(RecordedRequest(ask, Reply.ONCE))
        answering = between.hold("ask.answered")
        over_the_crossing = person.with_(HOLDFAST_POSTGRES_URL=between.url)
        async with over_the_crossing.process("answer", ask, "once") as process:
            await answering.wait_until_caught()
            await killed(process)
        again = await person.run("answer", ask, "once")
        await wait_for_file(gate)
        more = await until_killed(person, session, "tool_use")
        gate.touch()
        whole = await person.run("watch", session, "--json", "--until-idle")
    lines = [json.loads(line) for line in whole.out.splitlines()]
    assert again.code == ExitCode.DONE and "as it was before" in again.out and trial.effects.count("one") == 1
    assert whole.code == ExitCode.DONE and lines[: len(more)] == more and [line["type"] for line in seen][-1] == "ask"
    assert [line["type"] for line in lines].count("tool_use") == 1 and lines[-1]["type"] == "turn_end"


async def until_killed(person: CommandRunner, session: str, kind: str) -> list[dict[str, Any]]:
    """The output of a watcher that is killed at such a line."""
    lines: list[dict[str, Any]] = []
    async with person.process("watch", session, "--json") as process:
        assert process.stdout is not None
        while not lines or lines[-1]["type"] != kind:
            lines.append(json.loads(await process.stdout.readline()))
        await killed(process)
    return lines


async def test_b22_an_answer_is_not_called_accepted_before_it_is_durable(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        between = await trial.database_proxy()
        session, ask = await trial.asked()
        answering = between.hold_request("ask.answered")
        over_the_crossing = shell(trial.harness).with_(HOLDFAST_POSTGRES_URL=between.url)
        async with over_the_crossing.process("answer", ask, "once") as process:
            await answering.wait_until_caught()
            between.close()
            out, err = await process.communicate()
        assert process.returncode == ExitCode.UNREACHABLE and out == b"" and b"cannot be reached" in err
        assert [entry.id for entry in await trial.harness.client.inbox.asks()] == [ask]
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
    assert trial.effects.count("one") == 1
