"""Asks a person whether a project's configuration counts: once for each content."""

from pathlib import Path
from typing import Final

import click

from worker.cli.command_support import open_client, print_note
from worker.cli.person_check import agents_call
from worker.cli.render import trust_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.formatting import pluralize
from worker.cli.terminal_input import is_interactive
from worker.cli.trust_listing import TrustListing, list_trust
from worker.session_client import SessionClient
from worker.settings import Settings

_CHOICES: Final = "y accepts them, n ignores them and does not ask again, s shows them, Enter decides later."
ACCEPTED: Final = "Accepted: it counts as your own from the next turn on, as long as it stays as it is."
DECLINED: Final = "It stays ignored, and you are not asked again until it changes. `holdfast trust` accepts it later."


async def ask_at_start(settings: Settings, directory: Path) -> None:
    """Ask about settings of the project that are ignored until a person decides. It starts the stack, as the run
    would."""
    async with open_client(settings, with_worker=True) as client:
        listing = await list_trust(settings, client, directory)
        undecided = listing.decision is None and listing.checked.may_be_accepted
        if undecided and is_interactive() and agents_call(settings) is None:
            await _ask(client, listing)


async def _ask(client: SessionClient, listing: TrustListing) -> None:
    count = pluralize(sum(1 for _ in listing.content.leaves()), "part")
    changed = "What you or others have accepted of it has changed. " if listing.changes else ""
    print_note(
        f"The configuration of this project has {count} that would redirect requests, loosen your rules or the like. "
        f"{changed}They have no effect until you accept them: {_CHOICES}"
    )
    while True:
        answer = click.prompt("Accept (y/n/s)", default="", show_default=False, err=True).strip().lower()
        match answer[:1]:
            case "s":
                print_rows(trust_page.render_listing(listing, terminal_columns(err=True)), err=True)
            case "y" | "n":
                accept = answer[:1] == "y"
                await client.trust.decide(listing.root, listing.directory, listing.content, accept=accept)
                print_note(ACCEPTED if accept else DECLINED)
                return
            case "":
                return
