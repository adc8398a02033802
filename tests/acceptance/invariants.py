"""The invariants of reliability.md 4: they return what the records of a trial violate."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any, Final

from activities.calls.effect import prompt_of_call
from activities.store.journal import WORKER
from activities.store.stops import stop_of_call
from tests.acceptance import workflow_histories
from tests.acceptance.effect_ledger import EffectMoment, token_of
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.harness import failed_tasks
from worker.scripted.request_ledger import StreamEnd
from workflows.domain.effects import Recovery
from workflows.domain.errors import Conflict
from workflows.domain.events.asks import AnswerRefused, AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallClaimed, CallDrifted, CallFinished, CallPrepared
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskSettled, TaskStarted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, ToolPart, UserMessage
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import PromptContent
from workflows.domain.views.accepted import AcceptedAnswer

_UNASKED: Final = ("invalid", "todowrite")  # tools without an effect outside the session need no ask
LIVENESS: Final = timedelta(seconds=5)  # beyond the heartbeat's timeout, after a fault has healed


@dataclass(frozen=True)
class Violation:
    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


def violations(trial: TrialRecords) -> list[Violation]:
    """All violations."""
    of_trial = [Violation(name, what) for name, check in OF_TRIALS for what in check(trial)]
    of_sessions = [
        Violation(name, f"{session.session}: {what}")
        for session in trial.sessions
        for name, check in OF_SESSIONS
        for what in check(session, trial)
    ]
    return of_trial + of_sessions


def lost_or_invented(trial: TrialRecords) -> Iterator[str]:
    """I1: everything acknowledged is in the log once, and nothing that was not sent."""
    logged: Counter[str] = Counter()
    for record in (record for session in trial.sessions for record in session.log):
        logged.update(_said(record))
    logged -= Counter(_stops_of_tasks(trial))
    sent = trial.sent
    acknowledged = {f"prompt {each.id}" for each in sent.prompts if each.got}
    acknowledged |= {f"prompt {prompt}" for prompt in _handed_on(trial) | _given_by_calls(trial)}
    acknowledged |= {f"stop {each.id}" for each in sent.stops if each.got}
    acknowledged |= {f"answer {ask}" for each in sent.answers if each.got for ask in _settled(each.got)}
    uncertain = {f"prompt {each.id}" for each in sent.prompts if each.uncertain}
    uncertain |= {f"stop {each.id}" for each in sent.stops if each.uncertain}
    uncertain |= {f"answer {each.id}" for each in sent.answers if each.uncertain}
    yield from (f"{what} was acknowledged and is not in the log" for what in acknowledged - set(logged))
    yield from (f"{what} is in the log and was never sent" for what in set(logged) - acknowledged - uncertain)
    yield from (f"{what} is in the log {times} times" for what, times in logged.items() if times > 1)


def unasked(trial: TrialRecords) -> Iterator[str]:
    """I4: each effect has a call of the trial's sessions."""
    asked = {token for session in trial.sessions for _, token in _with_effects(session)}
    yield from (f"nobody asked for the effect {token}" for token in {line.token for line in trial.effects} - asked)


