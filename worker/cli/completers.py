"""Shell completion, without starting a stack."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from worker.settings import Settings
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import Prefix

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TIMEOUT: Final = 2.0  # seconds
_LONGEST: Final = 60  # characters of a title


def _complete_ids(
    prefix: Prefix, context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Empty if the database cannot be read: a message would end up in the typed line."""
    from click.shell_completion import CompletionItem  # start-up time

    last = CompletionItem("last", help="the session of this directory that was prompted last")
    found = [last] if prefix is Prefix.SESSION and "last".startswith(incomplete) else []
    try:
        return [*found, *asyncio.run(_query_ids(Settings.read(), prefix, incomplete))]
    except (HoldfastError, TimeoutError):
        return found


async def _query_ids(settings: Settings, prefix: Prefix, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # start-up time

    # As above.
    from worker.cli.render.escaping import one_line
    from worker.inbox_reader import InboxReader, door_database
    from worker.stack.status import endpoints

    addresses = endpoints(settings)
    if addresses is None:
        return []
    async with asyncio.timeout(_TIMEOUT), door_database(addresses) as database:
        found = await InboxReader(database).completions(prefix, incomplete)
    return [CompletionItem(each.id, help=one_line(each.title, _LONGEST)) for each in found]


def _complete_models(
    context: click.Context, parameter: click.Parameter, incomplete: str, *, providers: bool = False
) -> list[str]:
    # Start-up time.
    from worker.cli import model_choices
    from worker.cli.command_support import current_directory
    from worker.project_config import load_project_config

    try:
        settings = Settings.read()
        config = asyncio.run(load_project_config(settings, current_directory())).config
        known = model_choices.list_providers(settings, config)
    except HoldfastError:
        return []
    if not providers:
        ids = [incomplete.partition("/")[0]] if "/" in incomplete else known
        known = [each.model for each in model_choices.list_models(settings, config, ids, lambda _: None)]
    return [name for name in known if name.startswith(incomplete)]


def _complete_known_providers(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from activities.model.providers import PROVIDERS  # start-up time

    return sorted(id for id in PROVIDERS if id.startswith(incomplete))


def _complete_keys(
    context: click.Context, parameter: click.Parameter, incomplete: str, *, names: bool = False
) -> list[str]:
    from activities.model.keys import Keys  # start-up time

    try:
        entries = Keys(Settings.read().auth).entries()
    except HoldfastError:
        return []
    wanted = context.params.get("provider")
    found = [name for provider, name in entries if name and provider == wanted] if names else [id for id, _ in entries]
    return sorted({each for each in found if each.startswith(incomplete)})


def _complete_variants(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The variants of the model that the line names, else of the configured one."""
    # Start-up time.
    from worker.cli import model_choices
    from worker.cli.command_support import current_directory
    from worker.project_config import effective_model, load_project_config

    try:
        settings = Settings.read()
        turn_config = asyncio.run(load_project_config(settings, current_directory()))
        named = effective_model(turn_config, context.params.get("model"))
        known = model_choices.list_variants(settings, turn_config.config, named) if named else ()
    except HoldfastError:
        return []
    return [name for name in known if name.startswith(incomplete)]


def _complete_agents(
    context: click.Context, parameter: click.Parameter, incomplete: str, *, every: bool = False
) -> list[str]:
    """The agents of this directory that people may choose; `every`: all."""
    # Start-up time.
    from worker.cli.command_support import current_directory
    from worker.project_config import load_project_config

    try:
        found = asyncio.run(load_project_config(Settings.read(), current_directory())).delegation.agents
    except HoldfastError:
        return []
    known = (each.name for each in found if every or (each.selectable and not each.hidden))
    return sorted(name for name in known if name.startswith(incomplete))


def _complete_commands(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    # Start-up time.
    from worker.cli.command_support import current_directory
    from worker.project_config import load_commands, load_project_config

    async def load() -> list[str]:
        settings = Settings.read()
        found = await load_commands(settings, await load_project_config(settings, current_directory()))
        return [name for name in found.commands if name.startswith(incomplete)]

    try:
        return asyncio.run(load())
    except HoldfastError:
        return []


def _complete_tokens(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The tokens of waits for a poke."""
    try:
        found = asyncio.run(_query_tokens(Settings.read()))
    except (HoldfastError, TimeoutError):
        return []
    return [name for name in sorted(found) if name.startswith(incomplete)]


async def _query_tokens(settings: Settings) -> set[str]:
    # Start-up time.
    from worker.inbox_reader import InboxReader, door_database
    from worker.stack.status import endpoints

    addresses = endpoints(settings)
    if addresses is None:
        return set()
    async with asyncio.timeout(_TIMEOUT), door_database(addresses) as database:
        return await InboxReader(database).tokens()


session: Final = partial(_complete_ids, Prefix.SESSION)
ask: Final = partial(_complete_ids, Prefix.ASK)
grant: Final = partial(_complete_ids, Prefix.GRANT)
schedule: Final = partial(_complete_ids, Prefix.SCHEDULE)
model: Final = _complete_models
provider: Final = partial(_complete_models, providers=True)
known_provider: Final = _complete_known_providers
stored_provider: Final = _complete_keys
key_name: Final = partial(_complete_keys, names=True)
variant: Final = _complete_variants
agent: Final = _complete_agents
command: Final = _complete_commands
any_agent: Final = partial(_complete_agents, every=True)
token: Final = _complete_tokens
