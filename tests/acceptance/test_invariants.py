"""Each invariant can fail: records with one flaw violate the invariant that names it, and no other."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from tests.acceptance import sample_records
from tests.acceptance.effect_ledger import EffectMoment
from tests.acceptance.invariants import OF_SESSIONS, OF_TRIALS, violations
from tests.acceptance.recording_client import ClientLedger, RecordedRequest
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.acceptance.sample_records import (
    ASK,
    CALL,
    LOG,
    PROMPT,
    at,
    line,
    request,
    session,
    transcript,
    valid_records,
)
from worker.scripted.request_ledger import StreamEnd
from workflows.domain.errors import Conflict
from workflows.domain.events.asks import AskClosed
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import CallState, TextPart
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.accepted import AcceptedAnswer

Change = Callable[[TrialRecords], TrialRecords]


def with_session(changed: SessionRecords) -> Change:
    return lambda trial: replace(trial, sessions=[changed])


def with_log(*log: Event) -> Change:
    return with_session(session(log))


def without(kind: str, log: tuple[Event, ...] = LOG) -> tuple[Event, ...]:
    return tuple(event for event in log if event.type != kind)


def changed(kind: str, log: tuple[Event, ...] = LOG, **fields: object) -> tuple[Event, ...]:
    return tuple(event.model_copy(update=fields) if event.type == kind else event for event in log)


def with_effects(*moments: tuple[EffectMoment, float]) -> Change:
    return lambda trial: replace(trial, effects=[line(*each) for each in moments])


def with_state(state: CallState, *moments: tuple[EffectMoment, float]) -> Change:
    log = changed("call.finished", state=state.value)
    return lambda trial: with_effects(*moments)(with_session(session(log, state=state))(trial))


def lost_prompt(trial: TrialRecords) -> TrialRecords:
    return replace(
        trial, sent=replace(trial.sent, prompts=[*trial.sent.prompts, sample_records.prompted(MessageId("m"))])
    )


def told_otherwise(trial: TrialRecords) -> TrialRecords:
    return replace(trial, sent=replace(trial.sent, answers=[sample_records.answered(Reply.REJECT)]))


def refused_in_secret(trial: TrialRecords) -> TrialRecords:
    refused: RecordedRequest[AcceptedAnswer] = RecordedRequest(ASK, Reply.REJECT, error=Conflict("already answered"))
    return replace(trial, sent=replace(trial.sent, answers=[*trial.sent.answers, refused]))


def healed_late(trial: TrialRecords) -> TrialRecords:
    paused = session()
    late = [
        record.model_copy(update={"at": at(record.seq + 60).isoformat()}) if record.seq > 9 else record
        for record in paused.log
    ]
    return replace(trial, sessions=[replace(paused, log=late)], healed=[at(9.1)])


def with_neighbours(trial: TrialRecords) -> TrialRecords:
    *said, answer = transcript()
    other = answer.model_copy(update={"parts": (TextPart(text="Not ok."),)})
    return replace(trial, bystanders=[(session(transcript=(*said, other)), session())])


START, END = EffectMoment.START, EffectMoment.END
STARTED = TaskStarted(call=PartId("prt_2"), child=SessionId("ses_2"), prompt=MessageId("msg_9"), agent="general")
CLAIM = next(event for event in LOG if isinstance(event, CallClaimed))
WRONG: Final[dict[str, tuple[str, Change]]] = {
    "an accepted prompt is not in the log": ("I1", lost_prompt),
    "a prompt was never sent": ("I1", lambda trial: replace(trial, sent=replace(trial.sent, prompts=[]))),
    "a prompt is taken and not shown": ("I1", with_session(session(transcript=transcript()[1:]))),
    "a prompt is there twice": ("I1", with_log(*LOG, LOG[1])),
    "an effect begins twice": ("I2", with_state(CallState.FAILED, (START, 8.3), (START, 8.4))),
    "a call has two subagents": ("I2", with_log(*LOG, *[STARTED] * 2)),
    "a call is done and its effect is not": ("I3", with_effects((START, 8.3))),
    "a call has failed and its effect is complete": ("I3", with_state(CallState.FAILED, (START, 8.3), (END, 8.6))),
    "a call that can be known is unknown": ("I3", with_state(CallState.UNKNOWN, (START, 8.3), (END, 8.6))),
    "an effect begins before its claim": ("I4", with_effects((START, 7.9), (END, 8.6))),
    "a claim has no decision": ("I4", with_log(*changed("call.claimed", decisions=()))),
    "a claim is for another effect": ("I4", with_log(*changed("call.claimed", digest="of another"))),
    "an answer was given for another effect": ("I4", with_log(*changed("ask.answered", digest="of another"))),
    "an effect belongs to no call": (
        "I4",
        lambda trial: replace(trial, effects=[*trial.effects, line(START, 8.7, "two")]),
    ),
    "an ask ends twice": ("I5", with_log(*LOG, AskClosed(ask=ASK, call=CALL, reason=""))),
    "a person was told of another decision": ("I5", told_otherwise),
    "a refused answer is not in the log": ("I5", refused_in_secret),
    "a model refuses a conversation": (
        "I6",
        lambda trial: replace(trial, requests=[trial.requests[0], request(2, 9.2, end=StreamEnd.MALFORMED)]),
    ),
    "a hash does not link": (
        "I7",
        with_session(session(verified=session().verified.model_copy(update={"problem": "event 3 was changed"}))),
    ),
    "an activity has left no event": ("I7", with_log(*without("turn.ended"))),
    "an event has no activity": (
        "I7",
        with_session(session(runs=[sample_records.history(without="holdfast.model.generate")])),
    ),
    "a model is asked too often": (
        "I8",
        lambda trial: replace(trial, requests=[*trial.requests, request(3, 12, end=StreamEnd.CLIENT_LEFT)]),
    ),
    "a session goes on late": ("I9", healed_late),
    "a prompt is not taken up": (
        "I9",
        lambda trial: lost_prompt(
            with_session(
                session(
                    (*LOG, PromptAccepted(prompt=MessageId("m"), mode="steer", seal="s")),
                    resting=False,
                )
            )(trial)
        ),
    ),
    "something is left": ("I10", lambda trial: replace(trial, left=["process 7: sleep"])),
    "a neighbour comes to something else": ("I11", with_neighbours),
    "a step is answered twice": ("I12", with_log(*LOG, LOG[4])),
    "two requests for one conversation are answered at once": (
        "I12",
        lambda trial: replace(trial, requests=[request(1, 3.2, messages="m"), request(2, 3.4, messages="m")]),
    ),
}


def test_nothing_is_violated_where_all_is_well() -> None:
    assert violations(valid_records()) == []


@pytest.mark.parametrize("wrong", WRONG)
def test_the_invariant_that_names_it_is_violated_when(wrong: str) -> None:
    invariant, change = WRONG[wrong]
    found = violations(change(valid_records()))
    assert {each.invariant for each in found} == {invariant}, found


def test_every_invariant_has_records_that_violate_it() -> None:
    numbers = {f"I{number}" for number in range(1, 13)}
    assert {name for name, _ in (*OF_TRIALS, *OF_SESSIONS)} == numbers
    assert {invariant for invariant, _ in WRONG.values()} == numbers


def test_unknown_is_true_of_a_call_without_traces_that_a_fault_has_hit() -> None:
    state = with_state(CallState.UNKNOWN, (START, 8.3))
    once = changed("call.prepared", recovery="once")
    taken_over = CLAIM.model_copy(update={"recovered": True, "decisions": ()})
    hit = tuple(each for event in once for each in ((taken_over, event) if event.type == "call.finished" else (event,)))
    known = state(valid_records()).sessions[0]
    assert violations(replace(state(valid_records()), sessions=[replace(known, log=session(hit).log)])) == []


def test_what_a_fault_may_have_cost_is_no_violation() -> None:
    paid_again = replace(
        valid_records(), requests=[*valid_records().requests, request(3, 12, end=StreamEnd.CLIENT_LEFT)], wasted=1
    )
    uncertain = replace(
        valid_records(),
        sent=ClientLedger(prompts=[RecordedRequest(PROMPT, "Run it.")], answers=[sample_records.answered()]),
    )
    assert violations(paid_again) == [] and violations(uncertain) == []
