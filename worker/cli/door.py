"""What every command starts with: the settings, who asks, and a client of a stack that serves."""

import asyncio
import functools
import os
import pwd
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

from worker.cli.look.wrap import flowed
from worker.settings import Settings
from worker.stack.state import Endpoints
from worker.stack.status import endpoints, noticed

if TYPE_CHECKING:
    from worker.client import SessionClient
    from worker.inbox import Inbox
    from workflows.domain.actor import Actor

P = ParamSpec("P")


def command(work: Callable[Concatenate[Settings, P], Awaitable[int | None]]) -> Callable[P, int]:
    """Make a command's coroutine what click calls: it gets the settings, and returns the exit code."""

    @functools.wraps(work)
    def run(*args: P.args, **options: P.kwargs) -> int:
        async def main() -> int | None:
            return await work(Settings.read(), *args, **options)

        return asyncio.run(main()) or 0

    return run


@asynccontextmanager
async def client(settings: Settings, *, working: bool = False) -> AsyncIterator["SessionClient"]:
    """A client of the stack, which is started when it does not run; `working`: with its worker.

    Raises Unavailable.
    """
    from worker.client import SessionClient  # commands that only look at the stack need no driver of its database

    places = None if working else found(settings)
    async with SessionClient(settings, places or await started(settings), actor(), passes_on=True) as opened:
        yield opened


@asynccontextmanager
async def inbox(settings: Settings) -> AsyncIterator["Inbox"]:
    """What waits for people, of a stack that is started when it does not run. Raises Unavailable."""
    from worker.inbox import Inbox  # as above

    async with Inbox(settings, found(settings) or await started(settings)) as opened:
        yield opened


def found(settings: Settings) -> Endpoints | None:
    """The addresses of a stack that serves. A worker of another Holdfast than this command is named."""
    for told in noticed(settings):
        say(told)
    return endpoints(settings)


async def started(settings: Settings, tell: Callable[[str], None] | None = None) -> Endpoints:
    """Have the stack serve, worker included; progress goes to standard error, or is told."""
    from worker.stack.up import up  # commands that find the stack running and only read need not load it

    return await up(settings, tell or say)


def actor() -> "Actor":
    """Who types: the user of this process, on this host."""
    from workflows.domain.actor import Actor  # as above

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without an entry, as in containers
        user = f"uid {os.getuid()}"
    return Actor(subject=f"{user}@{socket.gethostname()}", method="cli")


def ring(settings: Settings) -> None:
    """Sound the bell of the terminal, if there is one: whoever waits may look elsewhere."""
    if settings.bell and sys.stderr.isatty():
        click.echo("\a", nl=False, err=True)


def room() -> int | None:
    """How many columns standard error has; None when it is no terminal, so that nothing is fitted to it."""
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else None


def say(text: str) -> None:
    """Progress and notes for a person: they are no output, so they go to standard error."""
    columns = room()
    click.echo(text if columns is None else flowed(text, columns), err=True)
