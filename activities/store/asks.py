"""Asks: the row is the arbiter. It is open, then answered or closed, once."""

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from activities.store.database import Database, dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.actor import Actor
from workflows.domain.call_state import CallState
from workflows.domain.errors import NotFound
from workflows.domain.events.asks import AnswerNotRun, AskAnswered, AskClosed, AskRaised, AskReopened
from workflows.domain.hash_chain import salted_hash
from workflows.domain.ids import AskId, GrantId, PartId, SessionId, TurnId
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.permissions.requests import PermissionAsk
from workflows.domain.questions import PERMISSION, Answers, AskBody, AskKind, QuestionRequest
from workflows.domain.value import Value
from workflows.domain.wake_signal import WakeKind

if TYPE_CHECKING:  # start-up time of commands
    from activities.store.calls import CallRow
    from workflows.domain.events.event import Event

_LOG: Final = logging.getLogger("holdfast.store")
_QUERIES: Final = Queries("asks")


class AskRow(Value):
    """Permission requests or the questions of a call, and the answer; `name`: its short one. `requests`: their indices
    in the call's plan (-1: the loop guard's). Without a call, the turn asks how it is to go on; at a limit of a
    `budget` (`at_limit`: which) until `lapses_at`, when its day is over. `lapsed`: by the database's clock it is; known
    of an ask that is read by itself."""

    id: AskId
    name: str
    session: SessionId
    turn: TurnId
    call: PartId | None
    budget: str | None = None
    at_limit: str | None = None
    lapses_at: datetime | None = None
    lapsed: bool = False
    revision: int
    requests: tuple[int, ...]
    kind: AskKind
    body: AskBody
    digest: str
    state: AskState
    reply: Reply | None = None
    feedback: str | None = None
    answers: Answers | None = None
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

    @property
    def only_guards(self) -> bool:
        """Whether it asks for nothing but the loop guard, whatever the effect is."""
        return self.requests == (GUARD_REQUEST,)


class AskAnswer(Value):
    """A decision by a person or a grant."""

    reply: Reply
    feedback: str | None = None
    answers: Answers | None = None
    by_grant: GrantId | None = None


async def create(journal: Journal, call: "CallRow", ask: AskId, requests: tuple[int, ...], body: AskBody) -> AskRow:
    owner = {"turn": call.turn, "call": call.id, "revision": call.revision, "requests": list(requests)}
    owner |= {"budget": None, "at_limit": None, "rest": None}
    _insert(journal, ask, body, call.digest or "", **owner)
    return await lock(journal, ask)


def create_of_turn(
    journal: Journal, turn: TurnId, ask: AskId, question: QuestionRequest, digest: str, rest: float | None = None
) -> None:
    """`rest`: seconds after which the turn goes on without an answer."""
    limit = {
        "budget": question.budget,
        "at_limit": question.limit and f"{question.limit} {question.amount}",
        "rest": rest,
    }
    _insert(journal, ask, question, digest, turn=turn, call=None, revision=0, requests=[], **limit)


def _insert(journal: Journal, ask: AskId, body: AskBody, digest: str, **owner: Any) -> None:
    journal.write(
        _QUERIES.insert,
        id=ask,
        session=journal.session,
        **owner,
        kind=AskKind.QUESTION if isinstance(body, QuestionRequest) else AskKind.PERMISSION,
        body=dumps(body.model_dump(mode="json")),
        digest=digest,
    )
    permissions = tuple(each.permission for each in body.requests) if isinstance(body, PermissionAsk) else (PERMISSION,)
    journal.record(AskRaised(ask=ask, call=owner["call"], permissions=permissions, digest=digest))


async def newest_of_turn(journal: Journal, turn: TurnId) -> AskRow | None:
    """The newest ask of a turn, not of its calls, locked. As in `of_call`."""
    row = await journal.row(_QUERIES.newest_of_turn, turn=turn)
    return _checked_against_log(journal, row) if row else None


async def answered_at_limit(journal: Journal, budget: str, at_limit: str, turn: TurnId) -> AskRow | None:
    """The newest answer at a limit of a budget since the turn began, in any session, if that one's log has it. None is
    missed while the budget is locked: an answer locks it, too."""
    row = await journal.row(_QUERIES.answered_at_limit, budget=budget, at_limit=at_limit, turn=turn)
    ask = ask_row(row) if row else None
    return ask if ask is not None and row and _is_logged(journal, row, ask) else None


async def of_call(journal: Journal, call: PartId) -> list[AskRow]:
    """All asks of a call, locked. An answer that is not in the log reopens its ask."""
    return [_checked_against_log(journal, row) for row in await journal.rows(_QUERIES.of_call, call=call)]


def relevant_to(known: list[AskRow], call: "CallRow") -> list[AskRow]:
    """The asks of the call's present revision; those of earlier ones only answer the loop guard."""
    earlier = (ask for ask in known if ask.revision != call.revision and ask.by_grant is None)
    guards = (ask for ask in earlier if GUARD_REQUEST in ask.requests and ask.state is not AskState.CLOSED)
    narrowed = (ask.model_copy(update={"requests": (GUARD_REQUEST,)}) for ask in guards)
    return [*narrowed, *(ask for ask in known if ask.revision == call.revision)]


async def open_of_session(journal: Journal) -> list[AskRow]:
    return [ask_row(row) for row in await journal.rows(_QUERIES.open_of_session, session=journal.session)]


async def lock(journal: Journal, ask: AskId) -> AskRow:
    """Raises NotFound."""
    row = await journal.row(_QUERIES.lock, ask=ask)
    if row is None:
        raise not_found(ask)
    return _checked_against_log(journal, row)


