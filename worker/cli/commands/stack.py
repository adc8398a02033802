"""`holdfast up`, `down`, `status`, `doctor` and `logs`: the stack."""

from collections.abc import Iterator, Sequence

import click

from activities.shell.left_processes import find_left
from worker import credential_handoff
from worker.cli import completers, person_check, purge_confirmation
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, print_note, start_stack
from worker.cli.exit_codes import ExitCode
from worker.cli.log_tail import LogTail
from worker.cli.render.console import Row, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.formatting import describe_left, format_size, pluralize
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_for_stdout
from worker.settings import Settings
from worker.stack import systemd_unit
from worker.stack.diagnosis import CheckResult
from worker.stack.down import down as take_down
from worker.stack.layout import Layout
from worker.stack.state_file import PartName
from worker.stack.status import HostStatus, PartStatus, ServerStatus, StackStatus, outdated_processes
from worker.stack.status import status as stack_status

_LOGS = ("supervisor", *(str(name) for name in PartName))
_STYLES = {"ok": "green", "warning": "yellow", "failure": "bold red"}
_ROOM = {"postgres": "PostgreSQL", "temporal": "Temporal"}


@click.command()
@click.option("--at-login/--not-at-login", default=None, help="Have systemd start it at each login, or not.")
@click.option("--restart-worker", is_flag=True, help="Restart the worker, which finishes what it can first.")
@click.option("--json", "as_json", is_flag=True, help="Print what `status --json` says then.")
@async_command
async def up(settings: Settings, at_login: bool | None, restart_worker: bool, as_json: bool) -> None:
    """Start the stack in the background.

    PostgreSQL, Temporal and a worker, all for this user only. When the stack is already running, nothing is done.
    Every command that changes something starts it by itself.

    \b
    Examples:
      holdfast up
      holdfast up --restart-worker
      holdfast up --at-login
    """
    if at_login is not None:
        await (systemd_unit.enable if at_login else systemd_unit.disable)(settings, print_note)
        if not at_login:
            return
    await start_stack(settings)
    if restart_worker:
        from worker.stack import up as stack  # start-up time

        await stack.restart_worker(settings, print_note)
    _status_output(await _load_status(settings)).print(as_json=as_json)


@click.command()
@click.option("--purge", is_flag=True, help="Remove it for good: the database and all files of this stack.")
@click.option("--yes", is_flag=True, help="With --purge: do not ask.")
@async_command
async def down(settings: Settings, purge: bool, yes: bool) -> None:
    """Stop the stack; sessions go on at its next start.

    The worker finishes what it can, then the servers stop. What calls have left running is ended. Keys that shells have
    handed over are forgotten. With --purge, everything that this stack has made here is removed then, with its systemd
    unit; servers of your own, archives and projects stay, and what else stays is named.

    \b
    Examples:
      holdfast down
      holdfast down --purge
    """
    if purge:
        person_check.require_person(settings)
        await purge_confirmation.confirm_purge(settings, yes=yes)
    await take_down(settings, print_note)
    credential_handoff.remove_credentials(settings)
    click.echo("The stack is down.")
    if purge:
        await purge_confirmation.run_purge(settings)


@click.command()
@async_command
@with_json("As a JSON object.")
async def status(settings: Settings) -> CommandOutput:
    """Show which parts of the stack run, and where.

    External servers are asked whether they answer. What calls have left running here is listed: `end` of its session
    and `down` end it. Ends with code 3 when the stack does not serve.

    \b
    Example:
      holdfast status
    """
    from worker.stack import sizes  # start-up time: the database driver

    seen = await _load_status(settings)
    room = {"sizes": await sizes.measure_sizes(settings, seen.endpoints), "retention": sizes.retention(settings)}
    more = {"stuck": await sizes.count_stuck(settings, seen.endpoints), "left_running": tuple(find_left(settings.home))}
    seen = seen.model_copy(update=room | more)
    if _database_is_silent(seen):
        seen = seen.model_copy(update={"serving": False})
    return _status_output(seen)._replace(code=ExitCode.DONE if seen.serving else ExitCode.UNREACHABLE)


@click.command()
@click.option(
    "--model",
    metavar="[PROVIDER/MODEL]",
    is_flag=False,
    flag_value="",
    shell_complete=completers.model,
    help="Only ask a model for a word: by default the one that a run would use here.",
)
@async_command
@with_json("As a JSON array.")
async def doctor(settings: Settings, model: str | None) -> CommandOutput:
    """Check what the stack needs, and say what to do.

    Programs and servers, home, disk space, ports, versions, migrations, clocks, the worker, and what this directory
    configures: its files, and the key of its model. Ends with code 1 when something keeps sessions from running.

    With --model it makes one small request instead, with the address, the key and the headers of a turn, and says what
    came of it. The stack need not run for that, and the provider may charge for a few tokens.

    \b
    Examples:
      holdfast doctor
      holdfast doctor --model
      holdfast doctor --model anthropic/claude-sonnet-4-5
    """
    from worker.cli import doctor_checks  # start-up time

    findings = (
        await doctor_checks.run_checks(settings)
        if model is None
        else [await doctor_checks.check_model_answer(settings, model or None)]
    )
    failed = any(finding.level == "failure" for finding in findings)
    return CommandOutput(findings, lambda: _finding_rows(findings), code=ExitCode.FAILED if failed else ExitCode.DONE)


