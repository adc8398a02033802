"""Asks: the row is the arbiter. It is open, then answered or closed, once."""

import logging
from datetime import datetime
from typing import Any, Final

from activities.store.calls import CallRow
from activities.store.database import Database, dumps
from activities.store.events import record
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.errors import NotFound
from workflows.domain.events import Actor, AnswerNotRun, AskAnswered, AskClosed, AskRaised, AskReopened, Record
from workflows.domain.ids import AskId, GrantId, PartId, SessionId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.permissions.loop_guard import GUARD
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.value import Value

_LOG: Final = logging.getLogger("holdfast.store")
_QUERIES: Final = Queries("asks")


class AskRow(Value):
    """An ask: one permission request of a call (`request` -1: the loop guard's), and how it was settled."""

    id: AskId
    session: SessionId
    turn: TurnId
    call: PartId
    revision: int
    request: int
    body: PermissionRequest
    digest: str
    state: AskState
    reply: Reply | None = None
    feedback: str | None = None
    by_grant: GrantId | None = None
    author: str | None = None
    reason: str | None = None
    asked_at: datetime
    settled_at: datetime | None = None

    @property
    def allowed(self) -> bool:
        return self.state is AskState.ANSWERED and self.reply is not Reply.REJECT

    @property
    def rejected(self) -> bool:
        return self.state is AskState.ANSWERED and self.reply is Reply.REJECT


class Answer(Value):
    """What a person decided, and with which feedback."""

    reply: Reply
    feedback: str | None = None
    by_grant: GrantId | None = None


async def put(opened: Journal, call: CallRow, ask: AskId, request: int, body: PermissionRequest) -> AskRow:
    """Open an ask for a call."""
    digest = call.digest or ""
    opened.write(
        _QUERIES.put,
        id=ask,
        session=opened.session,
        turn=call.turn,
        call=call.id,
        revision=call.revision,
        request=request,
        body=dumps(body.model_dump(mode="json")),
        digest=digest,
    )
    opened.record(AskRaised(ask=ask, call=call.id, permission=body.permission, digest=digest))
    return await lock(opened, ask)


async def of_call(opened: Journal, call: PartId) -> list[AskRow]:
    """All asks that there were for a call; answered are those that the log has an answer to."""
    return [_explained(opened, row) for row in await opened.rows(_QUERIES.of_call, call=call)]


def counting(known: list[AskRow], call: CallRow) -> list[AskRow]:
    """The asks that count for the call as it stands: its loop guard's, and those of its present revision."""
    return [ask for ask in known if ask.revision == call.revision or (ask.request == GUARD and ask.by_grant is None)]


async def open_of_session(opened: Journal) -> list[AskRow]:
    return [ask_row(row) for row in await opened.rows(_QUERIES.open_of_session, session=opened.session)]


async def lock(opened: Journal, ask: AskId) -> AskRow:
    """An ask, locked until the transaction ends. Raises NotFound."""
    row = await opened.row(_QUERIES.lock, ask=ask)
    if row is None:
        raise unknown(ask)
    return _explained(opened, row)


async def session_of(database: Database, ask: AskId) -> SessionId:
    """The session that an ask belongs to. Raises NotFound."""
    found = await database.rows(_QUERIES.find, ask=ask)
    if not found:
        raise unknown(ask)
    return SessionId(found[0]["session"])


def answer(
    opened: Journal, ask: AskRow, decided: Answer, actor: Actor | None = None, *, delivered: bool = False
) -> None:
    """Settle an open ask by an answer; `delivered`: whoever asked gets it from us, and needs no signal."""
    feedback = seal(decided.feedback) if decided.feedback else None
    seq = opened.record(
        AskAnswered(
            ask=ask.id,
            call=ask.call,
            reply=decided.reply,
            digest=ask.digest,
            by_grant=decided.by_grant,
            feedback_seal=feedback.seal if feedback else None,
        ),
        actor,
    )
    opened.write(
        _QUERIES.answer,
        ask=ask.id,
        reply=decided.reply,
        feedback=feedback.content if feedback else None,
        salt=feedback.salt if feedback else None,
        grant=decided.by_grant,
        author=(actor or opened.actor).subject,
        delivered=delivered,
        seq=seq,
    )


def _explained(opened: Journal, row: dict[str, Any]) -> AskRow:
    """The ask of a row. An answer that only the row has, and not the log, lets no call run: the ask is open again.

    A call that was claimed has been decided; its asks stay as they are.
    """
    ask = ask_row(row)
    if row["call_state"] != CallState.PREPARED:
        return ask
    logged = [record(bytes(row["answer"]))] if row["answer"] else [told for told, _ in opened.records]
    if ask.state is not AskState.ANSWERED or any(_is_answer(told, ask) for told in logged):
        return ask
    _LOG.warning("the row of ask %s says that it was answered, and the log has no such answer", ask.id)
    opened.write(_QUERIES.reopen, ask=ask.id)
    opened.record(AskReopened(ask=ask.id, call=ask.call))
    unanswered = dict.fromkeys(("reply", "feedback", "by_grant", "author", "settled_at"))
    return ask.model_copy(update={"state": AskState.OPEN, **unanswered})


def _is_answer(told: Record, ask: AskRow) -> bool:
    """Whether an event is the answer that the row of an ask tells of."""
    event = told.event
    return isinstance(event, AskAnswered) and (
        (event.ask, event.call, event.digest) == (ask.id, ask.call, ask.digest)
        and (event.reply, event.by_grant, told.actor.subject) == (ask.reply, ask.by_grant, ask.author)
    )


async def close_open_of_turn(opened: Journal, turn: TurnId, reason: str) -> None:
    """Close what still waits in a turn that ends; say of answers that came too late that they did not run."""
    for row in await opened.rows(_QUERIES.open_of_turn, turn=turn):
        close(opened, ask_row(row), reason)
    for row in await opened.rows(_QUERIES.not_run, turn=turn):
        opened.record(AnswerNotRun(ask=row["id"], call=row["call"]))


def close(opened: Journal, ask: AskRow, reason: str) -> None:
    """Close an open ask without an answer."""
    opened.write(_QUERIES.close, ask=ask.id, reason=reason)
    opened.record(AskClosed(ask=ask.id, call=ask.call, reason=reason))


def unknown(ask: AskId) -> NotFound:
    return NotFound(f"There is no ask {ask!r}. `holdfast asks` lists what waits for an answer.")


def ask_row(row: dict[str, Any]) -> AskRow:
    """A row as a value."""
    return AskRow.model_validate({name: row[name] for name in AskRow.model_fields})
