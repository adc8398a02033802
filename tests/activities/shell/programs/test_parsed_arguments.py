"""The words of a command, by the rules of its program. The commands never run."""

import shlex

import pytest

from activities.shell.programs.parsed_arguments import ParsedArguments, parse_arguments


def of(command: str) -> ParsedArguments:
    program, *words = shlex.split(command)
    reading = parse_arguments(program, words)
    assert reading is not None
    return reading


@pytest.mark.parametrize(
    "command",
    [
        "find . ( -name '*.py' -o -name '*.pyi' ) -not -path './.venv/*' -print0",
        "grep -rnE 'a|b' --include='*.py' --exclude-dir=node_modules -A3 -m1 src",
        "rg -l --type py -g '*.{ts,tsx}' -g '!.env' foo",
        "sort -k2,2nr -t, a.txt",
        "head -20 a.txt",
        "sed -n -e 1,5p -e '/x/d' a.txt",
        "awk -F: '{print $1}' a.txt",
        "jq -r --arg v 1 '.a == $v' a.json",
        "tail -n +3 a.txt",
        "date -u +%F",
        "git --no-pager log -3 --format='%h %s' --since '2 days ago' -- a.txt",
        "git diff -U5 main...HEAD --stat -- src",
        "git stash list",
        "git branch -a",
        "git",
    ],
)
def test_ordinary_reading_is_known_as_such(command: str) -> None:
    assert of(command).only_reads


@pytest.mark.parametrize(
    ("command", "required_words"),
    [
        ("find . -name x -delete", ["-delete"]),
        ("find . -fprintf out x", ["-fprintf"]),
        ("sort -bo out a.txt", ["-o"]),
        ("sort --outp=out a.txt", ["--outp"]),
        ("sort --stable=x a.txt", ["--stable"]),
        ("uniq a.txt out", ["out"]),
        ("uniq -- a.txt out", ["out"]),
        ("date 010203", ["010203"]),
        ("man ./page", ["./page"]),
        ("less +x a.txt", ["+x"]),
        ("sed -i s/a/b/ a.txt", ["-i"]),
        ("sed -e 'w out' a.txt", ["w out"]),
        ("sed 'w out' a.txt", ["w out"]),
        ("grep -r --include='.en?' x .", [".en?"]),
        ("rg -g '*.{py,env}' x", ["*.{py,env}"]),
        ("git -C sub status", ["-C"]),
        ("git -C sub -c core.pager=x --no-pager log --output=y", ["-C", "-c", "--output"]),
        ("git --git-dir=x --strange push", ["--git-dir", "--strange", "push"]),
        ("git clean -fd", ["clean"]),
        ("git stash drop", ["drop"]),
        ("git branch new", ["branch"]),
        ("git branch -D main", ["-D", "branch"]),
        ("git diff --output=out", ["--output"]),
        ("git fetch ../other", ["../other"]),
        ("git commit --amend -m x", ["--amend"]),
        ("tar xfC a.tar /", ["-C"]),
        ("tar -cf a.tar --to-comm=x .", ["--to-comm"]),
        ("make -kC sub", ["-C"]),
        ("make SHELL=./x", ["SHELL=./x"]),
        ("go test -exec ./x", ["-exec"]),
        ("npm test --prefix sub", ["--prefix"]),
    ],
)
def test_options_beyond_reading_have_to_be_named(command: str, required_words: list[str]) -> None:
    assert of(command).required_words == required_words


@pytest.mark.parametrize(
    "command", ["make -j4 test", "npm run build", "pytest -k x -q", "git commit -m x", "cargo build"]
)
def test_ordinary_work_is_the_users_own_rule(command: str) -> None:
    reading = of(command)
    assert (reading.required_words, reading.only_reads) == ([], False)


@pytest.mark.parametrize(
    ("command", "written"), [("sort -o out a.txt", ["out"]), ("tree --", []), ("find . -fls out", ["out"])]
)
def test_files_that_options_write_are_known(command: str, written: list[str]) -> None:
    assert of(command).written == written


@pytest.mark.parametrize(
    ("command", "recursive", "hidden"),
    [
        ("grep x a.txt", False, True),
        ("grep -nr x .", True, True),
        ("rg x", True, False),
        ("rg -uu x", True, True),
        ("rg --hidden x", True, True),
        ("cp -a x y", True, True),
        ("tar czf x.tgz y", True, True),
    ],
)
def test_recursive_readers_are_known(command: str, recursive: bool, hidden: bool) -> None:
    reading = of(command)
    assert (reading.recursive, reading.hidden) == (recursive, hidden)


def test_a_name_that_is_no_subcommand_may_be_an_alias() -> None:
    assert (of("git lg").alias, of("git push").alias) == ("lg", None)


def test_a_program_without_a_table_is_not_judged() -> None:
    assert parse_arguments("frobnicate", ["-x"]) is None
