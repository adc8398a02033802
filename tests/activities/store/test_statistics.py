"""What sessions have used."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from activities.store import deletions, statistics
from activities.store.model_answers import NewAnswer
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import SessionFilter
from workflows.domain.statistics import Statistics
from workflows.domain.usage import Tokens


async def read(rig: ActivityRig, session: SessionId | None = None, limit: int = 9, **wanted: Any) -> Statistics:
    only = [session] if session else None
    return await statistics.read(
        rig.database, SessionFilter(**wanted), host=None, sessions=only, offset=timedelta(hours=2), limit=limit
    )


async def test_answers_are_summed_by_each_of_their_properties(rig: ActivityRig) -> None:
    await rig.open_turn()
    for step, cost, agent in ((1, "0.10", "build"), (2, None, "build"), (3, "0.30", "explore")):
        tokens = Tokens(input=10, output=step, cache_read=30)
        await rig.store_answer(
            rig.generation(step),
            NewAnswer(body=BODY.model_copy(update={"tokens": tokens, "cost": cost, "agent": agent})),
        )
    now = datetime.now(UTC)
    known = await read(rig, limit=1, below=str(rig.project), since=now - timedelta(hours=1))
    by_kind = {row.kind: row for row in known.usage}
    total, agent_row = by_kind["all"], by_kind["agent"]
    assert (total.steps, total.sessions, total.cost.dollars, total.cost.unpriced) == (3, 1, Decimal("0.40"), 1)
    assert (total.tokens.input, total.tokens.output, total.tokens.cache_read) == (30, 6, 90)
    assert (agent_row.name, agent_row.steps, agent_row.others) == ("explore", 1, 1)
    assert by_kind["session"].name == rig.session and by_kind["directory"].name == str(rig.project)
    assert by_kind["model"].name == "scripted/model" and by_kind["day"].steps == 3
    assert [row.steps for row in (await read(rig, agents=("explore",))).usage if row.kind == "all"] == [1]
    for nothing in (await read(rig, SessionId("ses_x")), await read(rig, before=now - timedelta(days=1))):
        assert [(row.kind, row.steps) for row in nothing.usage] == [("all", 0)]


async def test_calls_are_counted_by_tool_and_outcome(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.called("glob", pattern="*")
    (tool,) = (await read(rig)).tools
    assert (tool.tool, tool.calls, tool.done) == ("glob", 1, 0)


async def test_deleted_sessions_are_told_of(rig: ActivityRig) -> None:
    async with rig.journal() as journal:
        await deletions.erase(journal, None)
    known = await read(rig)
    assert (known.deleted, known.archived) == (1, 0)
