"""The ledger: a call's life, from prepared to its one outcome."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import Database, dumps
from activities.store.journal import Journal, Place, seal
from activities.store.queries import Queries
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import NotFound
from workflows.domain.events import CallClaimed, CallDrifted, CallFinished, CallPrepared, Decision, TaskSettled
from workflows.domain.ids import MessageId, PartId, SessionId, SnapshotId, TurnId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions.grants import Grant
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
    revision: int = 0
    state: CallState = CallState.PREPARED
    fence: Fence | None = None
    machine: str | None = None
    outcome: Outcome | None = None
    claimed_at: datetime | None = None

    @property
    def settled(self) -> bool:
        return self.state.settled


class Context(Value):
    """What a call runs in: where its session works, the shell's environment, and the frozen configuration's id."""

    directory: str
    environment: dict[str, str]
    snapshot: SnapshotId


@dataclass(frozen=True)
class FreshCall:
    """A call as it was prepared, with the grants that held then.

    `place` is where that has left its session, if the call is the only one of its answer: others would move it.
    """

    call: CallRow
    snapshot: SnapshotId
    live: tuple[Grant, ...]
    place: Place | None


def prepare(opened: Journal, turn: TurnId, step: int, message: MessageId, new: NewCall) -> CallRow:
    """Write a call of an answer into the ledger; its row."""
    arguments = seal(new.arguments)
    digest = new.plan.effect.digest if new.plan else None
    place = {"session": opened.session, "turn": turn, "step": step, "message": message, "digest": digest}
    known = {name: getattr(new, name) for name in ("id", "position", "provider_id", "tool", "recovery", "loop")}
    sealed = {"arguments": arguments.content, "salt": arguments.salt, "plan": _json(new.plan)}
    opened.write(_QUERIES.prepare, **known, **place, **sealed)
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
    return CallRow(**known, **place, arguments=new.arguments, plan=new.plan)


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
    """A call of the journal's session, locked until the transaction ends. Raises NotFound."""
    row = await opened.row(_QUERIES.lock, call=call, session=opened.session)
    if row is None:
        raise NotFound(f"There is no call {call!r}.")
    return call_row(row)


def claim(
    opened: Journal,
    call: CallRow,
    fence: Fence,
    machine: str,
    snapshot: SnapshotId,
    decisions: tuple[Decision, ...],
) -> None:
    """Claim a prepared call: the decision is recorded here, before the effect."""
    dumped = [decision.model_dump(mode="json") for decision in decisions]
    opened.write(_QUERIES.claim, call=call.id, fence=list(fence), machine=machine, decision=Json(dumped))
    opened.record(CallClaimed(call=call.id, fence=fence, digest=call.digest, snapshot=snapshot, decisions=decisions))


def reclaim(opened: Journal, call: CallRow, fence: Fence, snapshot: SnapshotId) -> None:
    """Take a claim over from a lower attempt, to recover its effect."""
    opened.write(_QUERIES.reclaim, call=call.id, fence=list(fence))
    opened.record(CallClaimed(call=call.id, fence=fence, digest=call.digest, snapshot=snapshot, recovered=True))


def drift(opened: Journal, call: CallRow, plan: Plan | None) -> CallRow:
    """Note that the call would now do something else than what was decided; earlier answers do not hold for it."""
    digest = plan.effect.digest if plan else None
    opened.write(_QUERIES.drift, call=call.id, plan=_json(plan), digest=digest)
    opened.record(CallDrifted(call=call.id, before=call.digest, digest=digest))
    return call.model_copy(update={"plan": plan, "digest": digest, "revision": call.revision + 1})


def settle(opened: Journal, call: CallRow, state: CallState, outcome: Outcome) -> None:
    """Write the one outcome of a call."""
    sealed = seal(outcome.model_dump(mode="json"))
    opened.write(_QUERIES.settle, call=call.id, state=state, outcome=sealed.content, salt=sealed.salt)
    opened.record(CallFinished(call=call.id, state=state, seal=sealed.seal, digest=call.digest))
    todos = outcome.metadata.get("todos")
    if call.tool == "todowrite" and state is CallState.DONE:
        opened.write(_QUERIES.keep_todos, session=opened.session, items=Json(todos))
    if call.tool == "task" and "head" in outcome.metadata:
        told = {"child": "sessionId", "seq": "events", "head": "head"}
        ends = {field: outcome.metadata[name] for field, name in told.items()}
        opened.record(TaskSettled.model_validate({"call": call.id, **ends}))


async def newest(database: Database, call: PartId) -> tuple[CallState, Fence | None]:
    """The call's state and the fence of its claim; a session that a later chain has taken over has none.

    Read without locks, directly before an effect that cannot be taken back.
    """
    found = await database.rows(_QUERIES.fence, call=call)
    if not found:
        raise NotFound(f"There is no call {call!r}.")
    fence, chain = found[0]["fence"], found[0]["chain"]
    return CallState(found[0]["state"]), Fence(*fence) if fence and fence[0] >= chain else None


def keep_fresh(database: Database, fresh: FreshCall) -> None:
    """Remember a call that was just prepared, for whoever runs it first."""
    database.fresh.keep(fresh.call.id, fresh)


def take_fresh(database: Database, call: PartId) -> FreshCall | None:
    """A call that this process has just prepared, and nobody has run."""
    taken: FreshCall | None = database.fresh.take(call)
    return taken


async def seen(database: Database, call: PartId, fresh: FreshCall | None) -> tuple[CallRow, Context]:
    """A call as it stood when it was seen last, and what it runs in, which never changes. Raises NotFound."""
    context: Context | None = database.contexts.get((fresh.call.session, fresh.snapshot)) if fresh else None
    if fresh is not None and context is not None:
        return fresh.call, context
    row, context = await read(database, call)
    database.contexts.keep((row.session, context.snapshot), context)
    return row, context


async def read(database: Database, call: PartId) -> tuple[CallRow, Context]:
    """A call as it stands, unlocked, and what it runs in. Raises NotFound."""
    found = await database.rows(_QUERIES.get, call=call)
    if not found:
        raise NotFound(f"There is no call {call!r}.")
    context = {name: found[0][name] for name in Context.model_fields}
    return call_row(found[0]), Context.model_validate(context)


async def claimed(database: Database) -> set[str]:
    """The calls whose effect may have begun and that have no outcome yet."""
    return {row["id"] for row in await database.rows(_QUERIES.claimed)}


def call_row(row: dict[str, Any]) -> CallRow:
    """A row of the ledger as a value."""
    fields = {name: row[name] for name in CallRow.model_fields}
    return CallRow.model_validate(fields | {"fence": Fence(*row["fence"]) if row["fence"] else None})


def _json(plan: Plan | None) -> str | None:
    return dumps(plan.model_dump(mode="json")) if plan else None
