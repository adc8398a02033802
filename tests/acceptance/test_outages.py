"""Outages of the model: waited out in sight, at no cost, and over restarts (reliability.md rows 35 and 36)."""

import json
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, delegates, runs
from tests.acceptance.temporal_proxy import proxy
from tests.acceptance.trial import Trial
from tests.harness import Harness, wait_for_file
from worker.scripted.request_ledger import StreamEnd
from worker.scripted.script import (
    DEFAULT_SCRIPT,
    Drop,
    Garbage,
    Hold,
    Refuse,
    Script,
    ScriptedAnswer,
    ScriptedFault,
    Stall,
    StreamError,
)
from workflows.domain.events.generations import ModelRetry
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

SOON = {"retry-after-ms": "20"}
FORMS: Final[tuple[ScriptedFault, ...]] = (
    Drop(),
    Drop(after=1),
    Garbage(),
    StreamError(),
    Stall(),
    Refuse(status=500, headers=SOON),
)
LIMITED = tuple(Refuse(headers=SOON) for _ in range(24))
SHORT = {
    "retry_seconds": 0.01,
    "headers_seconds": 5.0,
    "first_token_seconds": 5.0,
}  # long enough for a busy machine to begin an answer
IMMEDIATE = timedelta(minutes=1)  # it takes half a second on an idle machine; the pause would take an hour


def failing(*faults: ScriptedFault) -> ScriptedAnswer:
    """An answer after these failures of the provider."""
    return DONE.model_copy(update={"faults": dict(enumerate(faults, 1))})


async def retries(harness: Harness, session: SessionId) -> list[ModelRetry]:
    return [event for event in await harness.events(session) if isinstance(event, ModelRetry)]


async def history(trial: Trial, session: SessionId) -> tuple[int, int]:
    """Events and bytes of the session's history, by the engine's count."""
    run = await trial.harness.workflow(session).describe()
    return run.history_length, run.raw_description.workflow_execution_info.history_size_bytes


