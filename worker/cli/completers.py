"""Shell completion. Ids need a running stack; none is started."""

import asyncio
from typing import TYPE_CHECKING, Final

import click

from worker.settings import Settings
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import Prefix

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TIMEOUT: Final = 2.0  # seconds
_LAST: Final = "last"
_LONGEST: Final = 60  # characters of a title


def session(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Sessions, the last changed first."""
    from click.shell_completion import CompletionItem  # start-up time: every command imports this module

    last = [CompletionItem(_LAST, help="the session of this directory that was prompted last")]
    return [*(last if _LAST.startswith(incomplete) else ()), *_complete_ids(Prefix.SESSION, incomplete)]


def ask(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Open asks."""
    return _complete_ids(Prefix.ASK, incomplete)


def grant(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Valid grants."""
    return _complete_ids(Prefix.GRANT, incomplete)


def model(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Models as `holdfast models` lists them, or those of the typed provider."""
    return _complete_models(incomplete, models=True)


def provider(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Providers as `holdfast models` lists them."""
    return _complete_models(incomplete, models=False)


def _complete_models(incomplete: str, *, models: bool) -> "list[CompletionItem]":
    """No models or providers if they cannot be read, as in `_complete_ids`."""
    from click.shell_completion import CompletionItem  # as above

    # Only Tab needs what is below.
    from worker.cli import model_choices
    from worker.cli.working_directory import current_directory
    from worker.project_config import load_project_config

    try:
        settings = Settings.read()
        config = asyncio.run(load_project_config(settings, current_directory())).config
        known = model_choices.list_providers(settings, config)
    except HoldfastError:
        return []
    if models:
        ids = [incomplete.partition("/")[0]] if "/" in incomplete else known
        known = [each.model for each in model_choices.list_models(settings, config, ids, lambda _: None)]
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]


def _complete_ids(prefix: Prefix, incomplete: str) -> "list[CompletionItem]":
    """No ids if the database cannot be read: a message would end up in the typed line."""
    try:
        return asyncio.run(_query_ids(Settings.read(), prefix, incomplete))
    except (HoldfastError, TimeoutError):
        return []


async def _query_ids(settings: Settings, prefix: Prefix, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # as above

    # Only Tab needs what is below.
    from worker.cli.render.formatting import one_line
    from worker.inbox_reader import InboxReader, door_database
    from worker.stack.status import endpoints

    addresses = endpoints(settings)
    if addresses is None:
        return []
    async with asyncio.timeout(_TIMEOUT), door_database(addresses) as database:
        return [
            CompletionItem(each.id, help=one_line(each.title, _LONGEST))
            for each in await InboxReader(database).completions(prefix, incomplete)
        ]
