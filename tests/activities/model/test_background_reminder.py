"""Tasks that are at work in the background are not forgotten with what a summary stands for."""

from activities.calls.claim import Claimed
from activities.calls.subagent import CallSubagent
from activities.store.compactions import CompactionTry, NewCompaction
from activities.store.model_answers import NewAnswer
from activities.tools.tool import TaskRequest
from tests.activities.model.model_rig import Open
from tests.activities.rig import BODY
from worker.scripted.script import ScriptedAnswer
from workflows.domain.agents.built_in import EXPLORE
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, PartId
from workflows.domain.messages import NewPart, TextPart


async def test_the_first_request_behind_a_summary_names_them(open_model: Open) -> None:
    async with open_model(*[ScriptedAnswer(text="Done.")] * 3) as model:
        rig = model.rig
        tasks = [{"content": "count", "status": "in_progress", "priority": "low"}]
        await rig.run(await rig.called("todowrite", todos=tasks))
        given = {"description": "look", "prompt": "Where?", "subagent_type": "explore"}
        call, fence = await rig.called("task", **given), rig.fence()
        assert isinstance(await rig.claim(call, fence), Claimed)
        subagent = CallSubagent(rig.database, rig.deliver, await rig.row(call), fence)
        child = await subagent.start(TaskRequest(agent=EXPLORE, title="look", prompt="Where?", background=True))
        newest = MessageId((await rig.row(call)).message)
        text = NewPart(id=PartId("prt_s"), position=0, body=TextPart(text="in short"))
        tried = CompactionTry(turn=rig.turn, step=3, model="scripted/model", tokens=9)
        stands_for = NewCompaction(tried=tried, turn=rig.turn, step=2, newest=newest, after=1)
        summary = Generation(id=GenerationId("gen_s"), purpose=Purpose.COMPACTION)
        await rig.store_answer(summary, NewAnswer(body=BODY, parts=(text,), compaction=stands_for))
        await model.generate(model.request(step=3))
        told = str(model.sent["messages"][-1]["content"])

    assert f"- {child.session}: look\n" in told and "Go on from their next move" in told
    assert "as you last wrote it (turn 1); bring it up to date if it is behind:\n\n[~] count\n" in told
