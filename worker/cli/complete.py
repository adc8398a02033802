"""What a shell is told when somebody presses Tab: commands, models, and ids of a stack that serves; none is started."""

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


def model(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Models as `holdfast models` lists them; behind a provider's name, those of that provider."""
    return _chosen(begun, models=True)


def provider(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """The providers that `holdfast models` lists."""
    return _chosen(begun, models=False)


def _chosen(begun: str, *, models: bool) -> "list[CompletionItem]":
    """What cannot be read is no error here, as below."""
    from click.shell_completion import CompletionItem  # as above

    # Only Tab needs what is below.
    from worker.cli import choices
    from worker.cli.current import current_directory
    from worker.survey import survey

    try:
        settings = Settings.read()
        config = asyncio.run(survey(settings, current_directory())).config
        known = choices.providers(settings, config)
    except HoldfastError:
        return []
    if models:
        ids = [begun.partition("/")[0]] if "/" in begun else known
        known = [each.model for each in choices.models(config, ids, lambda _: None)]
    return [CompletionItem(name) for name in known if name.startswith(begun)]


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
