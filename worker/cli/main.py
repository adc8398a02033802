"""The table of commands; turns errors into messages and exit codes."""

import errno
import importlib
import logging
import os
import sys
import traceback
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, NoReturn, TextIO, cast

import click
from click.shell_completion import CompletionItem

from worker import release
from worker.cli.command_support import DIRECTORY_GONE, ask_option, print_note, thinking_option
from worker.cli.exit_codes import ExitCode, exit_code_of_error
from worker.cli.render.escaping import escape_prose
from worker.settings import Settings
from worker.stack import home
from workflows.domain.errors import HoldfastError, UsageError


class CommandEntry(NamedTuple):
    """A command's module in `worker.cli.commands`, its summary, and the name of its function, if that is another."""

    module: str
    summary: str
    function: str | None = None


COMMAND_SECTIONS: Final = {
    "Work": {
        "run": CommandEntry("run", "Give a task to the agent, and follow it to its end."),
        "new": CommandEntry("run", "Start a session without a prompt."),
        "sessions": CommandEntry("sessions", "List the sessions, or show one."),
        "schedules": CommandEntry("schedules", "List or change schedules, which prompt at set times."),
        "projects": CommandEntry("stats", "List the projects in which sessions were started."),
        "watch": CommandEntry("watch", "Watch a session: what has happened, and what happens."),
        "send": CommandEntry("send", "Send a prompt to a session."),
        "retry": CommandEntry("retry", "Retry a failed turn, and follow it to its end."),
        "compact": CommandEntry("retry", "Replace the beginning of a session's conversation with a summary."),
        "wake": CommandEntry("resume", "Let a session that waits for a provider, or on purpose, continue now."),
        "poke": CommandEntry("resume", "Tell an agent that waits for TOKEN to continue."),
        "resume": CommandEntry("resume", "Let a suspended session continue, as things are now."),
        "title": CommandEntry("title", "Name a session; without TEXT, have the model rename it."),
        "summary": CommandEntry("title", "Have a model say what a session has changed."),
        "fork": CommandEntry("record", "Start a new session with the messages of another one."),
        "stop": CommandEntry("sessions", "Stop a session's turn."),
        "end": CommandEntry("sessions", "End a session for good."),
    },
    "Questions": {
        "asks": CommandEntry("asks", "List what waits for an answer, with its exact effect."),
        "answer": CommandEntry("asks", "Answer an ask; the only one that is open needs no ASK."),
        "grants": CommandEntry("grants", "List standing grants, or revoke them."),
        "trust": CommandEntry("trust", "Accept what a project's configuration would start, redirect or allow."),
    },
    "Records": {
        "log": CommandEntry("record", "Summarize what a session has done on one page, show its log, or verify it."),
        "stats": CommandEntry("stats", "Show what was used: tokens, cost, models and tools."),
        "import": CommandEntry("record", "Start a session from an export of OpenCode or Holdfast.", "import_"),
        "export": CommandEntry("record", "Write a session as JSON, in OpenCode's form."),
    },
    "Keeping": {
        "delete": CommandEntry("record", "Delete a session: erase all that it holds."),
        "archive": CommandEntry("record", "Move a session into a file, and out of the database."),
        "backup": CommandEntry("backups", "Write all sessions into one file while they continue."),
        "restore": CommandEntry("backups", "Restore an archive or a backup."),
    },
    "Stack": {
        "up": CommandEntry("stack", "Start the stack in the background."),
        "down": CommandEntry("stack", "Stop the stack; sessions go on at its next start."),
        "status": CommandEntry("stack", "Show which parts of the stack run, and where."),
        "doctor": CommandEntry("stack", "Check what the stack needs, and say what to do."),
        "logs": CommandEntry("stack", "Show the logs of the stack's processes."),
        "auth": CommandEntry("auth", "Manage the keys of model providers."),
        "config": CommandEntry(
            "merged_config", "Show the configuration that applies here, and where each value comes from.", "config"
        ),
        "agents": CommandEntry("agents", "List the agents that can work here, show one, or create one."),
        "commands": CommandEntry("commands", "List the slash commands of this directory, or show one.", "commands_"),
        "skills": CommandEntry("commands", "List the skills that an agent can load here."),
        "models": CommandEntry("models", "List the models that can be chosen here."),
        "mcp": CommandEntry("mcp", "List the servers of tools (MCP) of this directory, add one, log in to one."),
    },
    "More": {
        "completion": CommandEntry("completion", "Print a script for completion of commands, models and ids."),
        "demo": CommandEntry("demo", "Play a task that is killed again and again, and continues."),
        "version": CommandEntry("completion", "Show the version."),
    },
}
# What the system says of files that a person has named, and of output that is redirected to them.
_REFUSALS: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}
)
# Commands of other programs that people type, and what does that here.
_ELSEWHERE: Final = {
    "undo": "There is no undo yet: `git stash` puts the files back, `holdfast fork SESSION --at MSG` the conversation.",
    "serve": "There is no HTTP server yet: `holdfast up` starts the stack, and `holdfast watch` follows a session.",
    "web": "There is no page yet: `holdfast watch` and `holdfast asks` work where the database is reached.",
    "init": "To write AGENTS.md: `holdfast run --command init`.",
    "upgrade": "To upgrade, in the checkout: `git pull && make install && holdfast up --restart-worker`.",
}
COMMANDS: Final = {name: entry for section in COMMAND_SECTIONS.values() for name, entry in section.items()}