async def session_of(database: Database, ask: AskId) -> SessionId:
    """Raises NotFound."""
    found = await database.rows(_QUERIES.find, ask=ask)
    if not found:
        raise not_found(ask)
    return SessionId(found[0]["session"])


def answer(
    journal: Journal, ask: AskRow, decided: AskAnswer, actor: Actor | None = None, *, notify: bool = True
) -> None:
    """Without `notify`, the caller returns the answer to the workflow."""
    feedback = seal(decided.feedback) if decided.feedback else None
    answers = seal(decided.answers) if decided.answers is not None else None
    seq = journal.record(
        AskAnswered(
            ask=ask.id,
            call=ask.call,
            reply=decided.reply,
            digest=ask.digest,
            by_grant=decided.by_grant,
            feedback_seal=feedback.seal if feedback else None,
            answers_seal=answers.seal if answers else None,
        ),
        actor,
    )
    journal.write(
        _QUERIES.answer,
        ask=ask.id,
        reply=decided.reply,
        feedback=feedback.content if feedback else None,
        salt=feedback.salt if feedback else None,
        answers=answers.content if answers else None,
        answers_salt=answers.salt if answers else None,
        grant=decided.by_grant,
        author=(actor or journal.actor).subject,
        seq=seq,
    )
    if notify:
        journal.notify(WakeKind.ANSWER, ask.id)


def _checked_against_log(journal: Journal, row: dict[str, Any]) -> AskRow:
    ask = ask_row(row)
    if not _is_forged(journal, row, ask):
        return ask
    _report_forged(journal, ask)
    journal.write(_QUERIES.reopen, ask=ask.id)
    unanswered = dict.fromkeys(("reply", "feedback", "answers", "by_grant", "author", "settled_at"))
    return ask.model_copy(update={"state": AskState.OPEN, **unanswered})


def _is_forged(journal: Journal, row: dict[str, Any], ask: AskRow) -> bool:
    """Whether only the row, and not the log, says that it was answered. A claimed call is decided in any case."""
    answered = ask.state is AskState.ANSWERED and row["call_state"] in (CallState.PREPARED, None)
    return answered and not _is_logged(journal, row, ask)


def _report_forged(journal: Journal, ask: AskRow) -> None:
    _LOG.warning("the row of ask %s says that it was answered, and the log has no such answer", ask.id)
    journal.record(AskReopened(ask=ask.id, call=ask.call))


def _is_logged(journal: Journal, row: dict[str, Any], ask: AskRow) -> bool:
    logged = [_logged_answer(row)] if row["answer"] else [(each.event, each.author) for each in journal.recorded]
    return any(_is_answer(event, author, ask, _answers_seal(row)) for event, author in logged)


def _logged_answer(row: dict[str, Any]) -> "tuple[Event, str]":
    """The event of an ask's answer, and its author."""
    from activities.store.events import parse_record  # start-up time of commands: it reads all events

    record = parse_record(bytes(row["answer"]))
    return record.event, record.actor.subject


def _answers_seal(row: dict[str, Any]) -> str | None:
    salt = row["answers_salt"]
    return salted_hash(bytes(salt), dumps(row["answers"]).encode()) if salt is not None else None


def _is_answer(event: "Event", author: str, ask: AskRow, answers_seal: str | None) -> bool:
    return isinstance(event, AskAnswered) and (
        (event.ask, event.call, event.digest) == (ask.id, ask.call, ask.digest)
        and (event.reply, event.by_grant, author) == (ask.reply, ask.by_grant, ask.author)
        and event.answers_seal == answers_seal
    )


async def answers_to(database: Database, call: PartId) -> Answers | None:
    """What a person has answered to a call's questions, if the log confirms it."""
    for row in await database.rows(_QUERIES.answers, call=call):
        ask = ask_row(row)
        if _is_answer(*_logged_answer(row), ask, _answers_seal(row)):
            return ask.answers
    return None


async def any_rejected(journal: Journal, turn: TurnId) -> bool:
    """Whether a person rejected a call of this turn without feedback."""
    rows = await journal.rows(_QUERIES.rejected, turn=turn)
    return any(_is_logged(journal, row, ask_row(row)) for row in rows)


async def close_of_turn(journal: Journal, turn: TurnId, reason: str) -> set[PartId | None]:
    """Close the turn's open asks, and return their calls; record the answers whose calls will not run."""
    rows = await journal.rows(_QUERIES.of_turn, turn=turn)
    for row in rows:
        ask = ask_row(row)
        if forged := _is_forged(journal, row, ask):
            _report_forged(journal, ask)
        if forged or ask.state is AskState.OPEN:
            close(journal, ask, reason)
        elif ask.allowed and row["call_state"] == CallState.PREPARED:
            journal.record(AnswerNotRun(ask=ask.id, call=ask.call))
    return {row["call"] for row in rows if row["state"] == AskState.OPEN}


def close(journal: Journal, ask: AskRow, reason: str) -> None:
    journal.write(_QUERIES.close, ask=ask.id, reason=reason)
    journal.record(AskClosed(ask=ask.id, call=ask.call, reason=reason))


def not_found(ask: AskId) -> NotFound:
    return NotFound(f"There is no ask {ask!r}. `holdfast asks` lists what waits for an answer.")


def ask_row(row: dict[str, Any]) -> AskRow:
    return AskRow.model_validate({name: row[name] for name in AskRow.model_fields.keys() & row.keys()})
