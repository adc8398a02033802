"""An ask at the terminal: its text, and what a typed line means."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker.api.inbox import InboxEntry
from worker.cli.question_dialog import QuestionDialog
from worker.cli.render.ask_preview import describe_saved_rule, preview_ask
from worker.cli.render.console import Row
from worker.cli.render.wrap import wrap_text
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.questions import QuestionRequest

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
        if rule := describe_saved_rule(self.entry):
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
