"""The ledger of calls: from prepared to the one outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store import deltas, seen_files
from activities.store.database import Database, dumps
from activities.store.journal import WORKER, Journal, SessionVersion, seal, session_journal, write_optimistically
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events.calls import CallClaimed, CallDrifted, CallFinished, CallPrepared, RecordedDecision
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.fence import Fence
from workflows.domain.file_changes import ChangedFiles, FileChanged
from workflows.domain.ids import MessageId, PartId, SessionId, TurnConfigId, TurnId
from workflows.domain.messages import CallState, Outcome, SubagentSettled, TodosReplaced
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.loop_guard import Recent
from workflows.domain.questions import CallRequest
from workflows.domain.value import Value

EFFECT_DIGITS: Final = 16  # of the effect's digest in history
_QUERIES: Final = Queries("calls")


_PREPARED_COLUMNS: Final = (
    *("id", "session", "turn", "step", "message", "position", "provider_id", "tool", "recovery", "digest"),
    *("loop_digest", "room", "ordered_by", "ordered_part", "mentioned_by"),
)


class CallRow(Value):
    """A row of the ledger. `plan` is None when planning failed: the claim plans again and reports the error.
    `room`: bytes that its result may have. `ordered_by`: the prompt whose `ordered_part` it is, a subtask or a file;
    None: a model has asked for it. `mentioned_by`: the prompt that mentions the agent it would give work to.
    `waits_for`: positions of earlier calls of its answer."""

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
    display: CallDisplay
    plan: Plan | None
    digest: str | None
    loop_digest: str
    room: int | None = None
    ordered_by: MessageId | None = None
    ordered_part: int | None = None
    mentioned_by: MessageId | None = None
    waits_for: tuple[int, ...] = ()
    revision: int = 0
    state: CallState = CallState.PREPARED
    fence: Fence | None = None
    machine: str | None = None
    outcome: Outcome | None = None
    claimed_at: datetime | None = None

    @property
    def settled(self) -> bool:
        return self.state.settled

    @property
    def delegate(self) -> str | None:
        """The agent that it would give work to."""
        delegates = self.display.kind is DisplayKind.DELEGATE and self.plan is not None and self.plan.requests
        return self.plan.requests[0].patterns[0] if delegates and self.plan is not None else None

    @property
    def asked_by(self) -> MessageId | None:
        """The prompt that asks for a subagent's work."""
        return self.mentioned_by or (self.ordered_by if self.display.kind is DisplayKind.DELEGATE else None)

    @property
    def gave_result(self) -> bool:
        """Whether it has given the result that its turn owes."""
        return self.tool == STRUCTURED_OUTPUT and self.state is CallState.DONE

    def made_as(self, revision: int) -> bool:
        """Whether it is an edit that was made as planned in this revision."""
        is_edit = self.display.kind is DisplayKind.EDIT
        return is_edit and self.state is CallState.DONE and self.revision == revision

    @property
    def asks(self) -> tuple[CallRequest, ...]:
        return self.plan.asks if self.plan else ()

    @property
    def claimed_plan(self) -> Plan:
        """The plan of a claimed call: no claim exists without one."""
        if self.plan is None:
            raise RuntimeError(f"Call {self.id!r} has a claim and no plan.")
        return self.plan

    def revised(self, plan: Plan | None) -> "CallRow":
        """The call with another plan: earlier answers do not hold for it."""
        digest = plan.effect.digest if plan else None
        return self.model_copy(update=dict(plan=plan, digest=digest, revision=self.revision + 1))

    @property
    def short_digest(self) -> str | None:
        return self.digest[:EFFECT_DIGITS] if self.digest else None


class CallEnvironment(Value):
    """The shell's environment, and the id of the turn's configuration."""

    environment: dict[str, str]
    turn_config: TurnConfigId


@dataclass(frozen=True)
class PreparedCall:
    """A call that this process has just prepared, with its turn's configuration and the live grants. `version`: the
    session's, if the call is alone in its answer: others would change it."""

    row: CallRow
    turn_config: TurnConfigId
    live: tuple[Grant, ...]
    version: SessionVersion | None


