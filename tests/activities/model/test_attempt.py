"""An asker of models beside the turn: asked, retried and paid as a step is, on the attempt and the answer alone."""

from contextlib import aclosing

import pytest
from temporalio.exceptions import ApplicationError

from activities.mint import new_id
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempts
from activities.model.endpoints import EndpointResolver
from activities.model.keys import Keys
from activities.model.port import UserInput
from activities.model.retry_budget import RetryBudget
from activities.redact import Redactor
from activities.store import events, sessions, turns
from activities.store.generations import StoredAnswer
from tests.activities.model.model_rig import DAY, ModelRig, Open
from tests.watch_progress import read_nothing
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, Prefix, TurnConfigId, answer_id
from workflows.domain.wire import Request

TITLE = ScriptedAnswer(text="A fine title", faults={1: Refuse(status=503)})


class TitleRequest(Request):
    generation: GenerationId
    turn_config: TurnConfigId


class TitleAsker:
    """Asks for a session's title."""

    def __init__(self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints

    async def ask(self, request: TitleRequest) -> str | None:
        async with self.attempts.start(request, Generation(id=request.generation, purpose=Purpose.TITLE)) as attempt:
            async with attempt.registration() as journal:
                answer = await attempt.begin(journal)
                config = (await turns.turn_config(journal, request.turn_config)).config
            if answer is None:
                model = await self.endpoints.resolve("scripted/model", config)
                question = model.request((UserInput(content="Name this session."),))
                answer = await attempt.store(await self.answers.get(attempt, model, question, "title"))
        return answer.text if isinstance(answer, StoredAnswer) else None


class TitleRig:
    """A session with an open turn, whose title is asked for."""

    def __init__(self, model: ModelRig, turn_config: TurnConfigId) -> None:
        self.model = model
        self.turn_config = turn_config
        self.generation = GenerationId(new_id(Prefix.GENERATION))

    def request(self) -> TitleRequest:
        """As a later run of the workflow schedules it: with the next sequence number."""
        return TitleRequest(**self.model.rig.request_fields(), generation=self.generation, turn_config=self.turn_config)

    async def ask(self, request: TitleRequest | None = None, attempt: int = 1) -> str | None:
        """Ask in a newly started worker."""
        rig, adapter = self.model.rig, self.model.adapter
        endpoints = EndpointResolver(Keys(rig.project / "auth.json"), {}, adapter)
        attempts = Attempts(rig.database, Redactor(), RetryBudget(DAY))
        asker = TitleAsker(attempts, AnswerStream(adapter), endpoints)
        return await rig.act(asker.ask, request or self.request(), attempt)


async def titled(model: ModelRig) -> TitleRig:
    async with model.rig.journal() as journal:
        return TitleRig(model, (await turns.turn_status(journal, model.rig.turn)).turn_config)


async def test_a_title_is_asked_again_after_a_failure_and_paid_once(open_model: Open) -> None:
    async with open_model(TITLE) as model:
        title = await titled(model)
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
        await (await titled(model)).ask()
        totals = await sessions.totals(model.rig.database, model.rig.session)
        checked = await events.verify(model.rig.database, model.rig.session)
        parts = await model.parts()
        log = await model.rig.types()

    assert (totals.steps, totals.tokens.output > 0) == (0, True)
    assert checked.problem is None and parts == [] and "call.prepared" not in log


async def test_a_title_of_an_overtaken_attempt_is_refused(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="A fine title", faults={1: Refuse(status=503)})) as model:
        title = await titled(model)
        early, late = title.request(), title.request()
        with pytest.raises(ApplicationError):
            await title.ask(late)
        with pytest.raises(ApplicationError) as refused:
            await title.ask(early)

    assert refused.value.type == "StaleFence" and len(model.server.ledger.entries) == 1


async def test_no_title_is_asked_for_an_ended_session(open_model: Open) -> None:
    async with open_model(TITLE) as model:
        title = await titled(model)
        await model.rig.close(end=True)
        assert await title.ask() is None and model.server.ledger.entries == []


async def test_watchers_see_a_step_grow_and_not_a_title(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="A fine title"), ScriptedAnswer(text="Hello.")) as model:
        rig, title = model.rig, await titled(model)
        async with aclosing(events.ticks(rig.database, rig.session, read_nothing(rig.session))) as ticks:
            await anext(ticks)
            shown = []
            for ask in (title.ask, model.generate):
                await ask()
                (row,) = await rig.database.rows(b"SELECT is_called FROM delta_id_seq")
                shown.append(row["is_called"])
    assert shown == [False, True]
