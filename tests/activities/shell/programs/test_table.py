"""The table of programs is whole: every entry can be read, and means something."""

import re

from activities.shell.programs.table import Kind, entries, subcommand


def test_every_entry_names_only_options_and_entries_that_there_are() -> None:
    for name, entry in entries().items():
        assert all(option.startswith("-") for option in entry.kinds), name
        assert not entry.closed or set(entry.recursive.split()) - {"*"} <= entry.kinds.keys(), name


def test_patterns_of_operands_can_be_compiled() -> None:
    for entry in entries().values():
        for pattern in filter(None, (entry.first, entry.operands)):
            re.compile(pattern)


def test_only_an_open_table_lists_what_asks() -> None:
    listed = [name for name, entry in entries().items() if entry.closed and Kind.RAISES in entry.kinds.values()]
    assert listed == []


def test_marks_behind_an_option_say_what_it_takes() -> None:
    sort, jq, grep = entries()["sort"].kinds, entries()["jq"].kinds, entries()["grep"].kinds
    assert (sort["-k"], sort["-r"], sort["--check"], sort["-o"]) == (Kind.VALUE, Kind.FLAG, Kind.ATTACHED, Kind.WRITES)
    assert (jq["--arg"], grep["--include"], entries()["sed"].kinds["-e"]) == (Kind.TWO_VALUES, Kind.NAMES, Kind.SCRIPT)


def test_an_entry_takes_over_the_options_that_it_shares() -> None:
    assert {"--stat", "--oneline", "--output"} <= entries()["git log"].kinds.keys()


def test_the_longest_name_of_a_subcommand_is_found() -> None:
    assert subcommand("git", ["stash", "list"]) == "git stash list"
    assert subcommand("git", ["stash", "drop"]) == "git stash"
    assert subcommand("git", ["push", "origin"]) is None
