"""awk programs: printing is understood, access to files or programs is not."""

import pytest

from activities.shell.programs.awk import only_prints


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
def test_what_prints_is_understood(program: str) -> None:
    assert only_prints(program)


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
    assert not only_prints(program)


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
    assert not only_prints(program)