@click.command()
@click.argument("part", required=False, type=click.Choice(_LOGS))
@click.option("-n", "--lines", type=click.IntRange(1), default=40, show_default=True, help="How many lines of each.")
@click.option("-f", "--follow", is_flag=True, help="Follow what is written, until Ctrl-C.")
@async_command
async def logs(settings: Settings, part: str | None, lines: int, follow: bool) -> None:
    """Show the logs of the stack's processes.

    \b
    Examples:
      holdfast logs
      holdfast logs worker -f
    """
    tail = LogTail(settings, [part] if part else list(_LOGS))
    found = list(tail.last(lines))
    for written in found:
        click.echo(written)
    if not found:
        where = escape_exact(str(Layout(home=settings.home).logs))
        print_note(f"No log of {part or 'the stack'} is in {where} yet: `holdfast up` starts the stack.")
    if follow:
        async for written in tail.follow():
            click.echo(written)


def _finding_rows(findings: Sequence[CheckResult]) -> Iterator[Row]:
    rows = ((styled(each.level, _STYLES[each.level]), each.check, escape_prose(each.message)) for each in findings)
    yield from format_table(rows, terminal_columns())
    remedies: dict[str, list[str]] = {}
    for each in findings:
        remedies.setdefault(each.remedy, []).append(each.check)
    for remedy, checks in remedies.items():
        if remedy:
            yield wrap_for_stdout(f"{', '.join(checks)}: {escape_prose(remedy)}")


async def _load_status(settings: Settings) -> StackStatus:
    if settings.postgres_url is None and settings.external_temporal is None:
        return stack_status(settings)
    from worker.stack import external_servers  # start-up time

    return await external_servers.full_status(settings)


def _status_output(seen: StackStatus) -> CommandOutput:
    text = seen.model_dump_json(indent=2, exclude={"endpoints": {"postgres_url", "pooler_url"}})
    return CommandOutput(text, lambda: _lines(seen))


def _lines(seen: StackStatus) -> Iterator[Row]:
    """Leaves the database's address out: it may hold a password."""
    yield wrap_for_stdout(_headline(seen))
    yield from format_table(
        [*map(_part, seen.parts), *map(_server, seen.servers), *map(_host, seen.hosts)], terminal_columns()
    )
    if seen.endpoints is not None and not any(each.name == "temporal" for each in seen.servers):
        yield f"Temporal: {escape_exact(seen.endpoints.temporal_address)}"
    if seen.endpoints is not None and seen.endpoints.ui_url is not None:
        yield f"Temporal's pages: {seen.endpoints.ui_url}"
    if seen.stuck:
        yield f"{pluralize(seen.stuck, 'session')} cannot go on: `holdfast sessions --state stuck`"
    rows = (*_disk_rows(seen), *map(describe_left, seen.left_running), *outdated_processes(seen))
    yield from (wrap_for_stdout(each, 2) for each in rows)


def _disk_rows(seen: StackStatus) -> Iterator[str]:
    if seen.sizes is not None:
        sizes = ((_ROOM.get(name, name), size) for name, size in seen.sizes)
        yield f"Disk usage: {', '.join(f'{name} {format_size(size)}' for name, size in sizes if size is not None)}"
    if (kept := seen.retention) is not None:
        sessions = "for ever" if kept.sessions is None else f"{kept.sessions:g} days, then in archives"
        runs = "" if kept.runs is None else f", Temporal's finished runs {kept.runs:g} days"
        yield f"Kept: sessions {sessions}, outputs {kept.outputs:g} days{runs}"


def _headline(seen: StackStatus) -> str:
    if seen.serving:
        return f"The stack is running{f' (supervisor: process {seen.supervisor})' if seen.supervisor else ''}."
    if any(server.trouble is not None for server in seen.servers):
        return "The stack does not serve: `holdfast doctor` says what to do."
    if any(host.taken for host in seen.hosts):
        return "Another machine works under this one's host name: `holdfast doctor` says what to do."
    if any(server.workers == 0 for server in seen.servers) and not any(host.working for host in seen.hosts):
        return "No worker is running: `holdfast doctor` says what to do."
    if _database_is_silent(seen):
        return "PostgreSQL runs and does not answer: `holdfast doctor` says what to do."
    if seen.trouble is not None:
        return f"The stack is down. {escape_prose(seen.trouble)}"
    if seen.stopped or seen.supervisor is None:
        return "The stack is down: `holdfast up` starts it, and so does every command that changes something."
    return "The stack does not serve yet: `holdfast logs` shows what it does."


def _database_is_silent(seen: StackStatus) -> bool:
    own = seen.supervisor is not None and all(each.name != "postgres" for each in seen.servers)
    return own and seen.endpoints is not None and seen.sizes is not None and seen.sizes.postgres is None


def _server(server: ServerStatus) -> tuple[str, ...]:
    if server.trouble is not None:
        return f"  {server.name}", "does not answer", escape_prose(server.trouble)
    working = "" if server.workers is None else pluralize(server.workers, "worker")
    where = f"{escape_exact(server.address)}  {working}".rstrip()
    return f"  {server.name}", f"version {escape_exact(server.version or '')}", where


def _host(host: HostStatus) -> tuple[str, ...]:
    doing = "has a worker" if host.working else "has no worker"
    doing += " of another machine" if host.taken else ""
    sessions = f"{pluralize(host.sessions, 'session')} with work" if host.sessions else ""
    return f"  host {escape_exact(host.name)}", doing, sessions


def _part(part: PartStatus) -> tuple[str, ...]:
    doing = f"process {part.pid}" if part.pid is not None else "does not run"
    again = f"restarted {pluralize(part.exits, 'time')}, {escape_prose(part.trouble or '')}" if part.exits else ""
    return f"  {part.name}", doing, ", ".join(filter(None, (str(part.release or ""), again)))
