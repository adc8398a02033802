"""`--at`, `--every` and what belongs to them: options of `holdfast run`, and the schedule that they make."""

import functools
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

import click

from activities.shell.environment import session_environment
from worker.cli import id_lookup
from worker.cli.command_support import current_directory, open_client, options, print_note, print_remarks
from worker.cli.exit_codes import ExitCode
from worker.cli.render import schedule_text
from worker.cli.run_start import RunArguments
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.turn_preparation import Preparation, prepare_next_turn
from workflows.domain.config.config import Budgets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.ids import schedule_id_for
from workflows.domain.schedules.decision import Missed, Overlap
from workflows.domain.schedules.recurrence import Interval, Once
from workflows.domain.schedules.timing import parse_at, parse_every
from workflows.domain.value import Value
from workflows.domain.views.schedules import ScheduleEntry, ScheduleTiming

_LOCALTIME: Final = Path("/etc/localtime")
_UTC: Final = "Etc/UTC"


class ScheduleOptions(Value):
    """`overlap` None: what fits new sessions, or an existing one."""

    at: str | None
    every: str | None
    zone: str | None
    overlap: Overlap | None
    missed: Missed | None

    def timing(self, environment: Mapping[str, str], now: datetime) -> ScheduleTiming:
        """Raises UsageError."""
        name = self.zone or local_zone(environment, _LOCALTIME)
        zone = _require_zone(name)
        if self.every is not None:
            recurrence = parse_every(self.every)
            words = " ".join(self.every.split())
            if isinstance(recurrence, Interval):
                words = f"every {words.lower().removeprefix('every ')}"
            return ScheduleTiming(words=words, recurrence=recurrence, zone=name)
        moment = parse_at(self.at or "", now, zone)
        words = f"once, {moment.astimezone(zone):%Y-%m-%d %H:%M}"
        return ScheduleTiming(words=words, recurrence=Once(at=moment), zone=name)

    def refuse_following(self, given: Mapping[str, bool]) -> None:
        """Raises UsageError for options of a task that begins now."""
        if named := next((name for name, set_ in given.items() if set_), None):
            raise UsageError(f"{named} is for a task that begins now: with --at or --every it begins later.")


def _require_zone(name: str) -> ZoneInfo:
    """Raises UsageError."""
    if name not in available_timezones():
        raise UsageError(f"{name!r} is no time zone that is known here: write its IANA name, as in Europe/Berlin.")
    return ZoneInfo(name)


def local_zone(environment: Mapping[str, str], localtime: Path) -> str:
    """The IANA name of this machine's or shell's time zone. Raises UsageError for a TZ of another form."""
    named = environment.get("TZ", "").removeprefix(":")
    if named.startswith("/"):
        localtime = Path(named)
    elif named:
        if named not in available_timezones():
            raise UsageError(f"TZ is {named!r}, which is no time zone's IANA name: give one with --timezone.")
        return named
    _, found, name = os.path.realpath(localtime).rpartition("/zoneinfo/")
    return name if found and name in available_timezones() else _UTC


_OPTIONS: Final = options(
    click.option("--at", metavar="WHEN", help='Begin then, as in 02:00 or "2026-12-01 02:00", and end here.'),
    click.option("--every", metavar="TIMES", help='Begin again and again, as in "weekdays 7:00", 2h, "30 7 * * 1-5".'),
    click.option("--timezone", metavar="ZONE", help="Of --at and --every; without it, this machine's."),
    click.option(
        "--overlap",
        type=click.Choice([each.value for each in Overlap]),
        help="At a time when the run before is at work: leave it out (the default for new sessions), or run after it.",
    ),
    click.option(
        "--missed",
        type=click.Choice([each.value for each in Missed]),
        help="What was missed while all was down: run once, late (the default), or leave it out.",
    ),
)


