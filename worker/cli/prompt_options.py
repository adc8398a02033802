"""Options of the commands that send to a session: what the prompt is, and its model."""

from collections.abc import Callable
from typing import Final

import click

from worker.cli import completers
from worker.cli.command_support import C, options


def _only_one(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Click would take the last one, and drop the others without a word."""
    if len(given) > 1:
        raise click.BadParameter("the words are one task, for one subagent: give it once.")
    return next(iter(given), None)


config_option: Final = click.option(
    "--config",
    type=click.Choice(["here"]),
    help="From the next turn on, look for the session's configuration where this shell does.",
)


def prompt_options(again: str) -> Callable[[C], C]:
    """How a prompt is given; `again`: what one with the same id is."""
    return options(
        config_option,
        click.option(
            "--command",
            metavar="NAME",
            shell_complete=completers.command,
            help="Run this slash command; the words are its arguments. `holdfast commands` lists them.",
        ),
        click.option(
            "--subtask",
            metavar="AGENT",
            multiple=True,
            callback=_only_one,
            help="The prompt is a task for this subagent: it begins at once, without a question and without asking a "
            "model.",
        ),
        click.option(
            "-f",
            "--file",
            "files",
            metavar="PATH",
            multiple=True,
            type=click.Path(),
            help="A file or directory that the agent reads first, as with @PATH in the prompt; may be repeated.",
        ),
        click.option(
            "--system",
            metavar="TEXT|@FILE",
            help="Instructions for this prompt's turn alone, besides AGENTS.md: as text, or @ and a file that holds "
            "them.",
        ),
        click.option("--edit", is_flag=True, help="Write the prompt in your editor."),
        click.option(
            "--id",
            "identity",
            metavar="MSG",
            help=f"An id of your own: the same command again is {again}.",
        ),
    )


def model_option(summary: str) -> Callable[[C], C]:
    return click.option(
        "-m",
        "--model",
        metavar="PROVIDER/MODEL",
        shell_complete=completers.model,
        help=f"{summary}; `holdfast models` lists them.",
    )


variant_option: Final = click.option(
    "--variant",
    metavar="NAME",
    shell_complete=completers.variant,
    help="A variant of the model, such as how much it thinks; `holdfast models --verbose` lists them.",
)