def conversation(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I1: what was taken stands in the transcript once, word for word; at rest nothing is left over."""
    texts = {each.id: each.said for each in trial.sent.prompts} | _handed_on(trial) | _given_by_calls(trial)
    shown = [message for message in session.transcript if isinstance(message, UserMessage)]
    taken = [event.prompt for event in session.events if isinstance(event, PromptTaken)]
    withdrawn = [event.prompt for event in session.events if isinstance(event, PromptWithdrawn)]
    accepted = [event.prompt for event in session.events if isinstance(event, PromptAccepted)]
    if sorted(message.id for message in shown) != sorted(taken):
        yield f"prompts taken {taken}, prompts in the transcript {[message.id for message in shown]}"
    written = {message.id: PromptContent(parts=message.parts).text for message in shown}
    yield from (f"prompt {id} was changed" for id, text in written.items() if text != texts.get(id))
    if session.resting and sorted(taken + withdrawn) != sorted(accepted):
        yield f"prompts accepted {accepted}, taken {taken}, withdrawn {withdrawn}"


def repeated(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I2: no effect begins twice, and no call has two subagents."""
    started = Counter(event.call for event in session.events if isinstance(event, TaskStarted))
    yield from (f"call {call} has begun {times} subagents" for call, times in started.items() if times > 1)
    for call, token in _with_effects(session):
        starts = _times(trial, token, EffectMoment.START)
        if starts > 1:
            yield f"call {call.id} began its effect {token} {starts} times"


def untruthful(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I3: a success has one completed effect, a failure none or a part; only what cannot be known is unknown."""
    for call, token in _with_effects(session):
        seen = _times(trial, token, EffectMoment.START), _times(trial, token, EffectMoment.END)
        match call.state:
            case CallState.DONE if seen != (1, 1):
                yield f"call {call.id} is done, and its effect {token} was begun and completed {seen} times"
            case CallState.REFUSED if seen != (0, 0):
                yield f"call {call.id} was refused, and its effect {token} has begun"
            case CallState.FAILED | CallState.CANCELLED if seen[1]:
                yield f"call {call.id} is {call.state}, and its effect {token} is complete"
    unknowable = set(_unknowable(session))
    for call in session.calls:
        if call.state is CallState.UNKNOWN and call.id not in unknowable:
            yield f"call {call.id} is unknown: what it has done can be known on its own machine"
        if session.resting and not call.state.settled:
            yield f"call {call.id} has no outcome"


def undecided(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I4: before an effect stands the claim, with the decision and the digest of its subject."""
    claims = {claim.call: record for record in reversed(session.log) if (claim := _claim(record.event))}
    done = {event.call for event in session.events if isinstance(event, CallFinished) and event.state == "done"}
    yield from (f"call {call} is done and was never claimed" for call in done - set(claims))
    for record in claims.values():
        yield from _unfounded(session, record.seq)
    begun = {line.token: line.at for line in trial.effects if line.moment is EffectMoment.START}
    for call, token in _with_effects(session):
        claimed = claims.get(call.id)
        if token in begun and (claimed is None or datetime.fromisoformat(claimed.at) > begun[token]):
            yield f"effect {token} of call {call.id} began before its claim"


def _unfounded(session: SessionRecords, seq: int) -> Iterator[str]:
    """Check a claim's decisions against the events before it."""
    *before, claim = session.events[:seq]
    assert isinstance(claim, CallClaimed)
    answers = {event.ask: event for event in before if isinstance(event, AskAnswered)}
    looked_at = [each for each in before if isinstance(each, CallPrepared | CallDrifted)]
    digests = [each.digest for each in looked_at if each.call == claim.call]
    tools = {event.call: event.tool for event in before if isinstance(event, CallPrepared)}
    if not digests or digests[-1] != claim.digest:
        yield f"call {claim.call} was claimed for another effect than the one it was judged by"
    if not claim.decisions and tools[claim.call] not in _UNASKED:
        yield f"call {claim.call} was claimed without a decision"
    for decision in claim.decisions:
        answer = answers.get(decision.ask) if decision.ask else None
        if decision.by == "answer" and (answer is None or answer.reply == "reject" or answer.digest != claim.digest):
            yield f"call {claim.call} was claimed by an answer that nobody gave: {decision.ask}"


def decided_twice(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I5: an ask ends once; a person's result of an answer is what the log says."""
    ended = Counter(event.ask for event in session.events if isinstance(event, AskAnswered | AskClosed))
    refused = Counter(event.ask for event in session.events if isinstance(event, AnswerRefused))
    for event in session.events:
        if isinstance(event, AskRaised) and ended[event.ask] != 1 and (session.resting or ended[event.ask]):
            yield f"ask {event.ask} has ended {ended[event.ask]} times"
    asked = {event.ask for event in session.events if isinstance(event, AskRaised)}
    told = Counter(each.id for each in trial.sent.answers if isinstance(each.error, Conflict) and each.id in asked)
    for ask in asked:
        if told[ask] != refused[ask]:
            yield f"{refused[ask]} answers to {ask} were refused in the log, {told[ask]} persons were told so"
    decided = {event.ask: event.reply for event in session.events if isinstance(event, AskAnswered)}
    for answer in trial.sent.answers:
        if answer.got and answer.id in asked and decided.get(answer.got.ask.id) != answer.got.ask.reply:
            yield f"a person was told that {answer.id} was answered {answer.got.ask.reply}"


def torn_messages(session: SessionRecords, _: TrialRecords) -> Iterator[str]:
    """I7: the hash chain verifies; finished activities and events correspond; no task has failed."""
    if session.verified.problem:
        yield session.verified.problem
    ran = list(workflow_histories.activities(session.runs))
    logged = {name for event in session.events if (name := workflow_histories.event_key(event))}
    yield from (
        f"{name} is missing in the log"
        for each in ran
        if (name := workflow_histories.promised_event(each)) not in logged | {None}
    )
    caused = set(map(workflow_histories.caused_event, ran))
    closed = {each.request.get("turn") for each in ran if each.name == "holdfast.turns.close"}
    for event in session.events:
        name = workflow_histories.event_key(event)
        by_close = isinstance(event, CallFinished) and _turn_of(session, event.call) in closed
        if name is not None and name not in caused and not by_close:
            yield f"{name} is in the log, and no activity was scheduled for it"
    yield from (f"a workflow task failed: {why}" for run in session.runs for why in failed_tasks(run))


def leftovers(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I9: serving workers take every accepted prompt up."""
    balance = Counter(event.type for event in session.events)
    if not trial.served or session.resting or balance["turn.opened"] > balance["turn.ended"]:
        return
    settled = {e.prompt for e in session.events if isinstance(e, PromptTaken | PromptWithdrawn)}
    for event in session.events:
        if isinstance(event, PromptAccepted) and event.prompt not in settled:
            yield f"prompt {event.prompt} was accepted, and nobody takes it up"


def slow_recovery(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I9: an open turn that waits for no person goes on soon after a worker is back."""
    for moment in trial.healed:
        before = [record.event for record in session.log if datetime.fromisoformat(record.at) <= moment]
        later = [datetime.fromisoformat(record.at) for record in session.log[len(before) :]]
        took = later[0] - _due(before, moment) if _works(before) and later else timedelta()
        if took > trial.patience:
            yield f"went on {took.total_seconds():.1f} s after a worker served"


def answered_twice(session: SessionRecords, _: TrialRecords) -> Iterator[str]:
    """I12: each step of a turn, and each generation beside it, has at most one answer."""
    stored = [event for event in session.events if isinstance(event, MessageCompleted)]
    answers = Counter((event.turn, event.step) if event.turn else event.generation for event in stored)
    yield from (f"step {step} was answered {times} times" for step, times in answers.items() if times > 1)


def spending(trial: TrialRecords) -> Iterator[str]:
    """I8: the model's requests are the stored answers and the faults' cost."""
    answers = [event for session in trial.sessions for event in session.events if isinstance(event, MessageCompleted)]
    if len(trial.requests) > len(answers) + trial.wasted:
        yield f"{len(trial.requests)} requests for {len(answers)} answers, {trial.wasted} may be lost"


def two_drivers(trial: TrialRecords) -> Iterator[str]:
    """I12: no two complete requests of one conversation overlap."""
    complete = [entry for entry in trial.requests if entry.end is StreamEnd.COMPLETE]
    for one, other in combinations(complete, 2):
        if one.messages == other.messages and one.began < other.ended and other.began < one.ended:
            yield f"requests {one.n} and {other.n} are the same, and were answered at the same time"


def malformed(trial: TrialRecords) -> Iterator[str]:
    """I6: every conversation sent to a model is valid."""
    yield from (f"the model refused request {entry.n}" for entry in trial.requests if entry.end is StreamEnd.MALFORMED)


def unclean(trial: TrialRecords) -> Iterator[str]:
    """I10: nothing is left that should be gone."""
    yield from trial.left


def disturbed(trial: TrialRecords) -> Iterator[str]:
    """I11: a session beside a fault ends as it does alone."""
    for beside, alone in trial.bystanders:
        if _course(beside) != _course(alone):
            yield f"{beside.session} came to {_course(beside)}, which alone comes to {_course(alone)}"


def _course(session: SessionRecords) -> list[Any]:
    """What came of a session, without ids and times."""
    said = [
        message.text
        if isinstance(message, UserMessage)
        else [part.model_dump(exclude={"id", "provider_id"}) for part in message.parts]
        for message in session.transcript
    ]
    return [*said, *(event.reason for event in session.events if isinstance(event, TurnEnded))]


def _unknowable(session: SessionRecords) -> Iterator[PartId]:
    """Calls whose tool leaves no trace, and that a second attempt or a stop has found begun."""
    once = {e.call for e in session.events if isinstance(e, CallPrepared) and e.recovery == Recovery.ONCE}
    hit = {e.call for e in session.events if isinstance(e, CallClaimed) and e.recovered}
    stopped = {e.turn for e in session.events if isinstance(e, StopAccepted)}
    yield from (call for call in once if call in hit or _turn_of(session, call) in stopped)


def _handed_on(trial: TrialRecords) -> dict[str, str]:
    """The prompts for subagents, with the text in their calls."""
    return {
        event.prompt: str(call.arguments["prompt"])
        for session in trial.sessions
        for event in session.events
        for call in session.calls
        if isinstance(event, TaskStarted) and event.call == call.id
    }


def _given_by_calls(trial: TrialRecords) -> dict[str, str]:
    """The prompts of calls for their own sessions, as they are shown: the results of background tasks, which must come
    once each, and what a plan hands on."""
    found: dict[str, str] = {}
    for session in trial.sessions:
        shown = {each.id: each.text for each in session.transcript if isinstance(each, UserMessage)}
        ours = (record.event for record in session.log if record.actor == WORKER)
        accepted = [event for event in ours if isinstance(event, PromptAccepted)]
        due = {event.call for event in session.events if isinstance(event, TaskStarted) and event.background}
        results = {event.task: event.prompt for event in accepted if event.task in due}
        done = {prompt_of_call(call.id) for call in session.calls if call.state is CallState.DONE}
        given = {event.prompt for event in accepted} & done
        given |= {results.get(call, prompt_of_call(call)) for call in due}
        found |= {prompt: shown.get(prompt, "") for prompt in given}
    return found


def _stops_of_tasks(trial: TrialRecords) -> Iterator[str]:
    """Of tasks in the background, once each: a person who stops their parent stops them."""
    for event in (event for session in trial.sessions for event in session.events):
        if isinstance(event, TaskStarted) and event.background:
            yield f"stop {stop_of_call(event.call)}"


def _said(record: EventRecord) -> Iterator[str]:
    """A person's request in the log, or a call's to its subagent; not what follows from a grant, or a subagent's stop
    from its parent's."""
    match record.event:
        case StopAccepted() if record.actor == WORKER:
            return
        case PromptAccepted(prompt=prompt):
            yield f"prompt {prompt}"
        case StopAccepted(stop=stop):
            yield f"stop {stop}"
        case AskAnswered(ask=ask, by_grant=None):
            yield f"answer {ask}"


def _settled(answer: AcceptedAnswer) -> Iterator[str]:
    """The asks settled by a person's answer: a reject also settles the session's others."""
    yield answer.ask.id
    if answer.ask.reply is Reply.REJECT:
        yield from (ask for ask in answer.asks if ask != answer.ask.id)


def _with_effects(session: SessionRecords) -> Iterator[tuple[ToolPart, str]]:
    for call in session.calls:
        token = token_of(call)
        if token is not None:
            yield call, token


def _times(trial: TrialRecords, token: str, moment: EffectMoment) -> int:
    return sum((line.token, line.moment) == (token, moment) for line in trial.effects)


def _claim(event: Event) -> CallClaimed | None:
    """A first claim; those that take one over carry no decision."""
    return event if isinstance(event, CallClaimed) and not event.recovered else None


def _turn_of(session: SessionRecords, call: PartId) -> str | None:
    prepared = [event for event in session.events if isinstance(event, CallPrepared) and event.call == call]
    return prepared[0].turn if prepared else None


def _works(before: Sequence[Event]) -> bool:
    """Whether a turn is open after these events, and waits for no person, subagent or moment."""
    balance = Counter(event.type for event in before)
    asks = balance["ask.raised"] - balance["ask.answered"] - balance["ask.closed"]
    parks = balance["session.suspended"] - balance["suspension.ended"]
    subagents = {event.call for event in before if isinstance(event, TaskStarted) and not event.background}
    subagents -= {event.call for event in before if isinstance(event, TaskSettled)}
    waits = balance["wait.begun"] - balance["wait.ended"]
    return balance["turn.opened"] > balance["turn.ended"] and not (asks or parks or subagents or waits)


def _due(before: Sequence[Event], moment: datetime) -> datetime:
    """When a session should go on: not before the end of a pause that its provider asked for."""
    newest = before[-1]
    return max(moment, datetime.fromisoformat(newest.next_at)) if isinstance(newest, ModelRetry) else moment


OF_TRIALS: Final = (
    ("I1", lost_or_invented),
    ("I4", unasked),
    ("I6", malformed),
    ("I8", spending),
    ("I10", unclean),
    ("I11", disturbed),
    ("I12", two_drivers),
)
OF_SESSIONS: Final = (
    ("I1", conversation),
    ("I2", repeated),
    ("I3", untruthful),
    ("I4", undecided),
    ("I5", decided_twice),
    ("I7", torn_messages),
    ("I9", leftovers),
    ("I9", slow_recovery),
    ("I12", answered_twice),
)
