"""awk, sed and jq programs: those that only print are understood, nothing else."""

import pytest

from activities.shell.programs.small_languages import awk_only_prints, jq_only_prints, sed_only_prints


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "/foo/ {c++} END {print c}",
        "$3 > 5 {print}",
        "NR==1 || NR % 2 == 0",
        '{s += $1/2} END {printf "%d\\n", s}',
        'BEGIN{OFS=","} {gsub(/[|>]/, "y"); print}',
        "{print ($1 > 3)}",
        "!seen[$0]++",
        'length($0) > 80 {print FILENAME ": " FNR}',
        '{print "a > b | c"}',
        "$1 ~ /x/ && $2 !~ /y/",
        "a[1]/2 > 3",
    ],
)
def test_an_awk_program_that_prints_is_understood(program: str) -> None:
    assert awk_only_prints(program)


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{print 1 > "out"}',
        'BEGIN{print(1) >> "out"}',
        '{print 1,\n 2 > "out"}',
        '{print a ?\n b : c > "out"}',
        '{print | "sh"}',
        'BEGIN{"id" | getline}',
        '{while ((getline line < ".env") > 0) print line}',
        'BEGIN{system("id")}',
        'BEGIN{ARGV[1] = ".env"}',
        "BEGIN{for (k in ENVIRON) print ENVIRON[k]}",
        '@load "filefuncs"; 1',
        'BEGIN{f = "system"; @f("id")}',
        "{print 'x'}",
    ],
)
def test_what_reaches_files_or_programs_is_not(program: str) -> None:
    assert not awk_only_prints(program)


@pytest.mark.parametrize(
    "program",
    [
        'if (1) /"/ ; "id" | getline; /"/',
        'else /"/; "id" | getline; /"/',
        'x++ / 1; "id" | getline; y / 2',
        '/a/ / 1; "id" | getline; 1 / 2',
        '/[/]"/; "id" | getline; /"/',
    ],
)
def test_a_slash_that_could_be_read_in_two_ways_hides_nothing(program: str) -> None:
    assert not awk_only_prints(program)


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
def test_a_sed_program_that_prints_is_understood(program: str) -> None:
    assert sed_only_prints(program)


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
    assert not sed_only_prints(program)


@pytest.mark.parametrize("program", [".name", ".env, .input", r'to_entries[] | "\(.key)=\(.value)"', ".a as $x | $x"])
def test_a_filter_of_its_input_is_understood(program: str) -> None:
    assert jq_only_prints(program)


@pytest.mark.parametrize("program", ["env", "$ENV.HOME", ".a | input", "[inputs]", 'import "a" as b; .', "{env}"])
def test_a_filter_that_reaches_further_is_not(program: str) -> None:
    assert not jq_only_prints(program)
