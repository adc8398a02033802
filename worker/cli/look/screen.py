"""A terminal, or what stands for one: the page of a story, and below it what goes on just now."""

import sys
from typing import Self

from worker.cli import door
from worker.cli.look.family import Family, story
from worker.cli.look.gauge import Gauge
from worker.cli.look.page import Page
from worker.cli.look.wrap import flowed
from worker.client import Seen
from worker.settings import Settings
from workflows.domain.ids import SessionId


class Screen:
    """Where a session's story is told to people; it is left as a shell expects to find it."""

    def __init__(self, settings: Settings, session: SessionId) -> None:
        self.page = Page(live=sys.stdout.isatty() and settings.environment.get("TERM") != "dumb")
        self.gauge = Gauge(session)
        self.story: Family = story(self.page, session, self.gauge)

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

    def refresh(self, prompt: str = "") -> None:
        """Show what has grown, and below it `prompt`, or else what goes on."""
        self.page.passing(prompt or self.gauge.told())
