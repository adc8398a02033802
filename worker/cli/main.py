"""The table of commands, and the edge where an error becomes words and an exit code."""

import errno
import importlib
import logging
import os
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from worker.cli import door
from worker.cli.exits import Exit, of_error
from worker.cli.look.text import prose
from worker.settings import Settings
from workflows.domain.errors import HoldfastError
from workflows.domain.value import Value

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(Value):
    """A command: the module of `worker.cli.commands` that holds it, and what it is for."""

    module: str
    line: str


TABLE: Final = {
    "Work": {
        "run": Entry(module="run", line="Give a task to the agent, and follow it to its end."),
        "sessions": Entry(module="sessions", line="List the sessions, or show one."),
        "watch": Entry(module="watch", line="Watch a session: what has happened, and what happens."),
        "send": Entry(module="send", line="Send a prompt to a session."),
        "retry": Entry(module="retry", line="Retry a failed turn, and follow it to its end."),
        "resume": Entry(module="resume", line="Let a parked session go on, as things are now."),
        "stop": Entry(module="sessions", line="Stop a session's turn."),
        "end": Entry(module="sessions", line="End a session for good."),
    },
    "Questions": {
        "asks": Entry(module="asks", line="List what waits for an answer, with the exact effect."),
        "answer": Entry(module="asks", line="Answer an ask; the only one that is open needs no ASK."),
        "grants": Entry(module="grants", line="List standing grants, or revoke them."),
    },
    "Records": {
        "log": Entry(module="record", line="Tell on one page what a session has done, or show its log, or verify it."),
        "export": Entry(module="record", line="Write a session as JSON, in OpenCode's form."),
    },
    "Keeping": {
        "archive": Entry(module="record", line="Move a session into a file, and out of the database."),
        "backup": Entry(module="keeping", line="Write all sessions into one file, while they go on."),
        "restore": Entry(module="keeping", line="Bring back what an archive or a backup holds."),
    },
    "Stack": {
        "up": Entry(module="stack", line="Start the stack in the background."),
        "down": Entry(module="stack", line="Stop the stack; sessions go on at its next start."),
        "status": Entry(module="stack", line="Show what of the stack runs, and where."),
        "doctor": Entry(module="stack", line="Check what the stack needs, and say what to do."),
        "logs": Entry(module="stack", line="Show the logs of the stack's processes."),
        "auth": Entry(module="auth", line="Keep the keys of model providers."),
        "models": Entry(module="models", line="List the models that can be chosen here."),
    },
    "More": {
        "completion": Entry(module="completion", line="Print what makes a shell complete commands, models and ids."),
        "demo": Entry(module="more", line="Play a task that is killed again and again, and goes on."),
        "version": Entry(module="more", line="Show the version."),
    },
}
COMMANDS: Final = {name: entry for section in TABLE.values() for name, entry in section.items()}


class Commands(click.Group):
    """All commands; a command's module is imported when it is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"worker.cli.commands.{entry.module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """As for the help: no command is imported for it."""
        from click.shell_completion import CompletionItem  # only Tab needs it

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=entry.line) for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as it stands: no command is imported for it."""
        for title, section in TABLE.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.line) for name, entry in section.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # before click makes a failure of it: who reads our output may stop reading
            return Exit.BROKEN_PIPE
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return Exit.HUNG_UP


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from worker import release  # only this and the stack's commands tell it

        click.echo(f"holdfast {release.mine()}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    epilog="Exit codes and examples: docs/usage.md, and `holdfast COMMAND --help`.",
)
@click.option("-c", "--continue", "again", is_flag=True, help="Go on in the last session of this directory.")
@click.option("--thinking", is_flag=True, help="Show what the model thinks, too.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.pass_context
def commands(context: click.Context, again: bool, thinking: bool) -> None:
    """Holdfast runs a coding agent that can be killed at any moment, and goes on.

    On a terminal, `holdfast` alone asks for a prompt and starts a session in the current directory.

    \b
    Examples:
      holdfast
      holdfast run "make the tests pass"
      holdfast asks
      holdfast answer per_… once
    """
    if context.invoked_subcommand is not None:
        if again or thinking:
            option = "--continue" if again else "--thinking"
            raise click.UsageError(f"{option} belongs to `holdfast` alone, or behind `run`.", context)
        return
    if not (again or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise click.exceptions.NoArgsIsHelpError(context)
    run = commands.get_command(context, "run")
    assert run is not None
    context.exit(context.invoke(run, again=again, thinking=thinking))


def main() -> NoReturn:
    """Run one command. The process ends by `os._exit`: one that has reached Temporal may abort if it ends by itself."""
    logging.disable(logging.WARNING)  # of libraries, on reconnecting for instance: what a person must know is raised
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text streams of ours
    code = _code()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _code() -> int:
    """Run the command, say what went wrong, and tell how it ended."""
    try:
        colour = False if Settings.read().environment.get("NO_COLOR") else None
        return int(commands.main(prog_name="holdfast", standalone_mode=False, color=colour) or 0)
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        return _shown(error)
    except HoldfastError as error:
        return _said(error)
    except Exception as error:
        if isinstance(error, OSError) and (known := _of_the_home(error)) is not None:
            return _said(known)
        traceback.print_exc()  # a bug of ours: all that can be done here is to show it
        return Exit.BUG


def _shown(error: click.ClickException) -> int:
    """What click says of a mistake, in the form of all our errors; the help where no argument was given."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    door.say(f"holdfast: {prose(error.format_message())}")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        door.say(f"`{error.ctx.command_path} --help` shows what can be typed.")
    return error.exit_code


def _said(error: HoldfastError) -> Exit:
    door.say(f"holdfast: {prose(str(error))}")
    return of_error(error)


def _of_the_home(error: OSError) -> HoldfastError | None:
    from worker.stack import home  # only what has failed pays for it

    return home.unusable(Settings.read().home, error)


if __name__ == "__main__":
    main()
