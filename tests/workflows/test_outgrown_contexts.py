"""A context that fits its model in no way: a larger model takes over, or a person says how to go on."""

from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.test_compaction import DONE, LIST, REFUSED, TASK, TOO_LONG, configure, is_done, script
from worker.scripted.script import ScriptedAnswer
from workflows.domain.events.turns import TurnEnded, TurnModelChanged
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt

LARGER = "scripted/larger"
FIRST = ScriptedAnswer(tools=(LIST,))


def refused(times: int) -> ScriptedAnswer:
    return DONE.model_copy(update={"faults": dict.fromkeys(range(1, times + 1), TOO_LONG)})


async def test_a_larger_model_takes_over_for_the_rest_of_the_turn(open_harness: Open) -> None:
    """Requests: two steps, a summary, the second step again, and once more of the larger model."""
    async with open_harness(scripts=script(FIRST, refused(2), DONE)) as harness, harness.running_worker():
        configure(harness, larger=LARGER)
        session = await harness.start_session(TASK)
        ended = await harness.ended(session)
        last, count = harness.model.last_request, len(harness.model.ledger.entries)
        (changed,) = [each for each in await harness.events(session) if isinstance(each, TurnModelChanged)]
        watched = await shell(harness).run("watch", session, "--until-idle")
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        await harness.ended(session, 2)
        later, verified = harness.model.last_request, await harness.client.records.verify(session)

    assert is_done(ended) and count == 5 and last is not None and last.body["model"] == "larger"
    assert changed.model == LARGER and f"The turn goes on with {LARGER}: " in watched.out
    assert REFUSED in watched.out.replace("\n  ", " ")
    assert later is not None and later.body["model"] == "model" and not verified.problem


async def test_a_person_is_asked_and_may_try_again_or_name_a_model(open_harness: Open) -> None:
    async with open_harness(scripts=script(FIRST, refused(3))) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        (ask,) = await harness.wait_for_asks(session)
        person = shell(harness)
        asked, bad = await person.run("asks"), await person.run("answer", ask, "larger")
        unknown = await person.run("answer", ask, "nowhere/larger")
        again = await person.run("answer", ask, "Try again")
        await harness.wait_for_asks(session, 2)
        (ask,) = [entry.id for entry in await harness.client.inbox.asks(session=session)]
        named = await person.run("answer", ask, LARGER)
        ended = await harness.ended(session)
        told = await person.run("log", session)

    assert "too long for scripted/model" in asked.out.replace("\n", " ") and REFUSED in asked.out.replace("\n", " ")
    assert bad.code == 2 and "neither a model (provider/model) nor one of" in bad.err.replace("\n", " ")
    assert unknown.code == 6 and "There is no provider 'nowhere'" in unknown.err.replace("\n", " ")
    assert (
        again.out.startswith("context: answered")
        and (again.code, named.code) == (0, 0)
        and is_done(ended)
        and len(harness.model.ledger.entries) == 6
    )
    assert "the turn goes on with scripted/larger, as a person says" in told.out


async def test_a_dismissed_question_ends_the_turn(open_harness: Open) -> None:
    async with open_harness(scripts=script(FIRST, refused(9))) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask, Reply.REJECT)
        ended = await harness.ended(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "stopped" and len(harness.model.ledger.entries) == 4
