import pytest

from worker.cli.slash_commands import (
    RunCommand,
    TypedCommand,
    join_arguments,
    may_be_command,
    parse_command,
    parse_run_command,
)
from workflows.domain.errors import UsageError

KNOWN = ("init", "review", "git/commit")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/review", TypedCommand("review", "")),
        ("/review HEAD~3\nand more ", TypedCommand("review", "HEAD~3\nand more")),
        ("/git/commit -m 'a b'", TypedCommand("git/commit", "-m 'a b'")),
        ("/usr/bin/env fails", None),
        ("/usr/bin/env", None),
        ("/tmp is full", None),
        (" /review", None),
        ("see /review", None),
        ("/ is full", None),
    ],
)
def test_a_line_is_a_command_of_the_directory_or_a_prompt(text: str, command: TypedCommand | None) -> None:
    assert parse_command(text, KNOWN) == command


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/deploy", 'Command not found: "deploy". Available commands: /help, /stop, /retry, /exit, /git/commit, /init'),
        ("/reviw HEAD~3", 'Command not found: "reviw". Did you mean /review? Available'),
    ],
)
def test_what_is_nearly_a_command_is_no_prompt(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem.replace(".", r"\.").replace("?", r"\?")):
        parse_command(text, KNOWN)


def test_the_loop_has_commands_of_its_own() -> None:
    assert [parse_run_command(each) for each in (" /stop ", "/quit", "/stop now", "/review", "stop")] == [
        RunCommand.STOP,
        RunCommand.EXIT,
        None,
        None,
        None,
    ]
    assert [may_be_command(each) for each in ("/x y", "/usr/x", "x /y", "/")] == [True, True, False, False]


def test_words_of_a_shell_are_arguments() -> None:
    assert join_arguments(("a b",)) == "a b"
    assert join_arguments(("a b", "c", "it's", 'say "x"', "")) == '"a b" c "it\'s" \'say "x"\' '
