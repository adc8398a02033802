"""Answers an ask, with all that follows, in one transaction."""

from datetime import UTC, datetime
from typing import NamedTuple

from activities.new_ids import new_id
from activities.store import asks, grants, turn_configs, turns
from activities.store.asks import AskAnswer, AskRow
from activities.store.database import Database
from activities.store.journal import Journal, session_journal
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.events.asks import AnswerRefused
from workflows.domain.ids import AskId, GrantId, Prefix, SessionId
from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.permissions.replies import (
    AskDecision,
    AskState,
    Reply,
    covering_grant,
    decision_problem,
)
from workflows.domain.permissions.requests import PermissionAsk
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import QuestionRequest
from workflows.domain.turn_questions import AGAIN, END, read_overflow_choice
from workflows.domain.views.accepted import AcceptedAnswer, SettledAsk

GRANT_ACTOR = "grant"
_TURN_ENDED = "the turn ended by the rejection of another call"


class _Refusal(NamedTuple):
    """`reason` is logged; `problem` may quote the answer: only the person sees it."""

    reason: str
    problem: str = ""


async def answer_ask(database: Database, ask: AskId, decision: AskDecision, actor: Actor) -> AcceptedAnswer:
    """Settle an open ask, once; the same decision again returns the first record.

    Raises NotFound; Conflict, recorded as an event, when the ask is settled otherwise, its turn is stopped, its session
    has ended, the effect is not the one shown, or an "always" has nothing to save.
    """
    session = await asks.session_of(database, ask)
    async with session_journal(database, session, actor) as journal:
        row = await asks.lock(journal, ask)
        if _is_repetition(row, decision):
            return AcceptedAnswer(ask=_settled(row), asks=(row.id,), repeated=True)
        rules = await _rules_of_turn(journal, row)
        refused = _refusal(row, decision, rules, await turns.why_over(journal, row.turn))
        refused = refused or await _model_refusal(journal, row, decision)
        if refused is None:
            settled = await _settle(journal, row, decision, rules)
        else:
            journal.record(AnswerRefused(ask=ask, reply=decision.reply, reason=refused.reason))
    if refused is not None:
        raise Conflict(" ".join(filter(None, refused)))
    return settled


async def answer_covered_asks(database: Database, session: SessionId) -> tuple[AskId, ...]:
    """Answer the session's open asks that live grants cover."""
    async with session_journal(database, session, Actor(subject=GRANT_ACTOR, method="grant")) as journal:
        waiting = await asks.open_of_session(journal)
        if not waiting or await turns.why_over(journal, waiting[0].turn) is not None:
            return ()
        return await answer_covered(journal, waiting, await _rules_of_turn(journal, waiting[0]))


async def answer_covered(
    journal: Journal, waiting: list[AskRow], rules: Rulesets, *, notify: bool = True
) -> tuple[AskId, ...]:
    """Answer those of these asks that live grants cover wholly. Without `notify`, the caller tells the workflow."""
    live = await grants.list_live(journal)
    found = [(ask, covering_grant(ask.body, rules, live)) for ask in waiting if isinstance(ask.body, PermissionAsk)]
    covered = [(ask, grant) for ask, grant in found if grant is not None]
    for ask, grant in covered:
        author = Actor(subject=grant.author, method="grant")
        asks.answer(journal, ask, AskAnswer(reply=Reply.ALWAYS, by_grant=grant.id), author, notify=notify)
    return tuple(ask.id for ask, _ in covered)


async def apply_project_grant(database: Database, grant: GrantId) -> list[SessionId]:
    """One transaction per session; returns those with answers. The sweeper repeats it: an ask may just be being
    opened."""
    reached = await grants.waiting_sessions(database, grant)
    return [session for session in reached if await answer_covered_asks(database, session)]


async def _settle(journal: Journal, row: AskRow, decision: AskDecision, rules: Rulesets) -> AcceptedAnswer:
    saved = _save_grants(journal, row, decision.scope, rules) if decision.reply is Reply.ALWAYS else ()
    decided = AskAnswer(reply=decision.reply, feedback=decision.feedback, answers=decision.answers)
    asks.answer(journal, row, decided)
    if isinstance(row.body, QuestionRequest) and row.call is None:
        from activities.session import limit_answers  # start-up time: most asks are a call's

        await limit_answers.apply(journal, row, row.body, decision)
    also_settled: tuple[AskId, ...] = ()
    if decision.reply is Reply.REJECT and not decision.feedback:
        also_settled = await _close_others(journal, row)
    elif saved:
        also_settled = await answer_covered(journal, await asks.open_of_session(journal), rules)
    return AcceptedAnswer(ask=_settled(await asks.lock(journal, row.id)), asks=(row.id, *also_settled), grants=saved)


