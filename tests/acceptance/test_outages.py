"""Outages of the model: waited out in sight, at no cost, and over restarts (reliability.md rows 35 and 36)."""

import json
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.proxy import proxy
from tests.acceptance.scenarios import DONE
from tests.acceptance.trial import Trial
from tests.house import House, reached
from worker.bells import workflow_id
from worker.scripted.ledger import End
from worker.scripted.script import Drop, Fault, Garbage, Hold, Refuse, ScriptedAnswer, Stall, StreamError
from workflows.domain.events import ModelRetry, TurnEnded
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

SOON = {"retry-after-ms": "20"}
FORMS: Final[tuple[Fault, ...]] = (
    Drop(),
    Drop(after=1),
    Garbage(),
    StreamError(),
    Stall(),
    Refuse(status=500, headers=SOON),
)
LIMITED = tuple(Refuse(headers=SOON) for _ in range(24))
SHORT = {"retry_seconds": 0.01, "first_token_seconds": 1.0}
IMMEDIATE = timedelta(seconds=10)  # it takes half a second on an idle machine; the pause would take an hour


def failing(*faults: Fault) -> ScriptedAnswer:
    """An answer before which the provider fails so often."""
    return DONE.model_copy(update={"faults": dict(enumerate(faults, 1))})


async def retries(house: House, session: SessionId) -> list[ModelRetry]:
    return [event for event in await house.events(session) if isinstance(event, ModelRetry)]


async def history(trial: Trial, session: SessionId) -> tuple[int, int]:
    """Events and bytes of the session's history, as the engine counts them."""
    run = await trial.house.temporal.get_workflow_handle(workflow_id(session)).describe()
    return run.history_length, run.raw_description.workflow_execution_info.history_size_bytes


async def test_row_35_an_outage_in_all_its_forms_costs_no_history_and_is_paid_once(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    outage = (*FORMS, *LIMITED)
    async with open_trial(failing(*outage, Hold(after=0, path=str(gate))), **SHORT) as trial:
        trial.wasted = len(outage)
        await trial.worker()
        session = await trial.say("Hello?")
        await trial.house.until(session, lambda event: event.type == "model.retry")
        before = await history(trial, session)
        await reached(gate)
        after = await history(trial, session)
        gate.touch()
        await trial.house.ended(session)
        noted = await retries(trial.house, session)
    assert before == after and [retry.attempt for retry in noted] == list(range(1, len(outage) + 1))
    assert [entry.end for entry in trial.house.model.ledger.entries].count(End.COMPLETE) == 1


async def test_row_35_refused_connections_are_waited_out_until_somebody_listens(open_trial: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with open_trial(DONE, **SHORT) as trial:
        elsewhere(trial, f"http://127.0.0.1:{port}/v1")
        await trial.worker()
        session = await trial.say("Hello?")
        await trial.house.until(session, lambda event: event.type == "model.retry", 3)
        async with proxy(trial.house.model.url.removeprefix("http://").removesuffix("/v1"), port):
            ended = await trial.house.ended(session)
        noted = await retries(trial.house, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert {retry.kind for retry in noted} == {"network"} and len(trial.house.model.ledger.entries) == 1


async def test_row_36_a_pause_holds_for_whoever_comes_when_its_worker_died_before_it_was_reported(
    open_trial: Open,
) -> None:
    limited = failing(Refuse(headers=SOON), Refuse(headers={"Retry-After": "8"}), Refuse(headers=SOON))
    async with open_trial(limited, **SHORT) as trial:
        trial.wasted = 3
        first = await trial.worker(faults="model.retry_noted=kill9@2")
        session = await trial.say("Hello?")
        await first.killed()
        await trial.worker()
        await trial.house.ended(session)
        noted = await retries(trial.house, session)
    assert [retry.attempt for retry in noted] == [1, 2, 3]
    assert datetime.fromisoformat(noted[1].next_at) <= trial.house.model.ledger.entries[2].began


async def test_row_36_a_stop_ends_the_pause_at_once_and_asks_nobody(open_trial: Open) -> None:
    async with open_trial(failing(Refuse(headers={"Retry-After": "3600"}))) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.say("Hello?")
        await trial.retrying(session)
        await trial.door.stop(session)
        await trial.house.ended(session)
        log = [seen.record async for seen in trial.house.client.log(session)]
    at = {record.event.type: datetime.fromisoformat(record.at) for record in log}
    assert at["turn.ended"] - at["stop.accepted"] < IMMEDIATE
    assert len(trial.house.model.ledger.entries) == 1


def elsewhere(trial: Trial, url: str) -> None:
    """Let the model be reached there."""
    file = trial.house.settings.config / "opencode.json"
    config = json.loads(file.read_text())
    config["provider"]["scripted"]["options"]["baseURL"] = url
    file.write_text(json.dumps(config))
