"""An ask at the terminal: its text, and what a typed line means."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker.cli.render.ask_preview import describe_saved_rules, preview_ask, question_rows
from worker.cli.render.console import Row
from worker.cli.render.formatting import pluralize
from worker.cli.render.wrap import wrap_text
from workflows.domain.errors import UsageError
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import Question, QuestionRequest, answers_problem
from workflows.domain.views.inbox import InboxEntry

ALLOWING_ANSWERS: Final = {
    "once": (Reply.ONCE, GrantScope.SESSION),
    "always": (Reply.ALWAYS, GrantScope.SESSION),
    "project": (Reply.ALWAYS, GrantScope.PROJECT),
}
ANSWERS: Final = (*ALLOWING_ANSWERS, "reject")
_WORDS: Final = {
    "once": ("o", "once", "y", "yes"),
    "always": ("a", "always"),
    "project": ("p", "project"),
    "reject": ("r", "reject", "n", "no"),
    "view": ("v", "view"),
}

_FURTHER: Final = 13  # blanks more before continuation rows
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


class NotAnAnswer(StrEnum):
    """Why a typed line is no answer."""

    VIEW = ""
    UNKNOWN = "Type once, always, project, reject (and why) or view, or the first letter of it."
    HIDDEN = "A part of it is hidden: type view to see all of it first."
    NOT_SAVED = "Nothing of this may be saved: type once or reject."


@dataclass
class AskDialog:
    """An open ask at the terminal; `fully_shown`: no part of its effect was hidden."""

    entry: InboxEntry
    fully_shown: bool = False

    @property
    def prompt(self) -> str:
        words = ["once", *(["always", "project"] if self.entry.savable else []), "reject"]
        return f"{' / '.join(words)}{'' if self.fully_shown else ' / view'} > "

    def lines(self, *, whole: bool = False, columns: int | None = None, height: int | None = None) -> Iterator[Row]:
        shown = preview_ask(self.entry, whole=whole, columns=columns, height=height)
        self.fully_shown = self.fully_shown or not shown.hidden
        yield from shown.lines
        yield "  once (o)     this time only"
        if rule := describe_saved_rules(self.entry):
            yield from wrap_text(f"  always (a)   allow {rule} for the rest of this session", columns, _FURTHER)
            all_here = f"  project (p)  the same in every session of {self.entry.directory!r}, for 30 days"
            yield from wrap_text(all_here, columns, _FURTHER)
        yield from wrap_text(
            "  reject (r)   with a reason for the agent, as in: reject use uv instead", columns, _FURTHER
        )
        if shown.hidden or whole:
            yield "  view (v)     all of it"

    def parse(self, typed: str) -> AskDecision | NotAnAnswer:
        word, _, rest = typed.strip().partition(" ")
        match next((name for name, words in _WORDS.items() if word.lower() in words), None):
            case "view":
                return NotAnAnswer.VIEW
            case "reject":
                return AskDecision(reply=Reply.REJECT, digest=self.entry.digest, feedback=rest.strip() or None)
            case None:
                return NotAnAnswer.UNKNOWN
            case _ if rest.strip():
                return NotAnAnswer.UNKNOWN
            case _ if not self.fully_shown:
                return NotAnAnswer.HIDDEN
            case name if name != "once" and not self.entry.savable:
                return NotAnAnswer.NOT_SAVED
            case name:
                reply, scope = ALLOWING_ANSWERS[name]
                return AskDecision(reply=reply, digest=self.entry.digest, scope=scope)


def open_dialog(entry: InboxEntry) -> AskDialog | QuestionDialog:
    if isinstance(entry.request, QuestionRequest):
        return QuestionDialog(entry, entry.request.questions)
    return AskDialog(entry)


def answer_command(entry: InboxEntry) -> str:
    if not isinstance(entry.request, QuestionRequest):
        wider = " | always | project" if entry.savable else ""
        return f"holdfast answer {entry.name} once{wider} | reject -m 'why'"
    texts = " ".join("'…'" for _ in entry.request.questions)
    numbers = "N | " if len(entry.request.questions) == 1 and entry.request.questions[0].options else ""
    return f"holdfast answer {entry.name} {numbers}{texts} | reject"
