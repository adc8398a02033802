"""The invariants of reliability.md 4: they take the four records of a trial, and return what is violated."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any, Final

from activities.session.answers import Settled
from activities.store.journal import WORKER
from tests.acceptance import histories
from tests.acceptance.effects import Moment, token_of
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.house import failed_tasks
from worker.scripted.ledger import End
from workflows.domain import events
from workflows.domain.effects import Recovery
from workflows.domain.errors import Conflict
from workflows.domain.events import Event, Record
from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, CallState, ToolPart, UserMessage

_UNASKED: Final = ("invalid", "todowrite")  # tools without an effect outside of the session ask for nothing
LIVENESS: Final = timedelta(seconds=5)  # beyond the heartbeat's timeout, after a fault has healed


@dataclass(frozen=True)
class Violation:
    invariant: str
    what: str


def violations(trial: TrialRecords) -> list[Violation]:
    """Everything that does not hold."""
    of_trial = [Violation(name, what) for name, check in OF_TRIALS for what in check(trial)]
    of_sessions = [
        Violation(name, f"{session.session}: {what}")
        for session in trial.sessions
        for name, check in OF_SESSIONS
        for what in check(session, trial)
    ]
    return of_trial + of_sessions


def lost_or_invented(trial: TrialRecords) -> Iterator[str]:
    """I1: everything acknowledged is in the log once, and nothing is there that was not sent."""
    logged: Counter[str] = Counter()
    for record in (record for session in trial.sessions for record in session.log):
        logged.update(_said(record))
    sent = trial.sent
    acknowledged = {f"prompt {each.id}" for each in sent.prompts if each.got}
    acknowledged |= {f"prompt {prompt}" for prompt in _handed_on(trial)}
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
    texts = {each.id: each.said for each in trial.sent.prompts} | _handed_on(trial)
    shown = [message for message in session.transcript if isinstance(message, UserMessage)]
    taken = [event.prompt for event in session.events if isinstance(event, events.PromptTaken)]
    withdrawn = [event.prompt for event in session.events if isinstance(event, events.PromptWithdrawn)]
    accepted = [event.prompt for event in session.events if isinstance(event, events.PromptAccepted)]
    if sorted(message.id for message in shown) != sorted(taken):
        yield f"prompts taken {taken}, prompts in the transcript {[message.id for message in shown]}"
    yield from (f"prompt {each.id} was changed" for each in shown if each.text != texts.get(each.id))
    if session.resting and sorted(taken + withdrawn) != sorted(accepted):
        yield f"prompts accepted {accepted}, taken {taken}, withdrawn {withdrawn}"


def repeated(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I2: no effect begins twice, and no call has two subagents."""
    started = Counter(event.call for event in session.events if isinstance(event, events.TaskStarted))
    yield from (f"call {call} has begun {times} subagents" for call, times in started.items() if times > 1)
    for call, token in _with_effects(session):
        starts = _times(trial, token, Moment.START)
        if starts > 1:
            yield f"call {call.id} began its effect {token} {starts} times"


