"""What a typed line means as an answer."""

import pytest

from tests.worker.cli.entries import bash, entry
from worker.cli.question import Question, Unclear
from worker.client import Decided
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionRequest

LONG = "\n".join(f"echo {number}" for number in range(100))
UNSAVABLE = entry("bash", {"command": "x"}, PermissionRequest(permission="bash", patterns=("x",)))


def put(question: Question) -> Question:
    """The question as a person has it before them."""
    assert list(question.lines())
    return question


@pytest.mark.parametrize(
    ("typed", "reply", "feedback", "scope"),
    [
        ("once", Reply.ONCE, None, Scope.SESSION),
        (" O ", Reply.ONCE, None, Scope.SESSION),
        ("always", Reply.ALWAYS, None, Scope.SESSION),
        ("project", Reply.ALWAYS, None, Scope.PROJECT),
        ("reject", Reply.REJECT, None, Scope.SESSION),
        ("reject use uv instead", Reply.REJECT, "use uv instead", Scope.SESSION),
    ],
)
def test_an_answer_carries_the_digest_that_was_seen(
    typed: str, reply: Reply, feedback: str | None, scope: Scope
) -> None:
    question = put(Question(bash("git status")))

    decided = question.decide(typed)

    assert decided == Decided(reply=reply, digest=question.entry.digest, feedback=feedback, scope=scope)


@pytest.mark.parametrize("typed", ["", "maybe", "once more", "always please", "oncee"])
def test_what_is_not_clear_is_no_answer(typed: str) -> None:
    assert put(Question(bash("git status"))).decide(typed) is Unclear.UNKNOWN


def test_nothing_is_allowed_before_its_hidden_part_was_seen() -> None:
    question = put(Question(bash(LONG)))

    assert question.decide("once") is Unclear.HIDDEN
    assert question.decide("view") is Unclear.VIEW
    assert isinstance(question.decide("reject"), Decided)


def test_it_is_allowed_after_all_of_it_was_seen() -> None:
    question = put(Question(bash(LONG)))
    assert len(list(question.lines(whole=True))) > 100

    assert isinstance(question.decide("once"), Decided)


@pytest.mark.parametrize("height", [24, 40, 100])
def test_the_whole_question_is_in_sight_and_what_it_leaves_out_cannot_be_allowed(height: int) -> None:
    short, long = Question(bash("\n".join("abcdefgh"))), Question(bash("\n".join(map(str, range(28)))))

    assert max(len(list(each.lines(columns=80, height=height))) for each in (short, long)) < height
    assert short.decide("once") != Unclear.HIDDEN
    assert (long.decide("once") is Unclear.HIDDEN) is (height < 41)


def test_always_is_not_offered_where_nothing_may_be_saved() -> None:
    question = put(Question(UNSAVABLE))

    assert question.decide("always") is Unclear.NOT_SAVED
    assert "always" not in question.prompt


def test_the_question_tells_the_letters_that_are_enough() -> None:
    told = "\n".join(Question(bash(LONG)).lines())

    for word in ("once", "always", "project", "reject", "view"):
        assert f"\n  {word} ({word[0]}) " in told


def test_the_rule_that_always_would_save_is_shown_before_the_choice() -> None:
    assert any("git status *" in line for line in Question(bash("git status")).lines())
