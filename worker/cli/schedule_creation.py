"""`holdfast run` with --at or --every: makes a schedule."""

import json
from datetime import UTC, datetime

import click

from activities.shell.environment import session_environment
from worker.api.schedules import ScheduleEntry, ScheduleTiming
from worker.cli import id_lookup, session_preparation
from worker.cli.command_support import current_directory, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render import schedule_text
from worker.cli.run_start import RunArguments
from worker.cli.schedule_options import ScheduleOptions
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.config.config import Budgets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.ids import schedule_id_for
from workflows.domain.schedules.decision import Missed, Overlap
from workflows.domain.schedules.recurrence import Once


async def create_schedule(
    settings: Settings,
    request: RunArguments,
    options: ScheduleOptions,
    turn_config: TurnConfig | None,
    *,
    as_json: bool,
) -> ExitCode:
    """`turn_config`: of the sessions that it starts; None: it prompts an existing one. Raises UsageError."""
    timing = options.timing(settings.environment, datetime.now(UTC))
    if request.config is not None:
        raise UsageError(f"--config {request.config} is for a prompt of now: `holdfast run -s SESSION --config here`.")
    async with open_client(settings, with_worker=True) as client:
        if turn_config is None:
            entry = await _prompt_session(client, request, timing, options)
        else:
            entry = await _start_sessions(client, request, timing, options, turn_config)
    if as_json:
        click.echo(json.dumps(entry.model_dump(mode="json")))  # its prompt may hold bytes that are no UTF-8
        return ExitCode.DONE
    click.echo(entry.id)
    for note in schedule_text.describe_created(entry, datetime.now(UTC)):
        print_note(note)
    if turn_config is not None and not _is_limited(request, turn_config):
        each = "It" if isinstance(timing.recurrence, Once) else "Each run"
        print_note(f"{each} may cost what its agent uses: no limit is set, such as --max-cost 2.")
    return ExitCode.DONE


async def _start_sessions(
    client: SessionClient,
    request: RunArguments,
    timing: ScheduleTiming,
    options: ScheduleOptions,
    turn_config: TurnConfig,
) -> ScheduleEntry:
    request = await request.expand(client.settings, turn_config)
    return await client.schedules.start_sessions(
        str(current_directory()),
        request.first_message(turn_config),
        timing,
        title=request.title,
        environment=session_environment(client.settings.environment),
        sources=request.sources(client.settings),
        turn_config=turn_config,
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
    # for its remarks and refusals, too
    prepared = await session_preparation.prepare_session(
        client, overview, request.model, variant=request.variant, agent=request.agent
    )
    request = await request.expand(client.settings, prepared.turn_config, prepared.sources, overview.model)
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