def untruthful(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I3: a success has one completed effect, a failure none or a part of one; unknown is only what cannot be known."""
    for call, token in _with_effects(session):
        seen = _times(trial, token, Moment.START), _times(trial, token, Moment.END)
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
    """I4: before an effect stands the claim, with the decision and the digest of what was decided on."""
    claims = {claim.call: record for record in reversed(session.log) if (claim := _claim(record.event))}
    done = {event.call for event in session.events if isinstance(event, events.CallFinished) and event.state == "done"}
    yield from (f"call {call} is done and was never claimed" for call in done - set(claims))
    for record in claims.values():
        yield from _unfounded(session, record.seq)
    begun = {line.token: line.at for line in trial.effects if line.moment is Moment.START}
    for call, token in _with_effects(session):
        claimed = claims.get(call.id)
        if token in begun and (claimed is None or datetime.fromisoformat(claimed.at) > begun[token]):
            yield f"effect {token} of call {call.id} began before its claim"


def _unfounded(session: SessionRecords, seq: int) -> Iterator[str]:
    """What a claim says of its decisions, against the events before it."""
    *before, claim = session.events[:seq]
    assert isinstance(claim, events.CallClaimed)
    answers = {event.ask: event for event in before if isinstance(event, events.AskAnswered)}
    looked_at = [each for each in before if isinstance(each, events.CallPrepared | events.CallDrifted)]
    digests = [each.digest for each in looked_at if each.call == claim.call]
    tools = {event.call: event.tool for event in before if isinstance(event, events.CallPrepared)}
    if not digests or digests[-1] != claim.digest:
        yield f"call {claim.call} was claimed for another effect than the one it was judged by"
    if not claim.decisions and tools[claim.call] not in _UNASKED:
        yield f"call {claim.call} was claimed without a decision"
    for decision in claim.decisions:
        answer = answers.get(decision.ask) if decision.ask else None
        if decision.by == "answer" and (answer is None or answer.reply == "reject" or answer.digest != claim.digest):
            yield f"call {claim.call} was claimed by an answer that nobody gave: {decision.ask}"


def decided_twice(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I5: an ask ends once; what a person was told of their answer is what the log says."""
    ended = Counter(event.ask for event in session.events if isinstance(event, events.AskAnswered | events.AskClosed))
    refused = Counter(event.ask for event in session.events if isinstance(event, events.AnswerRefused))
    for event in session.events:
        if isinstance(event, events.AskRaised) and ended[event.ask] != 1 and (session.resting or ended[event.ask]):
            yield f"ask {event.ask} has ended {ended[event.ask]} times"
    asked = {event.ask for event in session.events if isinstance(event, events.AskRaised)}
    told = Counter(each.id for each in trial.sent.answers if isinstance(each.error, Conflict) and each.id in asked)
    for ask in asked:
        if told[ask] != refused[ask]:
            yield f"{refused[ask]} answers to {ask} were refused in the log, {told[ask]} persons were told so"
    decided = {event.ask: event.reply for event in session.events if isinstance(event, events.AskAnswered)}
    for answer in trial.sent.answers:
        if answer.got and answer.id in asked and decided.get(answer.got.ask.id) != answer.got.ask.reply:
            yield f"a person was told that {answer.id} was answered {answer.got.ask.reply}"


def torn(session: SessionRecords, _: TrialRecords) -> Iterator[str]:
    """I7: the chain verifies; every finished activity has its event, every event its activity; no task has failed."""
    if session.verified.problem:
        yield session.verified.problem
    ran = list(histories.activities(session.runs))
    logged = {name for event in session.events if (name := histories.left(event))}
    yield from (
        f"{name} is missing in the log" for each in ran if (name := histories.promised(each)) not in logged | {None}
    )
    caused = {name for each in ran for name in histories.causes(each)}
    closed = {each.request.get("turn") for each in ran if each.name == "holdfast.turns.close"}
    for event in session.events:
        name = histories.left(event)
        by_close = isinstance(event, events.CallFinished) and _turn_of(session, event.call) in closed
        if name is not None and name not in caused and not by_close:
            yield f"{name} is in the log, and no activity was scheduled for it"
    yield from (f"a workflow task failed: {why}" for run in session.runs for why in failed_tasks(run))


def left_lying(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I9: a prompt that was accepted is taken up by the workers that serve."""
    balance = Counter(event.type for event in session.events)
    if not trial.served or session.resting or balance["turn.opened"] > balance["turn.ended"]:
        return
    settled = {e.prompt for e in session.events if isinstance(e, events.PromptTaken | events.PromptWithdrawn)}
    for event in session.events:
        if isinstance(event, events.PromptAccepted) and event.prompt not in settled:
            yield f"prompt {event.prompt} was accepted, and nobody takes it up"


def slow(session: SessionRecords, trial: TrialRecords) -> Iterator[str]:
    """I9: an open turn that waits for nobody goes on soon after a worker is back."""
    for moment in trial.healed:
        before = [record.event for record in session.log if datetime.fromisoformat(record.at) <= moment]
        later = [datetime.fromisoformat(record.at) for record in session.log[len(before) :]]
        took = later[0] - _due(before, moment) if _works(before) and later else timedelta()
        if took > trial.patience:
            yield f"went on {took.total_seconds():.1f} s after a worker served"


def answered_twice(session: SessionRecords, _: TrialRecords) -> Iterator[str]:
    """I12: each step of a turn has one answer at most."""
    answers = Counter(
        (event.turn, event.step) for event in session.events if isinstance(event, events.MessageCompleted)
    )
    yield from (f"step {step} was answered {times} times" for step, times in answers.items() if times > 1)


def spending(trial: TrialRecords) -> Iterator[str]:
    """I8: what is asked of the model is what is stored, and what the faults have cost."""
    answers = [each for session in trial.sessions for each in session.transcript if isinstance(each, AssistantMessage)]
    if len(trial.requests) > len(answers) + trial.wasted:
        yield f"{len(trial.requests)} requests for {len(answers)} answers, {trial.wasted} may be lost"


def two_drivers(trial: TrialRecords) -> Iterator[str]:
    """I12: no two requests for one conversation are carried to their end side by side."""
    complete = [entry for entry in trial.requests if entry.end is End.COMPLETE]
    for one, other in combinations(complete, 2):
        if one.messages == other.messages and one.began < other.ended and other.began < one.ended:
            yield f"requests {one.n} and {other.n} are the same, and were answered at the same time"


def malformed(trial: TrialRecords) -> Iterator[str]:
    """I6: every conversation that a model was sent is a valid one."""
    yield from (f"the model refused request {entry.n}" for entry in trial.requests if entry.end is End.MALFORMED)


def unclean(trial: TrialRecords) -> Iterator[str]:
    """I10: nothing is left that should be gone."""
    yield from trial.left


def disturbed(trial: TrialRecords) -> Iterator[str]:
    """I11: what ran beside a fault ended as the same does alone."""
    for beside, alone in trial.neighbours:
        if _course(beside) != _course(alone):
            yield f"{beside.session} came to {_course(beside)}, which alone comes to {_course(alone)}"


def _course(session: SessionRecords) -> list[Any]:
    """What a session has come to, without ids and times."""
    said = [
        message.text
        if isinstance(message, UserMessage)
        else [part.model_dump(exclude={"id", "provider_id"}) for part in message.parts]
        for message in session.transcript
    ]
    return [*said, *(event.reason for event in session.events if isinstance(event, events.TurnEnded))]


def _unknowable(session: SessionRecords) -> Iterator[PartId]:
    """Calls whose tool leaves no trace of its own, and that a second attempt or a stop has found begun."""
    once = {e.call for e in session.events if isinstance(e, events.CallPrepared) and e.recovery == Recovery.ONCE}
    hit = {e.call for e in session.events if isinstance(e, events.CallClaimed) and e.recovered}
    stopped = {e.turn for e in session.events if isinstance(e, events.StopAccepted)}
    yield from (call for call in once if call in hit or _turn_of(session, call) in stopped)


def _handed_on(trial: TrialRecords) -> dict[str, str]:
    """The prompts that calls have given to subagents, with what these calls say."""
    return {
        event.prompt: str(call.arguments["prompt"])
        for session in trial.sessions
        for event in session.events
        for call in session.calls
        if isinstance(event, events.TaskStarted) and event.call == call.id
    }


def _said(record: Record) -> Iterator[str]:
    """What a person said, as the log has it, or a call to its subagent; what followed from a grant, or a subagent's
    stop from its parent's, is nobody's word."""
    match record.event:
        case events.StopAccepted() if record.actor == WORKER:
            return
        case events.PromptAccepted(prompt=prompt):
            yield f"prompt {prompt}"
        case events.StopAccepted(stop=stop):
            yield f"stop {stop}"
        case events.AskAnswered(ask=ask, by_grant=None):
            yield f"answer {ask}"


def _settled(answer: Settled) -> Iterator[str]:
    """The asks that a person's word has settled: a reject takes the session's others along."""
    yield answer.ask.id
    if answer.ask.rejected:
        yield from (ask for ask in answer.asks if ask != answer.ask.id)


def _with_effects(session: SessionRecords) -> Iterator[tuple[ToolPart, str]]:
    for call in session.calls:
        token = token_of(call)
        if token is not None:
            yield call, token


def _times(trial: TrialRecords, token: str, moment: Moment) -> int:
    return sum((line.token, line.moment) == (token, moment) for line in trial.effects)


def _claim(event: Event) -> events.CallClaimed | None:
    """A first claim; those that take one over carry no decision of their own."""
    return event if isinstance(event, events.CallClaimed) and not event.recovered else None


def _turn_of(session: SessionRecords, call: PartId) -> str | None:
    prepared = [event for event in session.events if isinstance(event, events.CallPrepared) and event.call == call]
    return prepared[0].turn if prepared else None


def _works(before: Sequence[Event]) -> bool:
    """Whether a turn is open after these events, and neither a person nor a subagent is waited for."""
    balance = Counter(event.type for event in before)
    asks = balance["ask.raised"] - balance["ask.answered"] - balance["ask.closed"]
    parks = balance["session.parked"] - balance["session.unparked"]
    subagents = balance["task.started"] - balance["task.settled"]
    return balance["turn.opened"] > balance["turn.ended"] and not (asks or parks or subagents)


def _due(before: Sequence[Event], moment: datetime) -> datetime:
    """From when on a session should go on: not before the end of a pause that its provider asked for."""
    newest = before[-1]
    return max(moment, datetime.fromisoformat(newest.next_at)) if isinstance(newest, events.ModelRetry) else moment


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
    ("I7", torn),
    ("I9", left_lying),
    ("I9", slow),
    ("I12", answered_twice),
)