async def test_row_35_an_outage_in_all_its_forms_costs_no_history_and_is_paid_once(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    outage = (*FORMS, *LIMITED)
    async with open_trial(failing(*outage, Hold(after=1, path=str(gate))), **SHORT) as trial:
        trial.wasted = len(outage)
        await trial.worker()
        session = await trial.start_session("Hello?")
        await trial.harness.until(session, lambda event: event.type == "model.retry")
        before = await history(trial, session)
        await wait_for_file(gate)
        after = await history(trial, session)
        gate.touch()
        await trial.harness.ended(session)
        noted = await retries(trial.harness, session)
    assert before == after and [retry.attempt for retry in noted] == list(range(1, len(outage) + 1))
    assert [entry.end for entry in trial.harness.model.ledger.entries].count(StreamEnd.COMPLETE) == 1


async def test_row_35_refused_connections_are_waited_out_until_somebody_listens(open_trial: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with open_trial(DONE, DONE, **SHORT) as trial:
        session = await trial.played("Hello?")
        elsewhere(trial, f"http://127.0.0.1:{port}/v1")
        await trial.recording_client.prompt(session, "And now?")
        await trial.harness.until(session, lambda event: event.type == "model.retry", 5)
        async with proxy(trial.harness.model.url.removeprefix("http://").removesuffix("/v1"), port):
            ended = await trial.harness.ended(session, 2)
        noted = await retries(trial.harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert {retry.kind for retry in noted} == {"network"} and len(trial.harness.model.ledger.entries) == 2


async def test_an_address_that_never_answered_fails_the_turn_at_the_third_try(open_trial: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with open_trial(DONE, **SHORT) as trial:
        elsewhere(trial, f"http://127.0.0.1:{port}/v1")
        await trial.worker()
        session = await trial.start_session("Hello?")
        ended = await trial.harness.ended(session)
        noted = await retries(trial.harness, session)
        error = (await trial.harness.client.sessions.get(session)).error
    assert isinstance(ended, TurnEnded) and (ended.reason, len(noted)) == ("failed", 2)
    assert f"scripted at http://127.0.0.1:{port}/v1 does not answer (Connection refused): see provider.scripted" in str(
        error
    )


async def test_row_36_a_pause_holds_for_whoever_comes_when_its_worker_died_before_it_was_reported(
    open_trial: Open,
) -> None:
    limited = failing(Refuse(headers=SOON), Refuse(headers={"Retry-After": "8"}), Refuse(headers=SOON))
    async with open_trial(limited, **SHORT) as trial:
        trial.wasted = 3
        first = await trial.worker(faults="model.retry_noted=kill9@2")
        session = await trial.start_session("Hello?")
        await trial.replace(first)
        await trial.harness.ended(session)
        noted = await retries(trial.harness, session)
    assert [retry.attempt for retry in noted] == [1, 2, 3]
    assert datetime.fromisoformat(noted[1].next_at) <= trial.harness.model.ledger.entries[2].began


async def test_row_36_a_stop_ends_the_pause_at_once_and_asks_nobody(open_trial: Open) -> None:
    async with open_trial(failing(Refuse(headers={"Retry-After": "3600"}))) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.start_session("Hello?")
        await trial.retrying(session)
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
        log = [seen.record async for seen in trial.harness.client.records.log(session)]
    at = {record.event.type: datetime.fromisoformat(record.at) for record in log}
    assert at["turn.ended"] - at["stop.accepted"] < IMMEDIATE
    assert len(trial.harness.model.ledger.entries) == 1


async def test_row_36_a_stop_of_the_parent_ends_the_pause_of_a_subagent(open_trial: Open) -> None:
    limited = failing(Refuse(headers={"Retry-After": "3600"}))
    scripts = {DEFAULT_SCRIPT: Script(answers=(delegates("child"), DONE)), "child": Script(answers=(limited,))}
    async with open_trial(scripts=scripts) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.start_session("Have it run.")
        started = await trial.harness.until(session, lambda event: event.type == "task.started")
        assert isinstance(started, TaskStarted)
        await trial.harness.until(started.child, lambda event: event.type == "model.retry")
        await trial.retrying(started.child)
        pause = (await trial.harness.client.sessions.get(started.child)).pause
        await trial.recording_client.stop(session)
        ends = [await trial.harness.ended(each) for each in (session, started.child)]
    assert pause is not None and pause.attempt == 1 and len(trial.harness.model.ledger.entries) == 2
    assert [end.reason for end in ends if isinstance(end, TurnEnded)] == ["stopped", "stopped"]


def elsewhere(trial: Trial, url: str) -> None:
    """Let the model be reached there."""
    file = trial.harness.settings.config / "opencode.json"
    config = json.loads(file.read_text())
    config["provider"]["scripted"]["options"]["baseURL"] = url
    file.write_text(json.dumps(config))


async def test_row_36_a_turn_that_failed_for_good_is_taken_up_again_where_it_was(open_trial: Open) -> None:
    wrong = Refuse(status=401, body={"error": {"message": "Incorrect API key"}})
    async with open_trial(runs("one"), failing(wrong)) as trial:
        trial.wasted = 1
        session = await trial.played("Run it.")
        before = await trial.harness.client.sessions.get(session)
        again = await trial.harness.client.retry(session)
        same = await trial.harness.client.retry(session, retry=again.retry)
        ended = await trial.harness.ended(session, 2)
        messages = await trial.harness.client.records.transcript(session)
    assert (before.reason, same.failed_turn) == ("failed", before.turn) and trial.effects.count("one") == 1
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [message.role for message in messages] == ["user", "assistant", "assistant"]


async def test_row_36_a_provider_that_stays_away_fails_the_turn_in_the_end_and_a_retry_goes_on(
    open_trial: Open,
) -> None:
    away = (Refuse(headers=SOON), Refuse(headers={"Retry-After": "3600"}))
    async with open_trial(failing(*away), retry_budget_seconds=60.0) as trial:
        trial.wasted = 2
        session = await trial.played("Hello?")
        error = (await trial.harness.client.sessions.get(session)).error
        await trial.harness.client.retry(session)
        await trial.harness.ended(session, 2)
        noted = await retries(trial.harness, session)
    assert "has failed 2 times in 0:00:0" in str(error) and len(noted) == 1
