"""What typed lines, and the words of a command, answer."""

import pytest

from tests.worker.cli.inbox_entries import question_entry
from worker.cli.ask_dialog import BadChoice, NextQuestion, QuestionDialog, answer_command
from worker.cli.commands.asks import read_answers, split_words
from worker.cli.render.ask_preview import preview_ask
from workflows.domain.errors import UsageError
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import Answers, Option, Question

BASE = Question(
    question="Which base?",
    header="Base",
    options=(Option(label="Postgres", description="robust"), Option(label="SQLite\x1b[2J")),
)
PARTS = Question(question="Which parts?", options=(Option(label="a"), Option(label="b")), multiple=True, custom=False)
HOW_MANY = Question(question="How many?")
HOW_MUCH = Question(question="How much?", options=(Option(label="Go on"), Option(label="End")), number=True)


def decided(question: Question, typed: str) -> tuple[str, ...] | str:
    answer = QuestionDialog(question_entry(question), (question,)).parse(typed)
    if isinstance(answer, BadChoice):
        return answer.text
    assert isinstance(answer, AskDecision) and answer.answers is not None and answer.reply is Reply.ANSWER
    return answer.answers[0]


@pytest.mark.parametrize(
    ("question", "typed", "answer"),
    [
        (BASE, "1", ("Postgres",)),
        (BASE, " postgres ", ("Postgres",)),
        (BASE, "neither of them", ("neither of them",)),
        (BASE, '"3"', ("3",)),
        (BASE, "3" * 5000, ("3" * 5000,)),
        (PARTS, "1, 2", ("a", "b")),
        (HOW_MANY, "42", ("42",)),
        (HOW_MUCH, "2", ("End",)),
        (HOW_MUCH, "+2", ("+2",)),
        (HOW_MUCH, "$0.5", ("$0.5",)),
        (HOW_MUCH, "end", ("End",)),
        (HOW_MUCH, "-2", "'-2' is neither a number above 0 nor one of 'Go on', 'End'."),
        (BASE, "3", 'There is no option 3, but 2 options. Quoted it is an answer itself: "3" (in a shell \'"3"\').'),
        (BASE, "1 2", "'Base' takes one answer, but 2 were given."),
        (PARTS, "c", "'c' is not an option of 'Which parts?': 'a', 'b'."),
    ],
)
def test_a_line_chooses_by_number_or_stands_for_itself(
    question: Question, typed: str, answer: tuple[str, ...] | str
) -> None:
    assert decided(question, typed) == answer


def test_several_questions_are_asked_one_after_the_other_and_the_last_answer_decides() -> None:
    entry = question_entry(BASE, PARTS)
    dialog = QuestionDialog(entry, (BASE, PARTS))
    assert "Question 1 of 2" in "\n".join(map(str, dialog.lines()))
    assert isinstance(dialog.parse("2"), NextQuestion)
    assert dialog.prompt == "1-2 / dismiss > " and "Which parts?" in "\n".join(map(str, dialog.lines()))
    for _ in range(2):  # where the first decision could not be stored
        answer = dialog.parse("1 2")
        assert answer == AskDecision(reply=Reply.ANSWER, digest=entry.digest, answers=(("SQLite\x1b[2J",), ("a", "b")))
    assert dialog.parse("Dismiss") == AskDecision(reply=Reply.REJECT, digest=entry.digest)


def test_a_question_is_shown_with_its_options_and_nothing_in_it_reaches_the_terminal() -> None:
    shown = [str(row) for row in preview_ask(question_entry(BASE)).lines]
    assert "build has a question for you" in shown[0]
    assert [each for each in shown if "1  Postgres: robust" in each] and "\x1b[2J" not in "".join(shown)
    assert answer_command(question_entry(BASE)) == "holdfast answer a1 N | '…' | reject"


@pytest.mark.parametrize(
    ("words", "ask", "answers"),
    [
        (("once",), None, ("once",)),
        (("1",), None, ("1",)),
        (("1", "no limit"), None, ("1", "no limit")),
        (("a1", "1"), "a1", ("1",)),
        (("A12", "no limit", "two"), "A12", ("no limit", "two")),
        (("per_x", "once"), "per_x", ("once",)),
        (("19ac2f0d5b01" + "x" * 14, "once"), "19ac2f0d5b01" + "x" * 14, ("once",)),
        (("a", "b"), None, ("a", "b")),
    ],
)
def test_an_ask_is_named_by_its_id_or_short_name_and_all_other_words_answer(
    words: tuple[str, ...], ask: str | None, answers: tuple[str, ...]
) -> None:
    assert split_words(words) == (ask, answers)


@pytest.mark.parametrize(
    ("questions", "words", "options", "answers"),
    [
        ((BASE,), (), ("2",), (("SQLite\x1b[2J",),)),
        ((BASE,), ("POSTGRES",), (), (("Postgres",),)),
        ((PARTS,), (), ("1", "2"), (("a", "b"),)),
        ((BASE,), ("2",), (), (("SQLite\x1b[2J",),)),
        ((PARTS,), ("1, 2",), (), (("a", "b"),)),
        ((HOW_MUCH,), ("+2",), (), (("+2",),)),
        ((BASE, PARTS, HOW_MANY), ("mine", "3"), ("2:1",), (("mine",), ("a",), ("3",))),
    ],
)
def test_a_command_answers_by_options_and_words(
    questions: tuple[Question, ...], words: tuple[str, ...], options: tuple[str, ...], answers: Answers
) -> None:
    assert read_answers(questions, words, options) == answers


@pytest.mark.parametrize(
    ("questions", "words", "options", "problem"),
    [
        ((BASE,), (), ("3",), "There is no option 3"),
        ((BASE,), (), ("one",), "--option one is not understood: the number of an option is meant"),
        ((BASE,), (), ("1" * 5000,), "is not understood"),
        ((BASE, PARTS), (), ("1",), "QUESTION:N"),
        ((BASE, PARTS), (), ("3:1",), "there is no question 3"),
        ((BASE,), ("3",), (), "There is no option 3"),
        ((BASE,), ("use", "this"), (), "quote each answer"),
        ((PARTS,), ("c",), (), "not an option"),
    ],
)
def test_a_bad_choice_is_explained(
    questions: tuple[Question, ...], words: tuple[str, ...], options: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        read_answers(questions, words, options)
