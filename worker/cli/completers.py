"""Shell completion, without starting a stack."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from worker.cli.render.escaping import one_line
from worker.settings import Settings
from worker.stack.status import endpoints
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import Prefix

_TIMEOUT: Final = 2.0  # seconds
_LONGEST: Final = 60  # characters of a title
_LAST: Final = CompletionItem("last", help="the session of this directory that was prompted last")

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(find: Callable[[click.Context, str], Coroutine[Any, Any, Sequence[CompletionItem]]]) -> Completer:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Empty if it cannot be read: a message would end up in the typed line."""
        try:
            return [each for each in asyncio.run(find(context, incomplete)) if each.value.startswith(incomplete)]
        except (HoldfastError, TimeoutError):
            return []

    return complete


async def _find_ids(prefix: Prefix | None, context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Ids with this prefix, or (None) the tokens of waits for a poke."""
    from worker.inbox_reader import InboxReader, door_database  # start-up time: the database driver

    addresses = endpoints(Settings.read())
    if addresses is None:
        return []
    async with asyncio.timeout(_TIMEOUT), door_database(addresses) as database:
        inbox = InboxReader(database)
        if prefix is None:
            return [CompletionItem(each) for each in sorted(await inbox.tokens())]
        found = await inbox.completions(prefix, incomplete)
    return [CompletionItem(each.id, help=one_line(each.title, _LONGEST)) for each in found]


async def _find_names(noun: str, context: click.Context, incomplete: str) -> list[CompletionItem]:
    """What `configured_names` has of a noun."""
    from worker.cli import configured_names  # start-up time: the configuration and the tables of models

    found = await getattr(configured_names, noun)(Settings.read(), context.params, incomplete)
    return [CompletionItem(each) for each in found]


def session(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    last = [_LAST] if "last".startswith(incomplete) else []
    return [*last, *_completer(partial(_find_ids, Prefix.SESSION))(context, parameter, incomplete)]


ask: Final = _completer(partial(_find_ids, Prefix.ASK))
grant: Final = _completer(partial(_find_ids, Prefix.GRANT))
schedule: Final = _completer(partial(_find_ids, Prefix.SCHEDULE))
token: Final = _completer(partial(_find_ids, None))
model: Final = _completer(partial(_find_names, "models"))
provider: Final = _completer(partial(_find_names, "providers"))
known_provider: Final = _completer(partial(_find_names, "known_providers"))
stored_provider: Final = _completer(partial(_find_names, "stored_providers"))
key_name: Final = _completer(partial(_find_names, "key_names"))
variant: Final = _completer(partial(_find_names, "variants"))
agent: Final = _completer(partial(_find_names, "agents"))
any_agent: Final = _completer(partial(_find_names, "all_agents"))
command: Final = _completer(partial(_find_names, "commands"))
