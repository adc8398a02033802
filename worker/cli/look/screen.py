"""A terminal, or what stands for one: the page of a story, and below it what goes on just now."""

import sys
from typing import Final, Self

import click

from worker.cli import door
from worker.cli.look.family import Family, story
from worker.cli.look.gauge import Gauge
from worker.cli.look.page import Page
from worker.cli.look.wrap import ending, flowed
from worker.client import Seen
from worker.settings import Settings
from workflows.domain.ids import SessionId

PROMPT: Final = "> "


def live(settings: Settings) -> bool:
    """Whether standard output is a terminal on which what stands there can be changed."""
    return sys.stdout.isatty() and settings.environment.get("TERM") != "dumb"


class Screen:
    """Where a session's story is told to people; it is left as a shell expects to find it."""

    def __init__(self, settings: Settings, session: SessionId, *, thinking: bool = False) -> None:
        self.page = Page(live=live(settings))
        self.gauge = Gauge(session)
        self.story: Family = story(self.page, session, self.gauge, thinking=thinking)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.settle("")
        self.page.close()

    def note(self, seen: Seen) -> None:
        """Take in what has happened, for the line that says what goes on."""
        self.gauge.note(seen)

    def say(self, text: str) -> None:
        """Tell a person what is no part of the story: above the line that passes, or on standard error."""
        if self.page.live:
            self.page.line(flowed(text, self.page.columns or 0))
        else:
            door.say(text)

    def refresh(self, question: str = "", prompt: str | None = None, idle: str = "") -> None:
        """Show what has grown, and below it `question`, or else what goes on, with the last lines of a running command,
        or `idle` while nothing does, and the `prompt` that is being typed."""
        written = (click.style(f"  │ {row}", dim=True) for row in self.gauge.tail)
        rows = [question] if question else [*written, self.gauge.told() or idle]
        if prompt is not None and not question:
            rows.append(f"{PROMPT}{ending(prompt, (self.page.columns or 0) - len(PROMPT) - 1)}")
        self.page.passing(*filter(None, rows))
