"""`holdfast schedules`: prompts at set times."""

import json
import sys
from contextlib import nullcontext, suppress
from datetime import UTC, datetime

import click

from worker.cli import completers, confirmation, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import (
    ListingGroup,
    async_command,
    confirm,
    open_client,
    open_reader,
    person_command,
    print_note,
)
from worker.cli.exit_codes import ExitCode
from worker.cli.render import schedule_text
from worker.cli.render.escaping import escape_exact
from worker.cli.render.text_table import format_listing
from worker.cli.render.wrap import wrap_for_stdout, wrap_text
from worker.settings import Settings
from workflows.domain.errors import NothingYet
from workflows.domain.views.schedules import ScheduleEntry, ScheduleVerification

_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")
_ONE = click.argument("schedule", shell_complete=completers.schedule)
_SEVERAL = click.argument(
    "schedules", nargs=-1, required=True, metavar="SCHEDULE...", shell_complete=completers.schedule
)


@click.group(cls=ListingGroup)
def schedules() -> None:
    """List or change schedules, which prompt at set times.

    `holdfast run --at WHEN` and `run --every TIMES` make schedules. Without a command: `holdfast schedules list`.

    \b
    Examples:
      holdfast schedules
      holdfast schedules pause sch_… -m "until the release"
      holdfast schedules trigger sch_…
      holdfast schedules verify
    """


@schedules.command("list")
@click.option("--all", "all_", is_flag=True, help="Those that are done or were deleted, too.")
@async_command
@with_json()
async def list_(settings: Settings, all_: bool) -> CommandOutput:
    """List the schedules, the next due first.

    \b
    Example:
      holdfast schedules list --all
    """
    found: list[ScheduleEntry] = []
    with suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await client.schedules.list_all(include_over=all_)
    now, none = datetime.now(UTC), 'There are no schedules: `holdfast run --every "weekdays 7:00" …` makes one.'
    rows = (_row(each, now) for each in found)
    return CommandOutput(found, lambda: format_listing(rows, _paragraph), empty=none)


@schedules.command()
@_ONE
@async_command
@with_json()
async def show(settings: Settings, schedule: str) -> CommandOutput:
    """Show a schedule: its prompt, its times, and what came of them.

    \b
    Example:
      holdfast schedules show sch_…
    """
    async with open_reader(settings) as client:
        entry = await client.schedules.get(await id_lookup.find_schedule(client, schedule))
        events = await client.schedules.events(entry.id)
    rows = schedule_text.render_schedule(entry, events, datetime.now(UTC))
    text = (wrap_for_stdout(row, 4) for row in rows)
    return CommandOutput(entry.model_dump(mode="json") | {"events": events}, lambda: "\n".join(text))


@schedules.command()
@click.argument("schedules", nargs=-1, metavar="[SCHEDULE]...", shell_complete=completers.schedule)
@_JSON
@async_command
async def verify(settings: Settings, schedules: tuple[str, ...], as_json: bool) -> ExitCode:
    """Recompute the hash chains of what was done with schedules.

    Without a schedule: of all, with those that are done or were deleted. Ends with code 1 where a record was changed,
    removed or added, or a prompt or a note was changed.

    \b
    Examples:
      holdfast schedules verify
      holdfast schedules verify sch_…
    """
    found: list[ScheduleVerification] = []
    with nullcontext() if schedules else suppress(NothingYet):
        async with open_reader(settings) as client:
            named = [await id_lookup.find_schedule(client, typed) for typed in schedules]
            ids = named or [each.id for each in await client.schedules.list_all(include_over=True)]
            found = [await client.schedules.verify(each) for each in ids]
    for verified in found:
        click.echo(verified.model_dump_json() if as_json else schedule_text.describe_verified(verified))
    if not found:
        print_note("There are no schedules.")
    return ExitCode.DONE if all(verified.problem is None for verified in found) else ExitCode.FAILED


@schedules.command()
@_SEVERAL
@click.option("-m", "--message", metavar="TEXT", help="The reason, which the list of schedules shows.")
@_JSON
@async_command
async def pause(settings: Settings, schedules: tuple[str, ...], message: str | None, as_json: bool) -> None:
    """Pause schedules: what falls into the pause does not run.

    A run that has begun goes on.

    \b
    Example:
      holdfast schedules pause sch_… -m "until the release"
    """
    async with open_client(settings) as client:
        for typed in schedules:
            schedule = await id_lookup.find_schedule(client, typed)
            await client.schedules.pause(schedule, message)
            _print_entry(await client.schedules.get(schedule), as_json)


@schedules.command()
@_SEVERAL
@_JSON
@person_command
async def resume(settings: Settings, schedules: tuple[str, ...], as_json: bool) -> None:
    """Let paused schedules go on, from their next times.

    \b
    Examples:
      holdfast schedules resume sch_…
      holdfast schedules unpause sch_…
    """
    async with open_client(settings) as client:
        for typed in schedules:
            schedule = await id_lookup.find_schedule(client, typed)
            await client.schedules.resume(schedule)
            _print_entry(await client.schedules.get(schedule), as_json)


schedules.add_command(resume, "unpause")


@schedules.command()
@_ONE
@async_command
@with_json()
async def trigger(settings: Settings, schedule: str) -> CommandOutput:
    """Run a schedule now, as you; its times stay as they are.

    It runs although it is paused, or the run before is at work.

    \b
    Example:
      holdfast schedules trigger sch_…
    """
    async with open_client(settings, with_worker=True) as client:
        fired = await client.schedules.trigger(await id_lookup.find_schedule(client, schedule))
    hint = f"It works in the background. To follow it: holdfast watch {fired.session}"
    return CommandOutput(fired, lambda: fired.session, remarks=[hint])


@schedules.command()
@_SEVERAL
@confirmation.yes_option
@_JSON
@person_command
async def delete(settings: Settings, schedules: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete schedules: erase what they prompt.

    Their sessions stay, and so does who made and who deleted them. On a terminal it asks first.

    \b
    Example:
      holdfast schedules delete sch_…
    """
    async with open_client(settings) as client:
        for typed in schedules:
            entry = await client.schedules.get(await id_lookup.find_schedule(client, typed))
            named = f"{schedule_text.describe_prompt(entry)!r} ({entry.id})"
            confirm(f"Delete the schedule {named}?", yes=yes or not sys.stdin.isatty(), refusal="")
            await client.schedules.delete(entry.id)
            if as_json:
                click.echo(json.dumps({"schedule": entry.id}))
            else:
                click.echo(f"Deleted: {named}")


def _print_entry(entry: ScheduleEntry, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(entry.model_dump(mode="json")))  # a prompt may hold bytes that are no UTF-8
        return
    click.echo(f"{entry.id}: {schedule_text.describe_state(entry, datetime.now(UTC))}")


def _row(entry: ScheduleEntry, now: datetime) -> tuple[str, ...]:
    where = entry.session or escape_exact(entry.directory or "")
    state = schedule_text.describe_state(entry, now)
    return (
        *(entry.id, schedule_text.describe_timing(entry), state, schedule_text.describe_prompt(entry), where),
        schedule_text.describe_last(entry),
    )


def _paragraph(row: tuple[str, ...], columns: int) -> list[str]:
    schedule, timing, state, prompt, where, last = row
    first = wrap_text(f"{prompt}  {timing}", columns, 2)
    return [*first, *wrap_text(f"  {schedule}  {state}", columns, 2), *wrap_text(f"  {where}; {last}", columns, 2)]