def schedule_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command's callback, which gets `schedule`: None without --at and --every."""

    @functools.wraps(command)
    def with_schedule(
        *arguments: Any,
        at: str | None,
        every: str | None,
        timezone: str | None,
        overlap: str | None,
        missed: str | None,
        **typed: Any,
    ) -> int:
        if at is not None and every is not None:
            raise UsageError("--at and --every both say when: give one of them, or make two schedules.")
        belonging = {"--timezone": timezone, "--overlap": overlap, "--missed": missed}
        if at is None and every is None:
            if lone := next((name for name, value in belonging.items() if value is not None), None):
                raise UsageError(f"{lone} belongs to --at or --every.")
            return command(*arguments, schedule=None, **typed)
        schedule = ScheduleOptions(
            at=at,
            every=every,
            zone=timezone,
            overlap=Overlap(overlap) if overlap else None,
            missed=Missed(missed) if missed else None,
        )
        return command(*arguments, schedule=schedule, **typed)

    return _OPTIONS(with_schedule)


async def create_schedule(
    settings: Settings,
    request: RunArguments,
    options: ScheduleOptions,
    prepared: Preparation | None,
    *,
    as_json: bool,
) -> ExitCode:
    """`prepared`: the sessions that it starts; None: it prompts an existing one. Raises UsageError."""
    timing = options.timing(settings.environment, datetime.now(UTC))
    if request.config is not None:
        raise UsageError(f"--config {request.config} is for a prompt of now: `holdfast run -s SESSION --config here`.")
    if prepared is not None:
        await prepared.hand_over_credentials()
    async with open_client(settings, with_worker=True) as client:
        if prepared is None:
            entry = await _prompt_session(client, request, timing, options)
        else:
            entry = await _start_sessions(client, request, timing, options, prepared)
    if as_json:
        click.echo(json.dumps(entry.model_dump(mode="json")))  # its prompt may hold bytes that are no UTF-8
        return ExitCode.DONE
    click.echo(entry.id)
    for note in schedule_text.describe_created(entry, datetime.now(UTC)):
        print_note(note)
    if prepared is not None and not _is_limited(request, prepared.require_config()):
        each = "It" if isinstance(timing.recurrence, Once) else "Each run"
        print_note(f"{each} may cost what its agent uses: no limit is set, such as --max-cost 2.")
    return ExitCode.DONE


async def _start_sessions(
    client: SessionClient,
    request: RunArguments,
    timing: ScheduleTiming,
    options: ScheduleOptions,
    prepared: Preparation,
) -> ScheduleEntry:
    request = await request.expand(client.settings, prepared)
    return await client.schedules.start_sessions(
        str(current_directory()),
        request.first_message(prepared),
        timing,
        title=request.title,
        environment=session_environment(client.settings.environment),
        sources=prepared.sources,
        turn_config=prepared.turn_config,
        limits=request.limits.session,
        overlap=options.overlap or Overlap.SKIP,
        missed=options.missed or Missed.RUN,
        schedule=schedule_id_for(request.prompt) if request.prompt else None,
    )


async def _prompt_session(
    client: SessionClient, request: RunArguments, timing: ScheduleTiming, options: ScheduleOptions
) -> ScheduleEntry:
    if request.limits.session is not None:
        raise UsageError(
            "Limits are for sessions that a schedule starts: `holdfast send SESSION --max-cost …` limits this one."
        )
    if request.ask:
        raise UsageError("--ask is for sessions that a schedule starts, or for a prompt of now.")
    overview = await client.sessions.get(await id_lookup.find_session(client, request.session or id_lookup.LAST))
    prepared = await prepare_next_turn(client, overview, request.typed)
    print_remarks(*prepared.remarks)
    request = await request.expand(client.settings, prepared, overview.model)
    await prepared.hand_over_credentials()
    return await client.schedules.prompt_session(
        overview.id,
        request.message,
        timing,
        overlap=options.overlap or Overlap.QUEUE,
        missed=options.missed or Missed.RUN,
        schedule=schedule_id_for(request.prompt) if request.prompt else None,
    )


def _is_limited(request: RunArguments, turn_config: TurnConfig) -> bool:
    chosen = (request.limits.session, request.limits.turn)
    return turn_config.config.holdfast.budget != Budgets() or any(limits and limits.any for limits in chosen)
