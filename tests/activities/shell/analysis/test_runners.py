"""Which programs run others, and what."""

from pathlib import Path

import pytest

from activities.shell.analysis.analyse import ShellContext, analyse
from activities.shell.analysis.program import ShellProgram
from workflows.domain.errors import ToolError

SHELL = ShellContext(Path("/ws/proj"), Path("/home/u"), {})


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("timeout -k 3 5 rm -f x", "rm -f x"),
        ("env -i A=1 -u B rm x", "rm x"),
        ("sudo -u bob rm x", "rm x"),
        ("setsid -w rm x", "rm x"),
        ("xargs -I {} rm {}", "rm {}"),
        ("bash -xc 'rm x'", "rm x"),
        ("bash -o pipefail -c 'ls; rm x'", "rm x"),
        ("bash <<'E'\nrm x\nE", "rm x"),
        ("eval rm x", "rm x"),
        ("ssh host rm x", "rm x"),
        ("find . -name y -exec rm {} +", "rm {}"),
        ("trap 'rm x' EXIT", "rm x"),
        ("flock /tmp/l -c 'rm x'", "rm x"),
        ("nohup nice -n 5 rm x", "rm x"),
        ("sudo bash -c 'timeout 5 rm x'", "rm x"),
        ("unshare --strange rm x", "rm x"),
        ("docker run --rm image rm x", "rm x"),
    ],
)
def test_the_commands_of_a_runner_are_found(text: str, inner: str) -> None:
    assert inner in _all(analyse(text, SHELL))


@pytest.mark.parametrize(
    "text",
    [
        "sudo ls",
        "bash",
        "python -c 1",
        "python3.11 -",
        "node -e 1",
        "perl -ne 1",
        "xargs ls",
        "env",
        "./ld-linux.so.2 ls",
    ],
)
def test_a_runner_is_a_reason_to_ask(text: str) -> None:
    assert analyse(text, SHELL).ask_reasons


@pytest.mark.parametrize(
    "text",
    ["timeout 5 ls", "nohup ls", "command -v ls", "python x.py", "python -m pytest", "node -v", "find . -name x"],
)
def test_what_only_wraps_or_runs_a_named_script_is_none(text: str) -> None:
    assert not analyse(text, SHELL).ask_reasons


def test_a_runner_that_hides_its_command_among_many_words_is_refused() -> None:
    with pytest.raises(ToolError, match="More than 200 words"):
        analyse("ssh host " + "x " * 300 + "rm y", SHELL)


def test_git_is_known_without_its_options_too() -> None:
    assert "git push origin" in analyse("git -C . --no-pager push origin", SHELL).commands[0].without_options


def _all(program: ShellProgram) -> list[str]:
    return [each.canonical for command in program.commands for each in command.with_inner()]
