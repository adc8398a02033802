"""Questions to a person: one ask with its answers, by the code of every ask."""

import pytest

from activities.store import asks
from activities.store.events import verify
from tests.activities.rig import ActivityRig
from workflows.domain.errors import Conflict
from workflows.domain.events.asks import AnswerRefused, AskAnswered, AskRaised
from workflows.domain.ids import AskId, PartId
from workflows.domain.messages import CallState
from workflows.domain.open_call import CallResultState
from workflows.domain.permissions.replies import Reply
from workflows.domain.questions import AskKind, QuestionRequest
from workflows.domain.wire import AskState

WHICH = {"question": "Which?", "header": "Base", "options": [{"label": "A", "description": "a"}], "custom": False}


async def asking(rig: ActivityRig) -> tuple[PartId, AskId]:
    await rig.open_turn()
    call = await rig.called("question", questions=[WHICH])
    return call, await rig.asked(call)


async def test_an_answer_is_sealed_in_the_log_and_given_to_the_call(rig: ActivityRig) -> None:
    call, ask = await asking(rig)
    row = await rig.ask_row(ask)
    assert row.kind is AskKind.QUESTION and isinstance(row.body, QuestionRequest)
    with pytest.raises(Conflict, match="'B' is not an option"):
        await rig.answer(ask, Reply.ANSWER, answers=(("B",),))
    (refused,) = [each for each in await rig.events() if isinstance(each, AnswerRefused)]
    assert refused.reason == "This does not answer ask a1."  # the log holds no words of a person
    first = await rig.answer(ask, Reply.ANSWER, answers=(("A",),), digest=row.digest)
    again = await rig.answer(ask, Reply.ANSWER, answers=(("A",),))
    assert again.repeated and first.ask.answers == again.ask.answers == (("A",),)
    assert (await rig.run(call)).state is CallResultState.SETTLED
    assert '"Which?"="A"' in await rig.output(call)
    raised, answered = [each for each in await rig.events() if isinstance(each, AskRaised | AskAnswered)]
    assert (
        isinstance(raised, AskRaised)
        and raised.permissions == ("question",)
        and isinstance(answered, AskAnswered)
        and answered.answers_seal
    )
    assert (await verify(rig.database, rig.session)).problem is None
    await rig.database.rows(b"UPDATE ask SET answers = '[[\"B\"]]'")
    assert "/answers was changed" in str((await verify(rig.database, rig.session)).problem)


async def test_answers_that_the_log_does_not_confirm_are_none(rig: ActivityRig) -> None:
    call, ask = await asking(rig)
    await rig.answer(ask, Reply.ANSWER, answers=(("A",),))
    await rig.database.rows(b"UPDATE ask SET answers = '[[\"B\"]]'")
    assert await asks.answers_to(rig.database, call) is None
    assert (await rig.run(call)).state is CallResultState.WAITING
    row = await rig.ask_row(ask)
    assert (row.state, row.answers) == (AskState.OPEN, None)


@pytest.mark.parametrize(
    ("feedback", "state", "text"),
    [
        (None, CallResultState.REJECTED, "The user dismissed this question"),
        ("later", CallResultState.SETTLED, "The user dismissed this question with the following feedback: later"),
    ],
)
async def test_a_dismissed_question_is_a_refusal(
    rig: ActivityRig, feedback: str | None, state: CallResultState, text: str
) -> None:
    call, ask = await asking(rig)
    await rig.answer(ask, Reply.REJECT, feedback=feedback)
    assert (await rig.run(call)).state is state and await rig.state(call) is CallState.REFUSED
    assert await rig.output(call) == text


async def test_a_second_answer_is_refused_with_the_name_of_the_first_person(rig: ActivityRig) -> None:
    _, ask = await asking(rig)
    await rig.answer(ask, Reply.ANSWER, answers=(("A",),))
    with pytest.raises(Conflict, match=r"was already answered by tester@here \(20"):
        await rig.answer(ask, Reply.ANSWER, answers=(("B",),))


async def test_a_stop_closes_it_and_an_always_of_another_ask_does_not_answer_it(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    question, write = await rig.answered(
        ("question", {"questions": [WHICH]}), ("write", {"filePath": "sub/a.txt", "content": "x"})
    )
    ask = await rig.asked(question)
    await rig.answer(await rig.asked(write), Reply.ALWAYS)
    assert (await rig.ask_row(ask)).state is AskState.OPEN
    await rig.stop()
    with pytest.raises(Conflict, match="waits for no answer any more"):
        await rig.answer(ask, Reply.ANSWER, answers=(("A",),))
    await rig.close()
    assert (await rig.ask_row(ask)).state is AskState.CLOSED
