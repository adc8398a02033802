"""What a turn's first request says of how the turn came about: a stop before it, a schedule."""

from typing import Final

from activities.session.scheduled_prompts import fire
from activities.store.schedules import NewSchedule, ScheduledPrompt, create
from tests.activities.model.model_rig import ModelRig, Open
from tests.activities.rig import PERSON
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import ScheduleId
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import Missed, Overlap
from workflows.domain.schedules.timing import parse_every
from workflows.domain.wire import CloseReason

SCHEDULE: Final = ScheduleId("sch_000000000001AAAAAAAAAAAAAA")
HELLO: Final = ScriptedAnswer(text="Hello.")


async def open_next(model: ModelRig, reason: CloseReason) -> None:
    """Close the turn, and open one for what waits."""
    await model.rig.close(reason)
    loaded = await model.rig.load()
    assert loaded.turn is not None
    model.rig.turn = loaded.turn.id


async def last_message(model: ModelRig) -> str:
    await model.generate()
    return str(model.sent["messages"][-1]["content"])


async def test_a_stop_is_told_once_before_the_next_prompt(open_model: Open) -> None:
    async with open_model(HELLO, HELLO, HELLO) as model:
        await model.rig.stop()
        await model.rig.prompt("Do that instead.", model="scripted/model")
        await open_next(model, CloseReason.STOPPED)
        after_stop = await last_message(model)
        await model.rig.prompt("And this.", model="scripted/model")
        await open_next(model, CloseReason.DONE)
        later = await last_message(model)
    stopped = "<system-reminder>\nThe user stopped you before this.\n</system-reminder>\n\n"
    assert after_stop.startswith(stopped) and after_stop.endswith("Do that instead.")
    assert later.endswith("And this.") and "stopped you" not in later and str(model.sent).count("stopped you") == 1


async def test_where_a_prompt_orders_the_first_step_it_is_told_at_the_first_of_the_model(open_model: Open) -> None:
    look = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),))
    async with open_model(HELLO, look, HELLO) as model:
        model.rig.file("a.txt", "of a\n")
        await model.rig.stop()
        await model.rig.prompt("Read @a.txt", model="scripted/model")
        await open_next(model, CloseReason.STOPPED)
        told = []
        for step in (1, 2, 3):
            answer = await model.generate(model.request(step=step))
            for call in answer.calls:
                await model.rig.run(call.id)
            told.append(str(model.sent["messages"]).count("stopped you") if model.server.last_request else 0)
    assert told == [0, 1, 1]


async def test_a_run_of_a_schedule_says_so_with_its_number_and_the_end_of_the_one_before(open_model: Open) -> None:
    async with open_model(HELLO, HELLO, HELLO) as model:
        rig = model.rig
        body = ScheduledPrompt(prompt=Prompt.of_text("What has changed since the last time?", model="scripted/model"))
        times = {"timing": "hourly", "recurrence": parse_every("hourly"), "zone": "Europe/Berlin"}
        rules = {"overlap": Overlap.QUEUE, "missed": Missed.RUN}
        new = NewSchedule(id=SCHEDULE, session=rig.session, body=body, **times, **rules)
        await create(rig.database, new, PERSON)
        runs = []
        for reason in (CloseReason.DONE, CloseReason.STOPPED):
            await rig.database.rows(b"UPDATE schedule SET next_at = now() - interval '1 second'")
            assert await fire(rig.database, SCHEDULE) is not None
            await open_next(model, reason)
            runs.append(await last_message(model))
        await rig.prompt("And you?", model="scripted/model")
        await open_next(model, CloseReason.DONE)
        by_person = await last_message(model)
    said = "A schedule sends this prompt (hourly, Europe/Berlin): there may be nobody to answer you. It is run"
    assert f"{said} 1; the run before it: none." in runs[0] and f"{said} 2; the run before it: 20" in runs[1]
    assert ", stopped.\n" in runs[1] and runs[1].endswith("since the last time?") and "schedule" not in by_person
