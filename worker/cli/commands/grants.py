"""`holdfast grants`: standing grants."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from worker.cli import complete, door, find
from worker.cli.look.page import columns
from worker.cli.look.table import table
from worker.cli.look.text import age, counted, exact
from worker.cli.look.wrap import folded
from worker.client import GrantRow
from worker.settings import Settings

_ALL = click.option("--all", "all_", is_flag=True, help="Those that were revoked or have expired, too.")
_JSON = click.option("--json", "as_json", is_flag=True, help="As a JSON array.")


@click.group(invoke_without_command=True)
@_ALL
@_JSON
@click.pass_context
def grants(context: click.Context, all_: bool, as_json: bool) -> None:
    """List standing grants, or revoke them.

    Without a command: `holdfast grants list`.

    \b
    Examples:
      holdfast grants --json
      holdfast grants revoke gra_…
    """
    if context.invoked_subcommand is None:
        context.exit(context.invoke(list_, all_=all_, as_json=as_json))


@grants.command("list")
@_ALL
@_JSON
@door.command
async def list_(settings: Settings, all_: bool, as_json: bool) -> None:
    """List the grants that hold.

    \b
    Example:
      holdfast grants list --all
    """
    async with door.client(settings) as client:
        found = await client.grants(revoked_too=all_)
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    for row in table(map(_row, found)) if columns() is None else (row for each in found for row in _rows(each)):
        click.echo(row)
    if not found:
        door.say("There are no standing grants.")


@grants.command()
@click.argument("grants", nargs=-1, required=True, metavar="GRANT...", shell_complete=complete.grant)
@door.command
async def revoke(settings: Settings, grants: tuple[str, ...]) -> None:
    """Revoke grants; calls that have not begun yet ask again.

    \b
    Example:
      holdfast grants revoke gra_…
    """
    async with door.client(settings) as client:
        for typed in grants:
            grant = await find.grant(client, typed)
            await client.revoke(grant)
            click.echo(f"Revoked: {grant}")


def _row(row: GrantRow) -> tuple[str, ...]:
    grant = row.grant
    where = exact(row.project) if row.project else row.session
    since = f"{age(grant.time, datetime.now(UTC))} ago, by {exact(grant.author)}"
    rule = f"{exact(grant.permission)}: {exact(', '.join(grant.patterns))}"
    return grant.id, _state(row), rule, f"{grant.scope} {where}", counted(row.uses, "use"), since


def _rows(row: GrantRow) -> Iterator[str]:
    """The same for people, whose terminal has no room for all of it on one line."""
    grant, state, rule, *others = _row(row)
    yield from folded(f"{grant}  {state}  {rule}", columns(), 2)
    yield from folded(f"  {', '.join(others)}", columns(), 2)


def _state(row: GrantRow) -> str:
    if row.revoked_at is not None:
        return f"revoked by {exact(row.revoked_by or '')}"
    return "expired" if row.expired else "holds"