def _settled(row: AskRow) -> SettledAsk:
    return SettledAsk.model_validate(row, from_attributes=True)


def _save_grants(journal: Journal, row: AskRow, scope: GrantScope, rules: Rulesets) -> tuple[Grant, ...]:
    """One for each request of which something may be saved: a grant silences only the rules that asked about it."""
    requests = row.body.requests if isinstance(row.body, PermissionAsk) else ()
    saved = tuple(
        Grant(
            id=GrantId(new_id(Prefix.GRANT)),
            permission=request.permission,
            patterns=patterns,
            scope=scope,
            author=journal.actor.subject,
            time=datetime.now(UTC),
            asked=rules.asked_rules(request),
        )
        for request in requests
        if (patterns := rules.savable_patterns(request))
    )
    for grant in saved:
        grants.store(journal, grant, row.id)
    return saved


async def _close_others(journal: Journal, row: AskRow) -> tuple[AskId, ...]:
    """A reject without a word ends the turn, and with it the session's other asks, unless the turn goes on all the
    same."""
    turn_status = await turns.turn_status(journal, row.turn)
    if (await turns.turn_config(journal, turn_status.turn_config)).config.experimental.continue_loop_on_deny:
        return ()
    others = await asks.open_of_session(journal)
    for ask in others:
        asks.close(journal, ask, _TURN_ENDED)
    return tuple(ask.id for ask in others)


async def _rules_of_turn(journal: Journal, row: AskRow) -> Rulesets:
    turn_status = await turns.turn_status(journal, row.turn)
    return (await turn_configs.rules(journal, [turn_status.turn_config]))[turn_status.turn_config]


async def _model_refusal(journal: Journal, row: AskRow, decision: AskDecision) -> _Refusal | None:
    """That the model which is to take over a turn cannot be asked."""
    if not isinstance(row.body, QuestionRequest) or not row.body.questions[0].model:
        return None
    from activities.model.providers import check_model  # start-up time: most asks are a call's

    choice, turn = read_overflow_choice(decision), await turns.turn_status(journal, row.turn)
    try:
        if choice not in (AGAIN, END):
            check_model(choice, (await turns.turn_config(journal, turn.turn_config)).config)
    except UsageError as error:
        return _Refusal(f"This does not answer ask {row.name}.", str(error))
    return None


def _is_repetition(row: AskRow, decision: AskDecision) -> bool:
    decided = (decision.reply, decision.feedback, decision.answers)
    same = (row.reply, row.feedback, row.answers) == decided
    # The first answer may have had a narrower scope.
    wider = decision.reply is Reply.ALWAYS and decision.scope is not GrantScope.SESSION
    return row.state is AskState.ANSWERED and row.by_grant is None and same and not wider


def _refusal(row: AskRow, decision: AskDecision, rules: Rulesets, over: str | None) -> _Refusal | None:
    if row.state is AskState.CLOSED:
        return _Refusal(f"The ask {row.name} was closed before your answer: {row.reason}.")
    if row.state is AskState.ANSWERED:
        when = f"{row.settled_at:%Y-%m-%d %H:%M:%S %Z}" if row.settled_at else "before"
        how = "" if row.reply is Reply.ANSWER else f" {row.reply!s}"
        return _Refusal(f"The ask {row.name} was already answered{how} by {row.author} ({when}).")
    if over is not None:
        return _Refusal(f"The ask {row.name} waits for no answer any more: {over}.")
    if decision.digest is not None and decision.digest != row.digest:
        return _Refusal(
            f"What ask {row.name} is about is not what you saw (digest {decision.digest[:12]}, now {row.digest[:12]}). "
            "Look at it again with `holdfast asks`."
        )
    if (problem := decision_problem(row.body, decision)) is not None:
        return _Refusal(f"This does not answer ask {row.name}.", problem)
    savable = rules.savable(row.body) if isinstance(row.body, PermissionAsk) else ()
    if decision.reply is Reply.ALWAYS and not savable:
        return _Refusal(f"Nothing of ask {row.name} may be saved as a grant; answer it with `once` or `reject`.")
    return None
