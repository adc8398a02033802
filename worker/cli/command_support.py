"""Shared by commands: the actor, clients of the stack, notes, confirmations."""

import asyncio
import functools
import os
import pwd
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click

from worker.cli.person_check import require_person
from worker.cli.render.console import terminal_columns
from worker.cli.render.escaping import escape_prose
from worker.cli.render.wrap import wrap_words
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from worker.stack.status import endpoints, ready_endpoints, require_stack, stack_notices
from workflows.domain.actor import Actor
from workflows.domain.errors import UsageError
from workflows.domain.permissions.permission_keys import ASKABLE, current_key

if TYPE_CHECKING:
    from worker.inbox_reader import InboxReader
    from worker.session_client import SessionClient

P = ParamSpec("P")
C = TypeVar("C", bound=Callable[..., Any])

DIRECTORY_GONE: Final = "The current directory no longer exists: it was moved or deleted. Change to one that exists."


def options(*declared: Callable[[C], C]) -> Callable[[C], C]:
    """Options of several commands, in the order of their help."""

    def declare(command: C) -> C:
        for each in reversed(declared):
            command = each(command)
        return command

    return declare


thinking_option: Final = click.option("--thinking", is_flag=True, help="Show what the model thinks, too.")


def _parse_permissions(_: click.Context, __: click.Parameter, typed: tuple[str, ...]) -> tuple[str, ...]:
    """Raises UsageError."""
    named = (current_key(each.strip()) for text in typed for each in text.split(","))
    found = tuple(dict.fromkeys(named))
    if unknown := [each for each in found if each not in ASKABLE]:
        raise UsageError(f"--ask {unknown[0]!r}: there is no such permission. There are: {', '.join(ASKABLE)}.")
    return found


ask_option: Final = click.option(
    "--ask",
    metavar="PERMISSIONS",
    multiple=True,
    callback=_parse_permissions,
    help="Ask first, for the whole session, whatever its rules allow: as in `--ask edit,bash`.",
)


def async_command(work: Callable[Concatenate[Settings, P], Coroutine[Any, Any, int | None]]) -> Callable[P, int]:
    """Make a click callback of a coroutine that gets the settings and returns the exit code."""

    @functools.wraps(work)
    def run(*args: P.args, **options: P.kwargs) -> int:
        return asyncio.run(work(Settings.read(), *args, **options)) or 0

    return run


class ListingGroup(click.Group):
    """A group of commands that without one runs its `list`, and takes the options of that, too."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        @click.pass_context
        def list_unless_named(context: click.Context, /, **options: Any) -> None:
            if context.invoked_subcommand is None:
                context.exit(context.invoke(cmd, **options))

        super().add_command(cmd, name)
        if cmd.name == "list":
            self.invoke_without_command, self.no_args_is_help = True, False
            self.params, self.callback = cmd.params, list_unless_named


def person_command(work: Callable[Concatenate[Settings, P], Coroutine[Any, Any, int | None]]) -> Callable[P, int]:
    """As `async_command`, but only people may decide this: raises UsageError within an agent's call."""

    async def decide(settings: Settings, /, *args: P.args, **options: P.kwargs) -> int | None:
        require_person(settings)
        return await work(settings, *args, **options)

    functools.update_wrapper(decide, work)
    return async_command(decide)


@asynccontextmanager
async def open_client(settings: Settings, *, with_worker: bool = False) -> AsyncIterator["SessionClient"]:
    """Start the stack if it is down or, `with_worker`, if its worker is. Raises Unavailable."""
    from worker.client import Holdfast  # start-up time: the database driver

    addresses = None if with_worker else find_endpoints(settings)
    async with Holdfast(settings, addresses or await start_stack(settings), passes_on=True) as holdfast:
        yield holdfast.as_(current_actor())


@asynccontextmanager
async def open_reader(settings: Settings, *, with_worker: bool = False) -> AsyncIterator["SessionClient"]:
    """As `open_client`, but starts no stack that was never started, or that was stopped. Raises as `require_stack`."""
    require_stack(settings)
    async with open_client(settings, with_worker=with_worker) as client:
        yield client


@asynccontextmanager
async def open_inbox(settings: Settings) -> AsyncIterator["InboxReader"]:
    """As `open_reader`."""
    from worker.inbox_reader import InboxReader, door_database  # as above

    require_stack(settings)
    async with door_database(find_endpoints(settings) or await start_stack(settings)) as database:
        yield InboxReader(database)


def find_endpoints(settings: Settings) -> Endpoints | None:
    """Also prints a note if the worker is of another release."""
    for notice in stack_notices(settings):
        print_note(notice)
    return endpoints(settings)


async def start_stack(settings: Settings, report: Callable[[str], None] | None = None) -> Endpoints:
    """`report` gets the progress, by default standard error."""
    if (ready := ready_endpoints(settings, report or print_note)) is not None:
        return ready
    from worker.stack.up import up  # start-up time

    return await up(settings, report or print_note)


def current_actor() -> Actor:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without an entry, as in containers
        user = f"uid {os.getuid()}"
    return Actor(subject=f"{user}@{socket.gethostname()}", method="cli")


def current_directory() -> Path:
    """Raises UsageError if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(DIRECTORY_GONE) from None


def require_text(typed: str) -> str:
    """Returns `typed`. Raises UsageError for text that no record can contain."""
    if any("\ud800" <= each <= "\udfff" for each in typed):
        raise UsageError(f"{typed!r} is no UTF-8 text: nothing is recorded under it.")
    return typed


def alert_terminal(settings: Settings) -> None:
    if settings.bell and sys.stderr.isatty():
        click.echo("\a", nl=False, err=True)


def confirm(question: str, *, yes: bool, refusal: str) -> None:
    """Raises UsageError(`refusal`) without terminal and `yes`, Abort on a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(refusal)
    click.confirm(question, abort=True, err=True)


def print_remarks(*remarks: str) -> None:
    """Notes that hold untrusted text."""
    for each in remarks:
        print_note(escape_prose(each))


def print_note(text: str) -> None:
    click.echo(wrap_words(text, terminal_columns(err=True)), err=True)
