"""The ledger: a call's life, from prepared to its one outcome."""

from datetime import datetime
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import Database, dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import NotFound
from workflows.domain.events import CallClaimed, CallDrifted, CallFinished, CallPrepared, Decision
from workflows.domain.ids import MessageId, PartId, SessionId, SnapshotId, TurnId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.value import Value
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("calls")


class NewCall(Value):
    """A call of a finished answer. `plan` is None when planning failed: the claim plans again and tells."""

    id: PartId
    position: int
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    recovery: Recovery
    plan: Plan | None
    loop: str


class CallRow(Value):
    """A call as the ledger has it."""

    id: PartId
    session: SessionId
    turn: TurnId
    step: int
    position: int
    message: MessageId
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    recovery: Recovery
    plan: Plan | None
    digest: str | None
    loop: str
    revision: int
    state: CallState
    fence: Fence | None
    machine: str | None
    outcome: Outcome | None
    claimed_at: datetime | None

    @property
    def settled(self) -> bool:
        return self.state.settled


async def prepare(opened: Journal, turn: TurnId, step: int, message: MessageId, new: NewCall) -> None:
    """Write a call of an answer into the ledger."""
    arguments = seal(new.arguments)
    digest = new.plan.effect.digest if new.plan else None
    await opened.run(
        _QUERIES.prepare,
        id=new.id,
        session=opened.session,
        turn=turn,
        step=step,
        position=new.position,
        message=message,
        provider_id=new.provider_id,
        tool=new.tool,
        arguments=arguments.content,
        salt=arguments.salt,
        recovery=new.recovery,
        plan=_json(new.plan),
        digest=digest,
        loop=new.loop,
    )
    opened.record(
        CallPrepared(
            call=new.id,
            turn=turn,
            step=step,
            tool=new.tool,
            recovery=new.recovery,
            seal=arguments.seal,
            digest=digest,
        )
    )


async def of_step(opened: Journal, turn: TurnId, step: int) -> list[CallRow]:
    """The calls of a step, in the order of the answer."""
    return [call_row(row) for row in await opened.rows(_QUERIES.of_step, turn=turn, step=step)]


async def unsettled(opened: Journal, turn: TurnId) -> list[CallRow]:
    """The turn's calls without an outcome, locked."""
    return [call_row(row) for row in await opened.rows(_QUERIES.unsettled, turn=turn)]


async def recent_loops(opened: Journal, turn: TurnId, step: int) -> tuple[str, ...]:
    """Digests of the last two calls before this step, the older first: what the loop guard remembers."""
    rows = await opened.rows(_QUERIES.recent_loops, turn=turn, step=step)
    return tuple(row["loop"] for row in reversed(rows))


async def any_rejected(opened: Journal, turn: TurnId) -> bool:
    """Whether a person has rejected a call of this turn without a word."""
    row = await opened.row(_QUERIES.any_rejected, turn=turn)
    return bool(row and row["rejected"])


async def lock(opened: Journal, call: PartId) -> CallRow:
    """A call, locked until the transaction ends. Raises NotFound."""
    return _found(await opened.row(_QUERIES.lock, call=call), call)


async def claim(
    opened: Journal,
    call: CallRow,
    fence: Fence,
    machine: str,
    snapshot: SnapshotId,
    decisions: tuple[Decision, ...],
) -> None:
    """Claim a prepared call: the decision is recorded here, before the effect."""
    dumped = [decision.model_dump(mode="json") for decision in decisions]
    await opened.run(_QUERIES.claim, call=call.id, fence=list(fence), machine=machine, decision=Json(dumped))
    opened.record(CallClaimed(call=call.id, fence=fence, digest=call.digest, snapshot=snapshot, decisions=decisions))


async def reclaim(opened: Journal, call: CallRow, fence: Fence, snapshot: SnapshotId) -> None:
    """Take a claim over from a lower attempt, to recover its effect."""
    await opened.run(_QUERIES.reclaim, call=call.id, fence=list(fence))
    opened.record(CallClaimed(call=call.id, fence=fence, digest=call.digest, snapshot=snapshot, recovered=True))


async def drift(opened: Journal, call: CallRow, plan: Plan | None) -> CallRow:
    """Note that the call would now do something else than what was decided; earlier answers do not hold for it."""
    digest = plan.effect.digest if plan else None
    await opened.run(_QUERIES.drift, call=call.id, plan=_json(plan), digest=digest)
    opened.record(CallDrifted(call=call.id, before=call.digest, digest=digest))
    return call.model_copy(update={"plan": plan, "digest": digest, "revision": call.revision + 1})


async def settle(opened: Journal, call: CallRow, state: CallState, outcome: Outcome) -> None:
    """Write the one outcome of a call."""
    sealed = seal(outcome.model_dump(mode="json"))
    await opened.run(_QUERIES.settle, call=call.id, state=state, outcome=sealed.content, salt=sealed.salt)
    opened.record(CallFinished(call=call.id, state=state, seal=sealed.seal, digest=call.digest))
    todos = outcome.metadata.get("todos")
    if call.tool == "todowrite" and state is CallState.DONE:
        await opened.run(_QUERIES.keep_todos, session=opened.session, items=Json(todos))


async def newest(database: Database, call: PartId) -> tuple[CallState, Fence | None]:
    """The call's state and the fence of its claim; a session that a later chain has taken over has none.

    Read without locks, directly before an effect that cannot be taken back.
    """
    async with database.transaction() as connection:
        row = await (await connection.execute(_QUERIES.fence, {"call": call})).fetchone()
    if row is None:
        raise NotFound(f"There is no call {call!r}.")
    state, fence, chain = row
    return CallState(state), Fence(*fence) if fence and fence[0] >= chain else None


async def read(database: Database, call: PartId) -> CallRow:
    """A call as it stands, unlocked. Raises NotFound."""
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES.get, {"call": call})
        return _found(await cursor.fetchone(), call)


async def claimed(database: Database) -> set[str]:
    """The calls whose effect may have begun and that have no outcome yet."""
    async with database.transaction() as connection:
        cursor = await connection.execute(_QUERIES.claimed)
        return {row[0] for row in await cursor.fetchall()}


def call_row(row: dict[str, Any]) -> CallRow:
    """A row of the ledger as a value."""
    fields = {name: row[name] for name in CallRow.model_fields}
    return CallRow.model_validate(fields | {"fence": Fence(*row["fence"]) if row["fence"] else None})


def _found(row: dict[str, Any] | None, call: PartId) -> CallRow:
    if row is None:
        raise NotFound(f"There is no call {call!r}.")
    return call_row(row)


def _json(plan: Plan | None) -> str | None:
    return dumps(plan.model_dump(mode="json")) if plan else None
