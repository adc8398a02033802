"""Options that choose sessions."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click

from activities.project.worktree import find_root
from worker.cli import completers
from worker.cli.command_support import current_directory, options, require_text
from workflows.domain.session_filter import ListedState, SessionFilter

_AGE: Final = re.compile(r"(\d{1,4}) ?(min|m|h|d|w)")
_UNITS: Final = {"min": "minutes", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class PastMoment(click.ParamType[datetime]):
    """An age, or a date, as a moment."""

    name = "AGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if (found := _AGE.fullmatch(value)) is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
        try:
            return datetime.fromisoformat(value).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is neither an age (90min, 12h, 3d, 2w) nor a date (2026-11-24).", param, ctx)


# Where sessions work, and under which agent.
place_options: Final = options(
    click.option("--here", is_flag=True, help="Only those of the current directory."),
    click.option("--project", is_flag=True, help="Those of the project (work tree) around the current directory."),
    click.option(
        "--in",
        "below",
        type=click.Path(path_type=Path),
        metavar="DIRECTORY",
        help="Those of this directory and the ones in it.",
    ),
    click.option("--since", type=PastMoment(), help="Changed since then: an age (12h, 3d), or a date."),
    click.option("--before", type=PastMoment(), help="Unchanged since then."),
    click.option(
        "--agent",
        "agents",
        metavar="NAME",
        multiple=True,
        shell_complete=completers.agent,
        help="Those of this agent; may be repeated.",
    ),
)

# All options of a `SessionFilter`.
listing_options: Final = options(
    place_options,
    click.option("--search", "text", metavar="TEXT", help="Those with this text in the title, in any case."),
    click.option(
        "--state",
        "states",
        multiple=True,
        type=click.Choice([each.value for each in ListedState]),
        help="Those that do this, or whose last turn ended so; may be repeated.",
    ),
)


def session_filter(
    *,
    here: bool,
    project: bool,
    below: Path | None,
    since: datetime | None,
    before: datetime | None,
    agents: tuple[str, ...],
    text: str | None = None,
    states: tuple[str, ...] = (),
) -> SessionFilter:
    """What the options mean. Raises UsageError."""
    directory = str(current_directory()) if here else None
    root = None
    if project:
        root = str(find_root(current_directory().resolve()) or current_directory())
    within = str((current_directory() / below).resolve()) if below is not None else None
    for each in (directory, root, within, text, *agents):
        require_text(each or "")
    return SessionFilter(
        directory=directory,
        below=within,
        worktree=root,
        states=tuple(ListedState(each) for each in states),
        agents=agents,
        text=text or None,
        since=since,
        before=before,
    )