class CommandGroup(click.Group):
    """Imports a module when its command is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"worker.cli.commands.{entry.module}")
        command: click.Command = getattr(module, entry.function or cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args == ["help"] and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args[0] in _ELSEWHERE:
            raise UsageError(_ELSEWHERE[args[0]])
        if not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the table, without imports."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=entry.summary) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in COMMAND_SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in section.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output may leave: no failure, as click would have it
            return ExitCode.BROKEN_PIPE
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return ExitCode.HUNG_UP


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"holdfast {release.installed_release()}")
        context.exit()


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    epilog="Exit codes and examples: docs/usage.md, and `holdfast COMMAND --help`.",
)
@click.option("-c", "--continue", "again", is_flag=True, help="Continue the last session of this directory.")
@ask_option
@thinking_option
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
@click.pass_context
def commands(context: click.Context, again: bool, ask: tuple[str, ...], thinking: bool) -> None:
    """Holdfast runs a coding agent that can be killed at any moment, and goes on.

    On a terminal, `holdfast` alone asks for a prompt and starts a session in the current directory.

    \b
    Examples:
      holdfast
      holdfast run "make the tests pass"
      holdfast asks
      holdfast answer a1 once
    """
    if context.invoked_subcommand is not None:
        if again or ask or thinking:
            option = "--continue" if again else "--ask" if ask else "--thinking"
            raise click.UsageError(f"{option} belongs to `holdfast` alone, or after `run`.", context)
        return
    if not (again or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise click.exceptions.NoArgsIsHelpError(context)
    run = commands.get_command(context, "run")
    assert run is not None
    context.exit(context.invoke(run, again=again, ask=ask, thinking=thinking, subtask=None))


def main() -> NoReturn:
    """Run one command. Ends by `os._exit`: a Temporal connection may abort a normal exit."""
    logging.disable(logging.WARNING)  # libraries log reconnects; what a person must know is raised
    _reopen_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text streams of ours
    code = _run_command()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _reopen_closed_streams() -> None:
    """Python has None for those; and their numbers would go to our sockets, which a child then inherits."""
    sys.stdin = sys.stdin or _open_null("r")  # in this order: each takes the lowest number that is free
    sys.stdout = sys.stdout or _open_null("w")
    sys.stderr = sys.stderr or _open_null("w")


def _open_null(mode: Literal["r", "w"]) -> TextIO:
    return cast("TextIO", os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _run_command() -> int:
    try:
        colour = False if Settings.read().environment.get("NO_COLOR") else None
        return int(commands.main(prog_name="holdfast", standalone_mode=False, color=colour) or 0)
    except click.Abort:
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        return _print_click_error(error)
    except HoldfastError as error:
        return _print_error(error)
    except Exception as error:
        if isinstance(error, OSError) and (known := _explain_os_error(error)) is not None:
            return _print_error(known)
        with suppress(OSError):
            traceback.print_exc()  # a bug of ours
        return ExitCode.BUG


def _print_click_error(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with suppress(OSError):
            error.show()
        return error.exit_code
    _print_reason(error.format_message())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        with suppress(OSError):
            print_note(f"`{error.ctx.command_path} --help` shows what can be typed.")
    return error.exit_code


def _print_error(error: HoldfastError) -> ExitCode:
    _print_reason(str(error))
    return exit_code_of_error(error)


def _print_reason(text: str) -> None:
    """The exit code counts where standard error cannot be written."""
    with suppress(OSError):
        print_note(f"holdfast: {escape_prose(text)}")


def _explain_os_error(error: OSError) -> HoldfastError | None:
    """As trouble of the home, or of another place that the system refuses; None for a bug of ours."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # of `getcwd`: all others name a file
        return UsageError(DIRECTORY_GONE)
    if (known := home.as_home_error(Settings.read().home, error)) is not None:
        return known
    if error.errno not in _REFUSALS:
        return None
    if isinstance(error.filename, str):
        return UsageError(f"{error.filename!r} cannot be used: {error.strerror}.")
    return UsageError(f"The output cannot be written: {error.strerror}.")


if __name__ == "__main__":
    main()
