"""What a step reads of a long session is found by indexes, whatever the planner expects."""

from activities.store.queries import Queries
from activities.store.transcript import END
from tests.activities.rig import ActivityRig

LONG = 3_000
GROWN = f"""
INSERT INTO generation (id, session, purpose, turn, step, fence)
SELECT 'gen_' || n, %(session)s, 'step', %(turn)s, n, '{{1,1,1,1}}' FROM generate_series(1, {LONG}) AS n;
INSERT INTO message (id, session, generation, turn, step, body, agent, model, input, output, reasoning, cache_read,
                     cache_write)
SELECT 'msg_' || n, %(session)s, 'gen_' || n, %(turn)s, n, '{{}}', '', '', 0, 0, 0, 0, 0
FROM generate_series(1, {LONG}) AS n;
INSERT INTO part (id, message, position, kind, body, salt)
SELECT 'prt_' || n, 'msg_' || n, 0, 'text', '{{}}', '' FROM generate_series(1, {LONG}) AS n;
INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, arguments, salt, recovery, display,
                  loop_digest)
SELECT 'cll_' || n, %(session)s, %(turn)s, n, 1, 'msg_' || n, '', '', '{{}}', '', '', '{{}}', ''
FROM generate_series(1, {LONG}) AS n;
INSERT INTO work (id, session, kind, accepted_seq, author, state)
SELECT 'wrk_' || n, %(session)s, 'prompt', -n, '', 'withdrawn' FROM generate_series(1, {LONG}) AS n;
ANALYZE generation, message, part, call, work
"""
LARGE = ("generation", "message", "part", "call", "work")


READ = {
    "transcript": ("steps_from", "parts_from", "calls_from", "prompts_from"),
    "generations": ("step_status",),
    "step_rows": ("of_step",),
    "prompts": ("steered",),
}


async def test_a_step_of_a_long_session_reads_no_table_as_a_whole(rig: ActivityRig) -> None:
    await rig.open_turn()
    end = {"last_number": END.number, "last_step": END.step}
    known = {"session": rig.session, "turn": rig.turn, "step": LONG, **end}
    for statement in GROWN.split(";"):
        await rig.database.rows(statement.encode(), **known)
    for query in (getattr(Queries(file), name) for file, names in READ.items() for name in names):
        plan = [row["QUERY PLAN"] for row in await rig.database.rows(b"EXPLAIN " + query, **known)]
        whole = [line for table in LARGE for line in plan if f"Seq Scan on {table} " in line]
        assert not whole and not any("work_session_accepted_seq_key" in line for line in plan), "\n".join(plan)
