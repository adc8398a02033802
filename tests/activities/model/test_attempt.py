"""A title is asked for beside the turn: retried and paid as a step is."""

import asyncio
from contextlib import aclosing

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.credentials.keys import Keys
from activities.model.answer import AnswerStream
from activities.model.ask_aside import AsideAsker
from activities.model.attempt import Attempt, Attempts
from activities.model.endpoints import EndpointResolver
from activities.model.retry_budget import RetryBudget
from activities.new_ids import new_id
from activities.redact import Redactor
from activities.store import asides, events, overviews, sessions
from activities.store.database import Database
from activities.store.generations import GenerationStatus
from activities.store.transcript_cache import TranscriptCache
from tests.activities.model.model_rig import DAY, ModelRig, Open
from tests.polling import WAIT_TIMEOUT
from tests.watch_progress import read_nothing
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, Prefix, SessionId, answer_id
from workflows.domain.wire import AsideRequest

TITLE = ScriptedAnswer(text="A fine title", faults={1: Refuse(status=503)})


class TitleRig:
    """A session with an open turn, whose title a person wants."""

    def __init__(self, model: ModelRig, generation: GenerationId) -> None:
        self.model = model
        self.generation = generation

    def request(self) -> AsideRequest:
        """As it is scheduled again: with the next sequence number."""
        return AsideRequest(**self.model.rig.request_fields(), generation=self.generation)

    async def ask(self, request: AsideRequest | None = None, attempt: int = 1) -> str:
        """Ask in a newly started worker; the session's title then."""
        rig, adapter = self.model.rig, self.model.adapter
        endpoints = EndpointResolver(Keys(rig.project / "auth.json"), {}, adapter)
        attempts = Attempts(rig.database, Redactor(), RetryBudget(DAY))
        asker = AsideAsker(attempts, AnswerStream(adapter), endpoints, TranscriptCache(lambda: None))
        await rig.act(asker.title, request or self.request(), attempt)
        return (await overviews.get(rig.database, rig.session)).title


async def wanted(model: ModelRig) -> TitleRig:
    generation = GenerationId(new_id(Prefix.GENERATION))
    async with model.rig.journal() as journal:
        await asides.ask(journal, Purpose.TITLE, generation)
    return TitleRig(model, generation)


async def test_a_title_is_asked_again_after_a_failure_and_paid_once(open_model: Open) -> None:
    async with open_model(TITLE) as model:
        title = await wanted(model)
        request = title.request()
        with pytest.raises(ApplicationError) as failed:
            await title.ask(request)
        await model.rested()
        answers = [await title.ask(request, attempt=2), await title.ask(request, attempt=3), await title.ask()]
        log = await model.rig.events()

    assert failed.value.type == "ProviderFailed"
    assert answers == ["A fine title"] * 3 and len(model.server.ledger.entries) == 2
    asked = [event for event in log if isinstance(event, ModelRetry | MessageCompleted)]
    assert [(event.type, event.generation, event.purpose, event.turn) for event in asked] == [
        ("model.retry", title.generation, Purpose.TITLE, None),
        ("message.completed", title.generation, Purpose.TITLE, None),
    ]
    assert isinstance(asked[1], MessageCompleted) and asked[1].message == answer_id(title.generation)


async def test_a_title_costs_and_is_sealed_and_is_no_message_of_the_conversation(open_model: Open) -> None:
    call = ScriptedCall(name="bash", arguments={"command": "true"})
    async with open_model(ScriptedAnswer(text="A fine title", tools=(call,))) as model:
        await (await wanted(model)).ask()
        totals = await sessions.totals(model.rig.database, model.rig.session)
        checked = await events.verify(model.rig.database, model.rig.session)
        parts = await model.parts()
        log = await model.rig.types()

    assert (totals.steps, totals.tokens.output > 0) == (0, True)
    assert checked.problem is None and parts == [] and "call.prepared" not in log


async def test_a_title_of_an_overtaken_attempt_is_refused(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="A fine title", faults={1: Refuse(status=503)})) as model:
        title = await wanted(model)
        early, late = title.request(), title.request()
        with pytest.raises(ApplicationError):
            await title.ask(late)
        with pytest.raises(ApplicationError) as refused:
            await title.ask(early)

    assert refused.value.type == "StaleFence" and len(model.server.ledger.entries) == 1


async def test_no_title_is_asked_for_an_ended_session(open_model: Open) -> None:
    async with open_model(TITLE) as model:
        title = await wanted(model)
        await model.rig.close(end=True)
        assert await title.ask() == "A session" and model.server.ledger.entries == []


async def test_watchers_see_a_step_grow_and_not_a_title(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="A fine title"), ScriptedAnswer(text="Hello.")) as model:
        rig, title = model.rig, await wanted(model)
        async with aclosing(events.ticks(rig.database, rig.session, read_nothing(rig.session))) as ticks:
            await anext(ticks)
            shown = []
            for ask in (title.ask, model.generate):
                await ask()
                (row,) = await rig.database.rows(b"SELECT is_called FROM delta_id_seq")
                shown.append(row["is_called"])
    assert shown == [False, True]


async def test_an_accepted_answer_is_read_although_the_database_is_away() -> None:
    request = AsideRequest(session=SessionId("ses_1"), epoch=1, sequence=1, generation=GenerationId("gen_1"))
    generation = Generation(id=request.generation, purpose=Purpose.TITLE)

    async def accept() -> None:
        async with Database("postgresql://nobody@127.0.0.1:9/none", connect_timeout=0.1) as away:
            attempt = Attempt(Attempts(away, Redactor(), RetryBudget(DAY)), request, generation, Fence(1, 1, 1, 1))
            attempt.status = GenerationStatus(limited=True)
            async with asyncio.timeout(WAIT_TIMEOUT):
                await attempt.accepted()

    await ActivityEnvironment().run(accept)
