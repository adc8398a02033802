"""The table of programs is whole: every entry can be read, and means something."""

import re

from activities.shell.programs.program_rules import ArgumentKind, find_subcommand, program_rules


def test_every_entry_names_only_options_and_entries_that_there_are() -> None:
    for name, entry in program_rules().items():
        assert all(option.startswith("-") for option in entry.kinds), name
        assert not entry.closed or set(entry.recursive.split()) - {"*"} <= entry.kinds.keys(), name


def test_patterns_of_operands_can_be_compiled() -> None:
    for entry in program_rules().values():
        for pattern in filter(None, (entry.first, entry.operands)):
            re.compile(pattern)


def test_only_an_open_table_lists_what_asks() -> None:
    listed = [
        name for name, entry in program_rules().items() if entry.closed and ArgumentKind.ASKS in entry.kinds.values()
    ]
    assert listed == []


def test_marks_behind_an_option_say_what_it_takes() -> None:
    sort, jq, grep = program_rules()["sort"].kinds, program_rules()["jq"].kinds, program_rules()["grep"].kinds
    assert (sort["-k"], sort["-r"], sort["--check"], sort["-o"]) == (
        ArgumentKind.VALUE,
        ArgumentKind.FLAG,
        ArgumentKind.ATTACHED,
        ArgumentKind.WRITES,
    )
    assert (jq["--arg"], grep["--include"], program_rules()["sed"].kinds["-e"]) == (
        ArgumentKind.TWO_VALUES,
        ArgumentKind.NAMES,
        ArgumentKind.SCRIPT,
    )


def test_an_entry_takes_over_the_options_that_it_shares() -> None:
    assert {"--stat", "--oneline", "--output"} <= program_rules()["git log"].kinds.keys()


def test_the_longest_name_of_a_subcommand_is_found() -> None:
    assert find_subcommand("git", ["stash", "list"]) == "git stash list"
    assert find_subcommand("git", ["stash", "drop"]) == "git stash"
    assert find_subcommand("git", ["push", "origin"]) is None
