"""How a demo is told."""

from datetime import UTC, datetime

import pytest

from worker.client import Seen
from worker.demo.kills import Kill, Recovery, Successor
from worker.demo.story import Story, Tone
from worker.stack.processes import ProcessRef
from workflows.domain.events import Actor, AskAnswered, AskRaised, CallClaimed, CallFinished, Event, Record
from workflows.domain.ids import AskId, PartId, SessionId, SnapshotId

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALL, ASK = PartId("prt_1"), AskId("per_1")
BASH = {
    "tool": "bash",
    "arguments": {"command": "make test"},
    "outcome": {"output": "Ran 3 tests\n\nOK\n"},
}


@pytest.fixture
def told() -> list[tuple[str, Tone]]:
    return []


@pytest.fixture
def story(told: list[tuple[str, Tone]]) -> Story:
    return Story(lambda text, tone, _: told.append((text, tone)))


def seen(event: Event, **contents: object) -> Seen:
    record = Record(
        session=SessionId("ses_1"),
        seq=1,
        at=NOON.isoformat(),
        actor=Actor(subject="me@here", method="cli"),
        event=event,
    )
    return Seen.model_validate({"record": record, "contents": contents})


def test_an_answer_says_who_gave_it(story: Story, told: list[tuple[str, Tone]]) -> None:
    story.seen(seen(AskAnswered(ask=ASK, call=CALL, reply="once", digest="d")))
    assert told[0][0].endswith("answered  once, by me@here")


def test_a_question_names_the_exact_command(story: Story, told: list[tuple[str, Tone]]) -> None:
    asked = AskRaised(ask=ASK, call=CALL, permission="bash", digest="d")
    story.seen(seen(asked, prt_1={**BASH, "outcome": None}))
    assert told[0][0].endswith("asks      May I run make test?")


def test_a_command_that_has_ended_shows_its_last_line(story: Story, told: list[tuple[str, Tone]]) -> None:
    story.seen(seen(CallFinished(call=CALL, state="done", seal="s"), prt_1=BASH))
    assert told[0][0].endswith("bash      make test: OK")


def test_a_call_that_failed_is_told_as_bad(story: Story, told: list[tuple[str, Tone]]) -> None:
    story.seen(seen(CallFinished(call=CALL, state="unknown", seal="s"), prt_1=BASH))
    assert told[0][1] is Tone.BAD and told[0][0].endswith("make test (unknown)")


def test_what_only_auditors_look_for_is_not_told(story: Story, told: list[tuple[str, Tone]]) -> None:
    story.seen(seen(CallClaimed(call=CALL, fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"))))
    assert told == []


def test_a_recovery_is_told_with_both_of_its_times(story: Story, told: list[tuple[str, Tone]]) -> None:
    kill = Kill(what="the worker", victims=(ProcessRef(pid=7, born="x"),), at=NOON)
    worker = Successor(pid=8, seen=NOON.replace(second=1))
    story.recovered(Recovery(kill=kill, worker=worker, progress=NOON.replace(second=3), how="it goes on"))
    assert told[0][0].endswith("a new worker (8) after 1.0 s; it goes on 2.0 s later")


def test_a_line_that_goes_on_does_so_below_its_text_and_one_to_be_copied_is_not_broken() -> None:
    further: list[int | None] = []
    story = Story(lambda _, __, blanks: further.append(blanks))
    story.fact("model", "scripted")
    story.moment(NOON, "step 1", "I will look.")
    story.printed("holdfast asks", "  edit")
    story.offer("holdfast down")
    assert further == [10, 20, 2, 2, None]
