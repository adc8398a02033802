"""What a typed line means as an answer."""

import pytest

from tests.worker.cli.inbox_entries import bash, entry
from worker.cli.ask_dialog import AskDialog, NotAnAnswer
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.permissions.requests import PermissionRequest

LONG = "\n".join(f"echo {number}" for number in range(100))
UNSAVABLE = entry("bash", {"command": "x"}, PermissionRequest(permission="bash", patterns=("x",)))


def put(dialog: AskDialog) -> AskDialog:
    """The question as shown to the person."""
    assert list(dialog.lines())
    return dialog


@pytest.mark.parametrize(
    ("typed", "reply", "feedback", "scope"),
    [
        ("once", Reply.ONCE, None, GrantScope.SESSION),
        (" O ", Reply.ONCE, None, GrantScope.SESSION),
        ("always", Reply.ALWAYS, None, GrantScope.SESSION),
        ("project", Reply.ALWAYS, None, GrantScope.PROJECT),
        ("reject", Reply.REJECT, None, GrantScope.SESSION),
        ("reject use uv instead", Reply.REJECT, "use uv instead", GrantScope.SESSION),
    ],
)
def test_an_answer_carries_the_digest_that_was_seen(
    typed: str, reply: Reply, feedback: str | None, scope: GrantScope
) -> None:
    dialog = put(AskDialog(bash("git status")))

    decided = dialog.parse(typed)

    assert decided == AskDecision(reply=reply, digest=dialog.entry.digest, feedback=feedback, scope=scope)


@pytest.mark.parametrize("typed", ["", "maybe", "once more", "always please", "oncee"])
def test_what_is_not_clear_is_no_answer(typed: str) -> None:
    assert put(AskDialog(bash("git status"))).parse(typed) is NotAnAnswer.UNKNOWN


def test_nothing_is_allowed_before_its_hidden_part_was_seen() -> None:
    dialog = put(AskDialog(bash(LONG)))

    assert dialog.parse("once") is NotAnAnswer.HIDDEN
    assert dialog.parse("view") is NotAnAnswer.VIEW
    assert isinstance(dialog.parse("reject"), AskDecision)


def test_it_is_allowed_after_all_of_it_was_seen() -> None:
    dialog = put(AskDialog(bash(LONG)))
    assert len(list(dialog.lines(whole=True))) > 100

    assert isinstance(dialog.parse("once"), AskDecision)


@pytest.mark.parametrize("height", [24, 40, 100])
def test_the_whole_question_is_in_sight_and_what_it_leaves_out_cannot_be_allowed(height: int) -> None:
    short, long = AskDialog(bash("\n".join("abcdefgh"))), AskDialog(bash("\n".join(map(str, range(28)))))

    assert max(len(list(each.lines(columns=80, height=height))) for each in (short, long)) < height
    assert short.parse("once") != NotAnAnswer.HIDDEN
    assert (long.parse("once") is NotAnAnswer.HIDDEN) is (height < 41)


def test_always_is_not_offered_where_nothing_may_be_saved() -> None:
    dialog = put(AskDialog(UNSAVABLE))

    assert dialog.parse("always") is NotAnAnswer.NOT_SAVED
    assert "always" not in dialog.prompt


def test_the_question_tells_the_letters_that_are_enough() -> None:
    text = "\n".join(map(str, AskDialog(bash(LONG)).lines()))

    for word in ("once", "always", "project", "reject", "view"):
        assert f"\n  {word} ({word[0]}) " in text


def test_the_rule_that_always_would_save_is_shown_before_the_choice() -> None:
    assert any("git status *" in line for line in AskDialog(bash("git status")).lines())
