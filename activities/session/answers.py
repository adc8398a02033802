"""Answering an ask: one transaction that settles it, and whatever else the decision settles."""

from datetime import UTC, datetime

from activities.mint import Mint
from activities.store import asks, grants, turns
from activities.store.asks import Answer, AskRow
from activities.store.database import Database
from activities.store.journal import Journal, journal
from workflows.domain.errors import Conflict
from workflows.domain.events import Actor, AnswerRefused
from workflows.domain.ids import AskId, GrantId, Prefix, SessionId
from workflows.domain.permissions.grants import Grant, Scope, asked_rules, savable
from workflows.domain.permissions.replies import OpenAsk, Reply, carried_along, released
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value
from workflows.domain.wire import AskState

RELEASER = "grant"


class Decided(Value):
    """A person's decision: the reply, the digest of the effect that they saw, and what they said to it."""

    reply: Reply
    digest: str | None = None
    feedback: str | None = None
    scope: Scope = Scope.SESSION


class Settled(Value):
    """What an answer settled: the ask itself and those that went with it; `repeated`: it was decided so before."""

    ask: AskRow
    asks: tuple[AskId, ...] = ()
    grant: Grant | None = None
    repeated: bool = False


async def answer(database: Database, ask: AskId, decided: Decided, actor: Actor) -> Settled:
    """Settle an open ask, once.

    The same decision again is accepted with the first record. Raises NotFound; Conflict (and writes an event that
    says so) when the ask is settled otherwise, when its turn was stopped or its session has ended, when the effect is
    not the one that was seen, or when an "always" has nothing that may be saved.
    """
    session = await asks.session_of(database, ask)
    async with journal(database, session, actor) as opened:
        row = await asks.lock(opened, ask)
        if _same(row, decided):
            return Settled(ask=row, asks=(row.id,), repeated=True)
        rules = await _rules(opened, row)
        refused = _refusal(row, decided, rules, await turns.over(opened, row.turn))
        if refused is None:
            settled = await _settle(opened, row, decided, rules)
        else:
            opened.record(AnswerRefused(ask=ask, reply=decided.reply, reason=refused))
    if refused is not None:
        raise Conflict(refused)
    return settled


async def release(database: Database, session: SessionId) -> tuple[AskId, ...]:
    """Answer the session's open asks that the live grants cover: how a project's grant reaches other sessions."""
    async with journal(database, session, Actor(subject=RELEASER, method="grant")) as opened:
        waiting = await asks.open_of_session(opened)
        if not waiting or await turns.over(opened, waiting[0].turn) is not None:
            return ()
        return await _release(opened, waiting, await _rules(opened, waiting[0]))


async def spread(database: Database, grant: GrantId) -> list[tuple[SessionId, AskId]]:
    """Let a grant for a project answer the open asks of its sessions, one transaction for each; what has to be rung.

    An ask that is just being opened may be missed: the sweeper does it again.
    """
    reached = await grants.reaches(database, grant)
    return [(session, ask) for session in reached for ask in await release(database, session)]


async def _settle(opened: Journal, row: AskRow, decided: Decided, rules: Ruleset) -> Settled:
    grant = await _grant(opened, row, decided, rules) if decided.reply is Reply.ALWAYS else None
    asks.answer(opened, row, Answer(reply=decided.reply, feedback=decided.feedback))
    others = await asks.open_of_session(opened)
    if decided.reply is Reply.REJECT:
        along = await _reject(opened, row.id, others, rules)
    else:
        along = await _release(opened, others, rules) if grant else ()
    return Settled(ask=await asks.lock(opened, row.id), asks=(row.id, *along), grant=grant)


async def _grant(opened: Journal, row: AskRow, decided: Decided, rules: Ruleset) -> Grant:
    grant = Grant(
        id=GrantId(Mint().new(Prefix.GRANT)),
        permission=row.body.permission,
        patterns=savable(row.body, rules),
        scope=decided.scope,
        author=opened.actor.subject,
        time=datetime.now(UTC),
        asked=asked_rules(row.body, rules),
    )
    grants.keep(opened, grant, row.id)
    return grant


async def _reject(opened: Journal, replied: AskId, others: list[AskRow], rules: Ruleset) -> tuple[AskId, ...]:
    """A reject settles the session's other open asks too: rejected, without its feedback."""
    along = carried_along(replied, [OpenAsk(ask.id, ask.body, rules) for ask in others])
    for ask in others:
        if ask.id in along:
            asks.answer(opened, ask, Answer(reply=Reply.REJECT))
    return tuple(along)


async def _release(opened: Journal, waiting: list[AskRow], rules: Ruleset) -> tuple[AskId, ...]:
    found = released([OpenAsk(ask.id, ask.body, rules) for ask in waiting], await grants.live(opened))
    by_id = {ask.id: ask for ask in waiting}
    for ask, grant in found:
        author = Actor(subject=grant.author, method="grant")
        asks.answer(opened, by_id[ask], Answer(reply=Reply.ALWAYS, by_grant=grant.id), author)
        grants.used(opened, grant.id)
    return tuple(ask for ask, _ in found)


async def _rules(opened: Journal, row: AskRow) -> Ruleset:
    standing = await turns.standing(opened, row.turn)
    return (await turns.snapshot(opened, standing.snapshot)).rules


def _same(row: AskRow, decided: Decided) -> bool:
    same = row.reply is decided.reply and row.feedback == decided.feedback
    wider = decided.reply is Reply.ALWAYS and decided.scope is not Scope.SESSION  # which the first may not have been
    return row.state is AskState.ANSWERED and row.by_grant is None and same and not wider


def _refusal(row: AskRow, decided: Decided, rules: Ruleset, over: str | None) -> str | None:
    if row.state is AskState.CLOSED:
        return f"The ask {row.id!r} was closed before your answer: {row.reason}."
    if row.state is AskState.ANSWERED:
        when = f"{row.settled_at:%Y-%m-%d %H:%M:%S %Z}" if row.settled_at else "before"
        return f"The ask {row.id!r} was already answered {row.reply!s} by {row.author} ({when})."
    if over is not None:
        return f"The ask {row.id!r} waits for no answer any more: {over}."
    if decided.digest is not None and decided.digest != row.digest:
        return (
            f"What ask {row.id!r} is about is not what you saw (digest {decided.digest[:12]}, now {row.digest[:12]}). "
            "Look at it again with `holdfast asks`."
        )
    if decided.reply is Reply.ALWAYS and not savable(row.body, rules):
        return f"Nothing of ask {row.id!r} may be saved as a grant; answer it with `once` or `reject`."
    return None
