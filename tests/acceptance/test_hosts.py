"""Hosts: a session's work happens where its files are, or waits."""

from functools import partial
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client

from activities.store import hosts
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, delegates, runs
from tests.acceptance.trial import Trial
from tests.acceptance.workers import WorkerProcess, environment
from tests.host_claims import LONG_AGO, claim_when_free
from tests.polling import wait_until
from worker.scripted.script import Script
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

SCRIPTS = {
    "parent": Script(answers=(delegates("child"), DONE, runs("late"), DONE)),
    "child": Script(answers=(runs("early"), DONE)),
    "other": Script(answers=(DONE, DONE)),
}


async def test_each_session_and_its_subagents_run_on_its_host_only_and_wait_for_it(open_trial: Open) -> None:
    async with open_trial(scripts=SCRIPTS) as trial:
        trial.effects.release("early")
        trial.effects.release("late")
        first, beta = [await worker_on(trial, host) for host in ("alpha", "beta")]
        one = await say_on(trial, "alpha", "[[script:parent]] Have it done.")
        other = await say_on(trial, "beta", "[[script:other]] Hello.")
        await trial.harness.ended(one)
        await trial.harness.ended(other)

        await first.kill()
        await trial.harness.database.rows(LONG_AGO)
        await trial.recording_client.prompt(one, "Again.")
        await trial.recording_client.prompt(other, "Again.")
        await trial.harness.ended(other, 2)
        waiting = await trial.harness.client.sessions.get(one)
        second = await worker_on(trial, "alpha")
        await trial.harness.ended(one, 2)

        child = next(each.id for each in await trial.harness.client.sessions.list_recent() if each.parent == one)
        assert (waiting.host, waiting.host_offline, waiting.working) == ("alpha", True, True)
        assert await who_worked(trial, one) | await who_worked(trial, child) == {name(first), name(second)}
        assert await who_worked(trial, other) == {name(beta)}
    assert (trial.effects.count("early"), trial.effects.count("late")) == (1, 1)


async def test_a_host_is_one_machines_and_a_worker_that_has_lost_it_ends(open_trial: Open, tmp_path: Path) -> None:
    async with open_trial() as trial:
        first = await worker_on(trial, "alpha")
        settings = trial.harness.settings.model_copy(update={"home": tmp_path / "unshared"})
        own = environment(settings, trial.harness.endpoints, tmp_path, "")
        with pytest.raises(AssertionError, match="HOLDFAST_HOST"):
            await trial.fork_server.start(own, tmp_path / "refused.log")

        await first.freeze()
        await trial.harness.database.rows(LONG_AGO)
        await claim_when_free(partial(hosts.report_alive, trial.harness.database, "alpha", "another"))
        first.wake()
        await wait_until(lambda: first.ended)

        assert [int((tmp_path / f"{name}.exit").read_text()) for name in ("refused", first.log.stem)] == [3, 3]
        assert "this worker ends: The host name 'alpha' belongs to another machine" in first.log.read_text()


async def test_a_database_is_one_engines_and_a_worker_of_another_ends(open_trial: Open, tmp_path: Path) -> None:
    async with open_trial() as trial:
        await trial.worker()
        other = f"other-{tmp_path.name}"
        await _namespace(trial.harness.temporal, other)
        own = {
            **environment(trial.harness.settings, trial.harness.endpoints, tmp_path, ""),
            "TEMPORAL_NAMESPACE": other,
        }
        with pytest.raises(AssertionError, match="Another Temporal, namespace 'default' at"):
            await trial.fork_server.start(own, tmp_path / "refused.log")

        assert int((tmp_path / "refused.exit").read_text()) == 3


async def _namespace(client: Client, name: str) -> None:
    kept = Duration(seconds=86_400)
    request = RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=kept)
    await client.workflow_service.register_namespace(request)


async def worker_on(trial: Trial, host: str) -> WorkerProcess:
    trial.harness.settings = trial.harness.settings.model_copy(update={"host": host})
    return await trial.worker()


async def say_on(trial: Trial, host: str, text: str) -> SessionId:
    trial.harness.use_settings(trial.harness.settings.model_copy(update={"host": host}))
    return await trial.start_session(text)


async def who_worked(trial: Trial, session: SessionId) -> set[str]:
    """The workers that took the session's tasks, by all its histories."""
    record = await trial.session_records(session, resting=False)
    return {who for run in record.runs for event in run.events if (who := _taker(event))}


def _taker(event: HistoryEvent) -> str:
    taken = (event.workflow_task_started_event_attributes, event.activity_task_started_event_attributes)
    return next((each.identity for each in taken if each.identity), "")


def name(worker: WorkerProcess) -> str:
    """How a worker signs in histories."""
    return f"h{worker.process.pid}"