def prepare(journal: Journal, call: CallRow) -> None:
    arguments = seal(call.arguments)
    columns = {name: getattr(call, name) for name in _PREPARED_COLUMNS}
    display = Json(call.display.model_dump(mode="json", exclude_defaults=True))
    sealed = {"arguments": arguments.content, "salt": arguments.salt}
    columns["waits_for"] = list(call.waits_for)
    journal.write(_QUERIES.prepare, **columns, **sealed, plan=_plan_json(call.plan), display=display)
    journal.record(
        CallPrepared(
            call=call.id,
            turn=call.turn,
            step=call.step,
            tool=call.tool,
            recovery=call.recovery,
            seal=arguments.seal,
            digest=call.digest,
        )
    )


async def lock(journal: Journal, call: PartId) -> CallRow:
    """A call of the journal's session. Raises NotFound."""
    row = await journal.row(_QUERIES.lock, call=call, session=journal.session)
    if row is None:
        raise NotFound(f"There is no call {call!r}.")
    return call_row(row)


def claim(
    journal: Journal,
    call: CallRow,
    fence: Fence,
    machine: str,
    turn_config: TurnConfigId,
    decisions: tuple[RecordedDecision, ...],
) -> CallRow:
    """Records the decision before the effect."""
    dumped = [decision.model_dump(mode="json") for decision in decisions]
    journal.write(_QUERIES.claim, call=call.id, fence=list(fence), machine=machine, decision=Json(dumped))
    journal.record(
        CallClaimed(call=call.id, fence=fence, digest=call.digest, turn_config=turn_config, decisions=decisions)
    )
    claimed = {"state": CallState.CLAIMED, "fence": fence, "machine": machine, "claimed_at": datetime.now(UTC)}
    return call.model_copy(update=claimed)  # the row has the database's time


def reclaim(journal: Journal, call: CallRow, fence: Fence, turn_config: TurnConfigId) -> None:
    """Take over the claim of a lower attempt, to recover its effect."""
    journal.write(_QUERIES.reclaim, call=call.id, fence=list(fence))
    journal.record(CallClaimed(call=call.id, fence=fence, digest=call.digest, turn_config=turn_config, recovered=True))


def drift(journal: Journal, call: CallRow, revised: CallRow, *, by_answer: bool = False) -> None:
    """Store a call's new revision."""
    journal.write(_QUERIES.drift, call=call.id, plan=_plan_json(revised.plan), digest=revised.digest)
    journal.record(CallDrifted(call=call.id, before=call.digest, digest=revised.digest, by_answer=by_answer))


async def settle_claimed(
    database: Database,
    call: CallRow,
    fence: Fence,
    state: CallState,
    outcome: Outcome,
    version: SessionVersion | None = None,
) -> None:
    """Store the outcome if this fence holds the claim, else raise StaleFence; a settled call stays. `version`: the
    session's after the claim, where no other writer is expected."""

    async def store(journal: Journal) -> None:
        row = call if journal.as_seen else await lock(journal, call.id)
        if row.fence != fence:
            raise StaleFence(f"Call {row.id!r} is held by {row.fence}; the outcome of {fence} is refused.")
        if not row.settled:
            settle(journal, row, state, outcome)
        deltas.delete(journal, call.id)

    journal = partial(session_journal, database, call.session, WORKER, epoch=fence.epoch, needs_newest=False)
    await write_optimistically(journal, version, store)


async def todos(reader: RowReader, session: SessionId) -> tuple[list[JsonValue], str]:
    """The session's to-do list, and the number of the turn that has written it."""
    rows = await reader.rows(_QUERIES.todos, session=session)
    return (list(rows[0]["items"]), rows[0]["turn"]) if rows else ([], "")


async def changed_files(reader: RowReader, sessions: Sequence[SessionId]) -> ChangedFiles:
    """The changes by all calls of these sessions."""
    (row,) = await reader.rows(_QUERIES.changed_files, sessions=list(sessions))
    return ChangedFiles(**row)


def settle(journal: Journal, call: CallRow, state: CallState, outcome: Outcome) -> None:
    """Store a call's one outcome and its changes to the session."""
    sealed = seal(outcome.model_dump(mode="json"))
    journal.write(_QUERIES.settle, call=call.id, state=state, outcome=sealed.content, salt=sealed.salt)
    journal.record(CallFinished(call=call.id, state=state, seal=sealed.seal, digest=call.digest))
    seen_files.store(journal, call.id, outcome.versions)
    for change in outcome.changes:
        match change:
            case TodosReplaced():
                journal.write(_QUERIES.store_todos, session=journal.session, items=Json(change.todos))
            case SubagentSettled():
                journal.record(TaskSettled(call=call.id, child=change.child, seq=change.seq, head=change.head))
            case FileChanged():
                # As JSON: a name may hold half characters, which PostgreSQL refuses.
                lines = change.model_dump(include={"additions", "deletions"}) | {"file": dumps(change.file)}
                journal.write(_QUERIES.store_file_change, call=call.id, session=journal.session, **lines)


