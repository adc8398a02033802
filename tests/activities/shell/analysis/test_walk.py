"""From syntax trees to commands, and reasons to ask where the shell may see something else."""

from pathlib import Path

import pytest

from activities.shell.analysis.analyse import ShellContext, analyse
from activities.shell.analysis.budget import MAX_DIRECTORIES, MAX_WORK

PROJECT = Path("/ws/proj")
SHELL = ShellContext(PROJECT, Path("/home/u"), {})


@pytest.mark.parametrize(
    "text",
    [
        "ls && pwd || date; id & who | wc",
        "if true; then ls; elif false; then pwd; else id; fi",
        "for f in a b; do echo $f; done",
        "while read -r l; do echo $l; done < f",
        "case x in a|b) ls ;; *) pwd ;; esac",
        "{ ls; pwd; } | (id; who)",
        "! ls 2>&1 >/dev/null",
        "cat <<'E'\nit's $text\nE\nls",
        "cat <<<text",
        "LANG=C LC_ALL=C TZ=UTC sort f",
        "ls \\\n  -la # a comment",
        "[ -f x ] && [ ! -d y ]",
        "for _ in a; do read -rd '' -n 1 -N3 -t 0.5 -u3 -p 'Which file? ' a_b < f; done",
        "for F in a; do wait -n; wait -f 1; done; printf '%s' -v; echo {} > f; ls {x} > f",
    ],
)
def test_plain_shell_is_understood(text: str) -> None:
    program = analyse(text, SHELL)
    assert (program.opaque, program.ask_reasons) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "r\\\nm x",
        "ls > f r\\\nm",
        "{ls;}",
        "{rm,-f,x}",
        "ls 'open",
        "ls &&",
        "f() { ls; }; f",
        "x=rm; $x y",
        "$(echo rm) y",
        "a[$(id)]=1 ls",
        "LANG=$((x[$(id)])) ls",
        "[[ 'a[$(id)]' -eq 0 ]]",
        "test -v 'a[$(id)]'",
        "read 'a[$(id)]' <<<x",
        'printf "$x"',
        "let x=1",
        "coproc ls",
        "for ((;;)); do ls; done",
        "select x in a; do ls; done",
        "> f",
        "cat <<E\n$(id)\nE",
        "cat <<A <<B\nx\nA\nid\nB",
        "cd sub; popd",
        "while true; do cd ..; done",
        "pushd",
        "case x in @(a$(id)|b)) ls;; esac",
        "printf -vPATH x",
        "ls {PATH}> f",
        "ls > f {PATH}<f",
        "ls {PA\\\nTH}\\\n> f",
        "ls {PATH[1,0]}>f",
        "ls {x}<<E\ntext\nE",
    ],
)
def test_text_that_the_shell_may_read_differently_is_opaque(text: str) -> None:
    assert analyse(text, SHELL).opaque


@pytest.mark.parametrize(
    "text",
    [
        "for PATH in ./evil; do git status; done",
        "for GIT_CONFIG_VALUE_0 in x; do git status; done",
        "for http_proxy in x; do curl y; done",
        "read PS4 <<< 'x'",
        "while read -r a PATH; do git status; done < f",
        "read -aPATH < f",
        "read P* < f",
        "wait -p PATH",
        "wait -npPATH 1",
    ],
)
def test_a_variable_that_programs_read_is_not_set_unasked(text: str) -> None:
    assert any("sets a variable that programs may read" in doubt for doubt in analyse(text, SHELL).ask_reasons)


@pytest.mark.parametrize("text", ["r\\\nm x", "f() { rm x; }", "[[ $(rm x) ]]", "a=$(rm x)", "rm x 'open"])
def test_commands_inside_opaque_text_are_found(text: str) -> None:
    program = analyse(text, SHELL)
    assert program.opaque
    assert any(command.canonical.startswith("rm") or "rm x" in command.source for command in program.commands)


def test_a_redirection_may_stand_before_its_command() -> None:
    program = analyse("> f rm x", SHELL)
    assert [command.canonical for command in program.commands] == ["rm x"]
    assert [redirect.target.text for redirect, _ in program.redirects] == ["f"]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("cd sub && ls", ["sub"]),
        ("ls; cd sub; ls", [".", "sub"]),
        ("ls && cd sub && ls", ["sub"]),
        ("(cd sub); ls", ["."]),
        ("cd sub | cat; ls", ["."]),
        ("ls; cd sub || ls", [".", "sub"]),
    ],
)
def test_a_command_knows_where_it_may_run(text: str, last: list[str]) -> None:
    directories = analyse(text, SHELL).commands[-1].directories
    assert sorted(directories) == sorted((PROJECT / name) for name in last)


def conditional(count: int) -> str:
    return " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(count)) + " rm x"


def either(count: int) -> str:
    return (
        " ".join(f"if [ -d a{number} ]; then cd a{number}; else cd b{number}; fi;" for number in range(count)) + " rm x"
    )


@pytest.mark.parametrize("text", [conditional(14), conditional(500), either(8), either(60), "cd d;" * 100 + " rm x"])
def test_a_command_that_takes_too_much_work_cannot_be_checked_on_any_machine(text: str) -> None:
    program = analyse(text, SHELL)
    assert program.guarded and any("it may run in more than" in reason for reason in program.opaque)
    assert all(len(command.directories) <= MAX_DIRECTORIES for command in program.commands)
    assert program.budget.left > -MAX_WORK  # it ends there


def apart(count: int, last: str) -> str:
    """A text behind which the shell may be in `count` directories."""
    moves = (f"[ -d a{number} ] && cd /ws/proj/a{number};" for number in range(1, count))
    return " ".join([*moves, last])


def test_thirty_two_directories_are_followed_and_no_more() -> None:
    followed, beyond = analyse(apart(32, "rm x"), SHELL), analyse(apart(33, "rm x"), SHELL)
    assert len(followed.commands[-1].directories) == 32 and not followed.guarded
    assert beyond.opaque == ["it may run in more than 32 directories"] and beyond.guarded


def test_a_text_is_twenty_thousand_units_of_work_and_no_more() -> None:
    words = "ls " + "x " * 2_000
    assert MAX_WORK == 20_000
    assert analyse(apart(8, words), SHELL).budget.left < 4_000 and not analyse(apart(8, words), SHELL).guarded
    assert analyse(apart(10, words), SHELL).guarded


def test_denies_match_commands_after_too_many_directories() -> None:
    assert analyse(conditional(14), SHELL).commands[-1].canonical == "rm x"


def test_ordinary_moves_between_directories_are_checked() -> None:
    program = analyse(" && ".join(f"(cd packages/p{number} && make)" for number in range(60)), SHELL)
    assert (program.opaque, program.guarded) == ([], False)
