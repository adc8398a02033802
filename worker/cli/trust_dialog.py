"""Asks a person whether a project's configuration counts: once for each content."""

from pathlib import Path
from typing import Final

import click

from worker.cli.command_support import open_client, print_note
from worker.cli.person_check import agents_call, require_person
from worker.cli.render import trust_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.formatting import pluralize
from worker.cli.terminal_input import is_interactive
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.trust_client import TrustListing, list_trust
from workflows.domain.errors import UsageError

_CHOICES: Final = "y accepts them, n ignores them and does not ask again, s shows them, Enter decides later."
ACCEPTED: Final = "Accepted: it counts from the next turn on, each part as long as it stays as it is."
DECLINED: Final = "It stays ignored, and you are not asked again until it changes. `holdfast trust` accepts it later."
NEVER: Final = "Nothing may be accepted here: the field `holdfast.trust` says `never`."


async def decide_at_start(settings: Settings, directory: Path, digest: str | None) -> None:
    """Accept exactly the content with this digest; without one, ask about what the project would start or redirect, as
    long as nobody has decided. It starts the stack, as the run would. Raises UsageError."""
    if digest is not None:
        require_person(settings)
    async with open_client(settings, with_worker=True) as client:
        listing = await list_trust(settings, client.trust, directory)
        if digest is not None:
            await _accept(client, listing, digest)
        elif listing.undecided and is_interactive() and agents_call(settings) is None:
            await _ask(client, listing)


async def _accept(client: SessionClient, listing: TrustListing, digest: str) -> None:
    if listing.content.digest != digest:
        raise UsageError(
            f"What this project's files would start, redirect and allow is not what --trust names, but "
            f"{listing.content.digest}: look at it with `holdfast trust --show`."
        )
    if not listing.content.items or listing.accepted:
        return
    if not listing.checked.may_be_accepted:
        raise UsageError(NEVER)
    await client.trust.decide(listing, accept=True)


async def _ask(client: SessionClient, listing: TrustListing) -> None:
    count = pluralize(len(listing.pending_starts), "thing")
    changed = "What you or others have accepted of it has changed. " if listing.changes else ""
    print_note(
        f"The configuration of this project has {count} that would start something, or redirect your agents. "
        f"{changed}They are not there until you accept them, with the project's rules: {_CHOICES}"
    )
    while True:
        answer = click.prompt("Accept (y/n/s)", default="", show_default=False, err=True).strip().lower()
        match answer[:1]:
            case "s":
                print_rows(trust_page.render_listing(listing, terminal_columns(err=True)), err=True)
            case "y" | "n":
                accept = answer[:1] == "y"
                await client.trust.decide(listing, accept=accept)
                print_note(ACCEPTED if accept else DECLINED)
                return
            case "":
                return
