"""A question at the terminal: what can be answered to an ask, and what a typed line means."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from worker.cli.answer_words import ALLOWING
from worker.cli.look.effect import picture, saved
from worker.cli.look.wrap import folded
from worker.client import Decided, InboxEntry
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply

_WORDS: Final = {
    "once": ("o", "once", "y", "yes"),
    "always": ("a", "always"),
    "project": ("p", "project"),
    "reject": ("r", "reject", "n", "no"),
    "view": ("v", "view"),
}

_FURTHER: Final = 13  # blanks more than a line has, before what it goes on with


class Unclear(Enum):
    """Why a typed line is no answer."""

    VIEW = auto()
    UNKNOWN = auto()
    HIDDEN = auto()
    NOT_SAVED = auto()


EXPLAINED: Final = {
    Unclear.UNKNOWN: "Type once, always, project, reject (and why) or view, or the first letter of it.",
    Unclear.HIDDEN: "A part of it is hidden: type view to see all of it first.",
    Unclear.NOT_SAVED: "Nothing of this may be saved: type once or reject.",
}


@dataclass
class Question:
    """An ask that is put to the person at the terminal; `seen` says that all of its effect was shown."""

    entry: InboxEntry
    seen: bool = False

    @property
    def prompt(self) -> str:
        words = ["once", *(["always", "project"] if self.entry.savable else []), "reject"]
        return f"{' / '.join(words)}{'' if self.seen else ' / view'} > "

    def lines(self, *, whole: bool = False, columns: int | None = None, height: int | None = None) -> Iterator[str]:
        """The ask, and what can be answered to it, on a terminal of this size."""
        shown = picture(self.entry, whole=whole, columns=columns, height=height)
        self.seen = self.seen or not shown.hidden
        yield from shown.lines
        yield "  once (o)     this time only"
        if rule := saved(self.entry):
            yield from folded(f"  always (a)   allow {rule} for the rest of this session", columns, _FURTHER)
            all_here = f"  project (p)  the same in every session of {self.entry.directory!r}, for 30 days"
            yield from folded(all_here, columns, _FURTHER)
        yield from folded("  reject (r)   with a reason for the agent, as in: reject use uv instead", columns, _FURTHER)
        if shown.hidden or whole:
            yield "  view (v)     all of it"

    def decide(self, typed: str) -> Decided | Unclear:
        """What a typed line means."""
        word, _, rest = typed.strip().partition(" ")
        match next((name for name, words in _WORDS.items() if word.lower() in words), None):
            case "view":
                return Unclear.VIEW
            case "reject":
                return self._decided(Reply.REJECT, feedback=rest.strip() or None)
            case None:
                return Unclear.UNKNOWN
            case _ if rest.strip():
                return Unclear.UNKNOWN
            case _ if not self.seen:
                return Unclear.HIDDEN
            case name if name != "once" and not self.entry.savable:
                return Unclear.NOT_SAVED
            case name:
                reply, scope = ALLOWING[name]
                return self._decided(reply, scope=scope)

    def _decided(self, reply: Reply, *, feedback: str | None = None, scope: Scope = Scope.SESSION) -> Decided:
        return Decided(reply=reply, digest=self.entry.digest, feedback=feedback, scope=scope)
