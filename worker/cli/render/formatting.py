"""Numbers, times and rules for people."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from worker.cli.render.escaping import escape_exact
from workflows.domain.usage import Cost
from workflows.domain.views.sessions import LeftProcess

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def format_size(size: int) -> str:
    return f"{size / 2**20:,.1f} MB"


def pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_rule(permission: str, patterns: Iterable[str]) -> str:
    return f"{escape_exact(permission)}: {escape_exact(', '.join(patterns))}"


def describe_left(left: LeftProcess) -> str:
    return f"Left running by {left.session}: process {left.pid}, {escape_exact(left.command)}"


def format_tokens(number: int, steps: int) -> str:
    """ "unknown" if no provider reports them."""
    return pluralize(number, "token") if number or not steps else "tokens unknown"


def format_price(cost: Cost) -> str:
    if not cost.known:
        return "price unknown"
    return f"at least ${cost.dollars:.4f}" if cost.unpriced else f"${cost.dollars:.4f}"


def format_queued_prompts(prompts: int, ask: str | None) -> str:
    """How many prompts wait for an ask to be answered; empty if none."""
    if not prompts or ask is None:
        return ""
    return f"{pluralize(prompts, 'prompt')} {'waits' if prompts == 1 else 'wait'} behind ask {ask}"


def format_prompts_behind_wait(prompts: int, session: str) -> str:
    """How many prompts wait for the end of a wait; empty if none."""
    if not prompts:
        return ""
    return f"{pluralize(prompts, 'prompt')} {'waits' if prompts == 1 else 'wait'} for its end: holdfast wake {session}"


def format_age(since: datetime, now: datetime) -> str:
    """The age in its largest unit."""
    return " ".join(format_duration(int((now - since).total_seconds())).split()[:2])


def format_duration(seconds: float) -> str:
    """The duration in its two largest units."""
    whole = max(round(seconds), 0)
    for (size, unit), (smaller, its_unit) in pairwise(_UNITS):
        if whole >= size:
            left = whole % size // smaller
            return f"{whole // size} {unit} {left} {its_unit}" if left else f"{whole // size} {unit}"
    return f"{whole} s"


def format_clock(duration: timedelta) -> str:
    """The duration as `2:10`, `1:02:10`."""
    minutes, seconds = divmod(max(round(duration.total_seconds()), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def format_past(at: datetime, known: datetime | None = None) -> str:
    """A past time in local time, with the day unless `known` is on it."""
    here = at.astimezone()
    same = known is not None and known.astimezone().date() == here.date()
    return f"{here:%H:%M}" if same else f"{here:%a %d %b %H:%M}"


def format_upcoming(at: datetime, now: datetime) -> str:
    """A future time in local time: with seconds if it is near, with its day or year if that differs from now."""
    here, today = at.astimezone(), now.astimezone().date()
    if at - now < timedelta(minutes=2):
        return f"{here:%H:%M:%S}"
    if here.date() == today:
        return f"{here:%H:%M}"
    return f"{here:%a %d %b, %H:%M}" if here.year == today.year else f"{here:%a %d %b %Y, %H:%M}"


def short_file(file: str) -> str:
    """A file's path below the current directory, or the home."""
    path = Path(file)
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return escape_exact(prefix + str(path.relative_to(base)))
    return escape_exact(file)
