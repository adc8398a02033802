"""`holdfast trust`: what of a project's configuration a person accepts."""

import json
import sys
from pathlib import Path

import click

from worker.cli.command_support import async_command, current_directory, open_client, open_reader, print_note
from worker.cli.confirmation import yes_option
from worker.cli.exit_codes import ExitCode
from worker.cli.person_check import require_person
from worker.cli.render import trust_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_exact
from worker.cli.trust_dialog import ACCEPTED, DECLINED, NEVER
from worker.project_config import find_project
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.trust_client import TrustListing, list_trust
from workflows.domain.errors import NothingYet, UsageError


@click.command()
@click.argument("directory", required=False, metavar="[DIRECTORY]", type=click.Path(file_okay=False))
@click.option("--show", is_flag=True, help="Show it, and decide nothing.")
@yes_option
@click.option("--revoke", is_flag=True, help="Let nothing count any more that was accepted for this project.")
@click.option("--verify", is_flag=True, help="Recompute the hash chains of all that was decided, in all projects.")
@click.option("--json", "as_json", is_flag=True, help="As JSON; without --yes or --revoke it decides nothing.")
@async_command
async def trust(
    settings: Settings, directory: str | None, show: bool, yes: bool, revoke: bool, verify: bool, as_json: bool
) -> ExitCode:
    """Accept what a project's configuration would start, redirect or allow.

    It shows each part with its file, in plain words. What you accept counts from the next turn on, for all sessions in
    the project: each thing that it starts or redirects as long as that stays exactly as it was shown, and its rules as
    long as none of them changes, and none of your own files'. The command shows what has changed.

    \b
    Examples:
      holdfast trust
      holdfast trust --show --json
      holdfast trust --yes ~/code/shop
      holdfast trust --revoke
    """
    if show + yes + revoke + verify > 1:
        raise UsageError("--show, --yes, --revoke and --verify each do something else: give one of them.")
    where = Path(directory).resolve() if directory is not None else current_directory()
    if not where.is_dir():
        raise UsageError(f"There is no directory {str(where)!r}.")
    if yes or revoke:
        require_person(settings)
    if verify:
        return await _verify(settings)
    if show or (as_json and not (yes or revoke)):
        return _print_listing(await _read_listing(settings, where), whole=show, as_json=as_json)
    async with open_client(settings) as client:
        if revoke:
            project = find_project(settings, where)  # also where its files cannot be read
            await client.trust.revoke(str(project.root), str(project.directory))
            print_note(
                f"Revoked: nothing of the configuration of {escape_exact(str(project.root))} counts as your own."
            )
            return ExitCode.DONE
        listing = await list_trust(settings, client.trust, where)
        if listing.accepted or not listing.content.items:
            return _print_listing(listing, whole=False, as_json=as_json)
        _print_items(listing, whole=False, as_json=as_json)
        return await _decide(settings, client, listing, yes=yes)


async def _read_listing(settings: Settings, where: Path) -> TrustListing:
    try:
        async with open_reader(settings) as client:
            return await list_trust(settings, client.trust, where)
    except NothingYet:
        return await list_trust(settings, None, where)


def _print_items(listing: TrustListing, *, whole: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(trust_page.to_json(listing), indent=2))
    else:
        print_rows(trust_page.render_listing(listing, terminal_columns(), whole=whole))


def _print_listing(listing: TrustListing, *, whole: bool, as_json: bool) -> ExitCode:
    """With what was decided."""
    _print_items(listing, whole=whole, as_json=as_json)
    if listing.content.items and not as_json:
        print_note(trust_page.describe_decision(listing))
        print_note(f"Its digest, for `holdfast run --trust`: {listing.content.digest}")
    return ExitCode.DONE


async def _decide(settings: Settings, client: SessionClient, listing: TrustListing, *, yes: bool) -> ExitCode:
    """Raises UsageError without a terminal to ask on, or where nothing may be accepted."""
    if not listing.checked.may_be_accepted:
        raise UsageError(NEVER)
    if not (yes or sys.stdin.isatty()):
        raise UsageError("Nothing was accepted. Without a terminal to ask on, --yes is needed; --show only shows it.")
    require_person(settings)
    accept = yes or click.confirm("Accept it?", default=False, err=True)
    await client.trust.decide(listing, accept=accept)
    print_note(ACCEPTED if accept else DECLINED)
    return ExitCode.DONE if accept else ExitCode.FAILED


async def _verify(settings: Settings) -> ExitCode:
    try:
        async with open_reader(settings) as client:
            found = await client.trust.verify()
    except NothingYet:
        found = []
    for each in found:
        problem = each.problem or "the chain is whole"
        click.echo(f"{escape_exact(each.trust.removeprefix(':'))}: {each.records} records: {problem}")
    if not found:
        print_note("Nobody has decided anything yet.")
    return ExitCode.DONE if all(each.problem is None for each in found) else ExitCode.FAILED
