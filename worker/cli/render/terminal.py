"""A followed session on the terminal: events, with a status line below."""

import sys
from typing import Self

from worker.cli.command_support import print_note
from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import one_line
from worker.cli.render.status_line import StatusLine
from worker.cli.render.subagent_view import create_session_view
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.settings import Settings
from workflows.domain.ids import SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry


def is_live_terminal(settings: Settings) -> bool:
    """Whether standard output is a terminal with redrawable rows."""
    return sys.stdout.isatty() and settings.environment.get("TERM") != "dumb"


def prompt_for(agent: str | None, columns: int | None) -> str:
    """What stands before a prompt that is typed; `agent`: whom it is for, if that was chosen for it."""
    return f"{one_line(agent, max((columns or 0) // 3, 1))} > " if agent else "> "


class Terminal:
    """Renders a session on standard output; leaves the terminal as the shell expects it."""

    def __init__(self, settings: Settings, session: SessionId, *, thinking: bool = False) -> None:
        self.writer = TerminalWriter(live=is_live_terminal(settings))
        self.status_line = StatusLine(session)
        self._view = create_session_view(self.writer, session, self.status_line, thinking=thinking)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.finalize("")
        self.writer.set_footer()

    def on_event(self, seen: EventWithContents) -> None:
        self.status_line.on_event(seen)
        self._view.on_event(seen)

    def on_delta(self, delta: PublishedDelta) -> None:
        self._view.on_delta(delta)

    def on_ask(self, entry: InboxEntry) -> None:
        self._view.on_ask(entry)

    def print_note(self, text: str) -> None:
        """Print a note above the status line, or on standard error if not live."""
        if self.writer.live:
            self.writer.write_line(wrap_words(text, self.writer.columns or 0))
        else:
            print_note(text)

    def refresh(self, question: str = "", prompt: str = "", idle: str = "") -> None:
        """Redraw what has grown, and the footer: the `question`, or else a running command's output, the status line
        (or `idle`), and the `prompt`; what is typed follows."""
        written = (styled(f"  │ {row}", "dim") for row in self.status_line.output_tail)
        status = self.status_line.text() or idle
        rows: list[Row] = [] if question else [*written, *([status] if status else [])]
        self.writer.set_footer(*rows, prompt=question or prompt)
