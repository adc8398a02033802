"""Questions at the terminal, one after the other, and what a typed line answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from worker.api.inbox import InboxEntry
from worker.cli.render.ask_preview import preview_ask, question_rows
from worker.cli.render.console import Row
from worker.cli.render.formatting import pluralize
from workflows.domain.errors import UsageError
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import Question, answers_problem

DISMISSALS: Final = ("reject", "dismiss")
_NUMBERS: Final = re.compile(r"\d{1,9}(?:[\s,]+\d{1,9})*")
_QUOTED: Final = re.compile(r'"(.+)"')


@dataclass(frozen=True)
class BadChoice:
    """Why a typed line is no answer; nothing is lost by it."""

    text: str


class NextQuestion:
    """The line is kept, and the next question follows."""


class QuestionDialog:
    """The questions of an open ask; the decision comes with the last answer."""

    def __init__(self, entry: InboxEntry, questions: Sequence[Question]) -> None:
        self.entry = entry
        self._questions = tuple(questions)
        self._answers: list[tuple[str, ...]] = []

    @property
    def prompt(self) -> str:
        question = self._questions[len(self._answers)]
        number = f"1-{len(question.options)}" if len(question.options) > 1 else "1" if question.options else ""
        own = "+5" if question.number else "your answer"
        words = [number, *([own] if question.custom else []), "dismiss"]
        return f"{' / '.join(each for each in words if each)} > "

    def lines(self, *, whole: bool = False, columns: int | None = None, height: int | None = None) -> Iterator[Row]:
        """The next question; all of them first."""
        if not self._answers:
            yield from preview_ask(self.entry, whole=whole, columns=columns, height=height).lines
        if len(self._questions) > 1:
            yield f"  Question {len(self._answers) + 1} of {len(self._questions)}:"
        if self._answers:
            yield from question_rows(self._questions[len(self._answers)], columns)

    def parse(self, typed: str) -> AskDecision | BadChoice | NextQuestion:
        if typed.strip().lower() in DISMISSALS:
            return AskDecision(reply=Reply.REJECT, digest=self.entry.digest)
        question = self._questions[len(self._answers)]
        try:
            chosen = parse_line(question, typed.strip())
        except UsageError as error:
            return BadChoice(str(error))
        if (problem := answers_problem((question,), (chosen,))) is not None:
            return BadChoice(problem)
        if len(self._answers) + 1 < len(self._questions):
            self._answers.append(chosen)
            return NextQuestion()
        answers = (*self._answers, chosen)  # not kept: the last one is typed again if the decision cannot be stored
        return AskDecision(reply=Reply.ANSWER, digest=self.entry.digest, answers=answers)


def parse_line(question: Question, typed: str) -> tuple[str, ...]:
    """Numbers choose options; a label and other words stand for themselves, a number does in quotes, an amount behind a
    sign. Raises UsageError."""
    if quoted := _QUOTED.fullmatch(typed):
        return (quoted[1],)
    if question.options and _NUMBERS.fullmatch(typed) and typed not in question.labels:
        return tuple(option_label(question, int(number)) for number in re.split(r"[\s,]+", typed))
    return (match_label(question, typed),)


def match_label(question: Question, typed: str) -> str:
    """The option that is meant, in any case of letters, else the words as they are."""
    return next((label for label in question.labels if label.lower() == typed.lower()), typed)


def option_label(question: Question, number: int) -> str:
    """Raises UsageError."""
    if 1 <= number <= len(question.options):
        return question.options[number - 1].label
    own = f' Quoted it is an answer itself: "{number}" (in a shell \'"{number}"\').' if question.custom else ""
    raise UsageError(f"There is no option {number}, but {pluralize(len(question.options), 'option')}.{own}")
