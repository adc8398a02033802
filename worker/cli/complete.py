"""What a shell is told when somebody presses Tab: commands, and the ids of a stack that serves; none is started."""

import asyncio
from typing import TYPE_CHECKING, Final

import click

from worker.settings import Settings
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import Prefix

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_PATIENCE: Final = 2.0  # seconds: somebody waits with a finger on the key
_LAST: Final = "last"
_LONGEST: Final = 60  # characters of a title


def session(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Sessions, the last changed first."""
    from click.shell_completion import CompletionItem  # every command has this module for its arguments

    last = [CompletionItem(_LAST, help="the session of this directory that was prompted last")]
    return [*(last if _LAST.startswith(begun) else ()), *_ids(Prefix.SESSION, begun)]


def ask(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Asks that wait."""
    return _ids(Prefix.ASK, begun)


def grant(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Grants that hold."""
    return _ids(Prefix.GRANT, begun)


def _ids(prefix: Prefix, begun: str) -> "list[CompletionItem]":
    """What cannot be completed is no error: a message would stand amid what is typed."""
    try:
        return asyncio.run(_asked(Settings.read(), prefix, begun))
    except (HoldfastError, TimeoutError):
        return []


async def _asked(settings: Settings, prefix: Prefix, begun: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # as above

    # Only Tab needs what is below.
    from worker.cli.look.text import line
    from worker.inbox import Inbox
    from worker.stack.status import endpoints

    places = endpoints(settings)
    if places is None:
        return []
    async with asyncio.timeout(_PATIENCE), Inbox(settings, places) as inbox:
        return [CompletionItem(each.id, help=line(each.title, _LONGEST)) for each in await inbox.known(prefix, begun)]