async def require_claim(database: Database, call: PartId, fence: Fence) -> None:
    """Raise StaleFence if another attempt or an outcome has overtaken this one, NotFound for an unknown call.

    Reads without locks, directly before an irrevocable effect.
    """
    found = await database.rows(_QUERIES.current_claim, call=call)
    if not found:
        raise NotFound(f"There is no call {call!r}.")
    state, newest = CallState(found[0]["state"]), found[0]["fence"]
    if state.settled or newest != list(fence):
        raise StaleFence(f"Call {call!r} is {state} under fence {newest}, this attempt is {fence}.")


async def take(database: Database, call: PartId) -> tuple[CallRow, CallEnvironment, PreparedCall | None]:
    """A call for an attempt: as this process has just prepared it, else as stored. Raises NotFound."""
    prepared, environments = database.prepared_calls.pop(call), database.call_environments
    if prepared is not None:
        environment = environments.get((prepared.row.session, prepared.turn_config))
        if environment is not None:
            return prepared.row, environment, prepared
    row, environment = await read(database, call)
    environments.put((row.session, environment.turn_config), environment)
    return row, environment, prepared


async def read(database: Database, call: PartId) -> tuple[CallRow, CallEnvironment]:
    """The call as stored, unlocked, and its environment, which never changes. Raises NotFound."""
    found = await database.rows(_QUERIES.get, call=call)
    if not found:
        raise NotFound(f"There is no call {call!r}.")
    environment = {name: found[0][name] for name in CallEnvironment.model_fields}
    return call_row(found[0]), CallEnvironment.model_validate(environment)


async def claimed(database: Database) -> set[str]:
    """Calls whose effect may have begun and that have no outcome."""
    return {row["id"] for row in await database.rows(_QUERIES.claimed)}


def call_row(row: dict[str, Any]) -> CallRow:
    fields = {name: row[name] for name in CallRow.model_fields}
    return CallRow.model_validate(fields | {"fence": Fence(*row["fence"]) if row["fence"] else None})


def _plan_json(plan: Plan | None) -> str | None:
    return dumps(plan.model_dump(mode="json")) if plan else None


async def of_step(journal: Journal, turn: TurnId | None, step: int | None) -> list[CallRow]:
    """The calls of a step in the order of its answer."""
    return [call_row(row) for row in await journal.rows(_QUERIES.of_step, turn=turn, step=step)]


async def open_before(reader: RowReader, call: CallRow) -> list[CallRow]:
    """The unsettled calls before it in its answer."""
    rows = await reader.rows(_QUERIES.of_step, turn=call.turn, step=call.step)
    return [each for each in map(call_row, rows) if each.position < call.position and not each.settled]


async def unsettled(journal: Journal, turn: TurnId) -> list[CallRow]:
    """The turn's calls without an outcome, locked."""
    return [call_row(row) for row in await journal.rows(_QUERIES.unsettled, turn=turn)]


async def recent_loops(journal: Journal, turn: TurnId, step: int) -> tuple[str, ...]:
    """Loop digests of the last two calls before this step, the older first."""
    rows = await journal.rows(_QUERIES.recent_loops, turn=turn, step=step)
    return tuple(row["loop_digest"] for row in reversed(rows))


async def recent_results(journal: Journal, turn: TurnId) -> Recent:
    """As `loop_digest` takes them."""
    return [(row["input"], row["result"]) for row in await journal.rows(_QUERIES.recent_results, turn=turn)]


async def count_without_result(journal: Journal, turn: TurnId, step: int) -> int:
    """How many answers before this step should have given the turn's result, and did not."""
    (row,) = await journal.rows(_QUERIES.without_result, turn=turn, step=step, tool=STRUCTURED_OUTPUT)
    return int(row["answers"])


async def count_ordered_steps(reader: RowReader, turn: TurnId, step: int) -> int:
    """How many of a turn's steps before this one a prompt has asked for: they are none of a model's."""
    (row,) = await reader.rows(_QUERIES.ordered_steps, turn=turn, step=step)
    return int(row["ordered"])


def is_ordered(calls: Sequence[CallRow]) -> bool:
    """Whether a prompt has asked for them, no model: no last step refuses them."""
    return any(call.ordered_by is not None for call in calls)
