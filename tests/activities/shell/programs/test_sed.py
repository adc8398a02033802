"""sed programs: printing and substitution are understood, nothing else."""

import pytest

from activities.shell.programs.sed import only_prints


@pytest.mark.parametrize(
    "program",
    [
        "1,5p",
        "10,20p;21q",
        "$=",
        "/^$/d",
        "/begin/,/end/p",
        "1~2d",
        "/x/I,+3!d",
        "s/a/b/g",
        "s#/usr/(bin|lib)#x#2p",
        "s|[^/]*|x|",
        r"s/\/\n/\&/",
        "s/[[:space:]]*$//",
        "y/abc/xyz/",
        "/a/{s/b/c/;p}",
        ":a;N;$!ba;s/\\n/ /g",
        "# only prints\np",
    ],
)
def test_what_prints_is_understood(program: str) -> None:
    assert only_prints(program)


@pytest.mark.parametrize(
    "program",
    [
        "w out",
        "1e id",
        "s/a/b/w out",
        "s/a/b/e",
        "s/a/b/;w out",
        "/x/r .env",
        "R .env",
        "s/[/]/b/;s/c/d/w out",
        "s/[/x/w out/",
        "s|[^|]*|x|",
        "s/a/b/ge",
        "{p;w out\n}",
        "p}w out",
        "1!{e id\n}",
        "s\na\nb\nw out",
        "F;W out",
        "a text",
        "\\,x,w out",
    ],
)
def test_what_reads_writes_or_runs_is_not(program: str) -> None:
    assert not only_prints(program)
