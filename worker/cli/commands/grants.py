"""`holdfast grants`: standing grants."""

from contextlib import suppress
from datetime import UTC, datetime

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import (
    ListingGroup,
    async_command,
    open_client,
    open_reader,
    person_command,
)
from worker.cli.render.escaping import escape_exact
from worker.cli.render.formatting import format_age, format_rule, pluralize
from worker.cli.render.text_table import format_listing
from worker.cli.render.wrap import wrap_text
from worker.settings import Settings
from workflows.domain.errors import NothingYet
from workflows.domain.views.grants import GrantEntry


@click.group(cls=ListingGroup)
def grants() -> None:
    """List standing grants, or revoke them.

    Without a command: `holdfast grants list`.

    \b
    Examples:
      holdfast grants --json
      holdfast grants revoke gra_…
    """


@grants.command("list")
@click.option("--all", "all_", is_flag=True, help="Those that were revoked or have expired, too.")
@async_command
@with_json("As a JSON array.")
async def list_(settings: Settings, all_: bool) -> CommandOutput:
    """List the grants that hold.

    \b
    Example:
      holdfast grants list --all
    """
    found: list[GrantEntry] = []
    with suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await client.grants.list_all(include_revoked=all_)
    rows = map(_row, found)
    return CommandOutput(found, lambda: format_listing(rows, _paragraph), empty="There are no standing grants.")


@grants.command()
@click.argument("grants", nargs=-1, required=True, metavar="GRANT...", shell_complete=completers.grant)
@person_command
async def revoke(settings: Settings, grants: tuple[str, ...]) -> None:
    """Revoke grants; calls that have not begun yet ask again.

    \b
    Example:
      holdfast grants revoke gra_…
    """
    async with open_client(settings) as client:
        for typed in grants:
            grant = await id_lookup.find_grant(client, typed)
            await client.grants.revoke(grant)
            click.echo(f"Revoked: {grant}")


def _row(row: GrantEntry) -> tuple[str, ...]:
    grant = row.grant
    where = escape_exact(row.project) if row.project else row.session
    since = f"{format_age(grant.time, datetime.now(UTC))} ago, by {escape_exact(grant.author)}"
    rule = format_rule(grant.permission, grant.patterns)
    return grant.id, _state(row), rule, f"{grant.scope} {where}", pluralize(row.uses, "use"), since


def _paragraph(row: tuple[str, ...], columns: int) -> list[str]:
    grant, state, rule, *others = row
    head = wrap_text(f"{grant}  {state}  {rule}", columns, 2)
    return [*head, *wrap_text(f"  {', '.join(others)}", columns, 2)]


def _state(row: GrantEntry) -> str:
    if row.revoked_at is not None:
        return f"revoked by {escape_exact(row.revoked_by or '')}"
    return "expired" if row.expired else "holds"
