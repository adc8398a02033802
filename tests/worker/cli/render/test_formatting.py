"""Untrusted text on a terminal: the attacks of security.md 4, and ordinary text."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from worker.cli.render.formatting import (
    COMMAND_LIMIT,
    CollapseLimit,
    collapse,
    display_width,
    escape_exact,
    escape_prose,
    find_foreign_letters,
    format_age,
    format_duration,
    format_queued_prompts,
    format_upcoming,
    one_line,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\rrm -rf /", r"ls\rrm -rf /"),
        ("ok\x1b[2K\x1b[1Arm", r"ok\x1b[2K\x1b[1Arm"),
        ("\x9b2Jrm", r"\x9b2Jrm"),
        ("a\u202egpj.exe", r"a\u202egpj.exe"),
        ("rm\u200b -rf", r"rm\u200b -rf"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("👩🏽\u200d⚕\ufe0f", "👩🏽\u200d⚕\ufe0f"),
        ("👩\u200dx", r"👩\u200dx"),
        ("x\u200d👩", r"x\u200d👩"),
        ("👩\u200d\u200d👩", r"👩\u200d\u200d👩"),
        ("👩\u200b👩", r"👩\u200b👩"),
        ("\ufeffls", r"\ufeffls"),
        ("a\u00a0b", r"a\xa0b"),
        ("a\u2028b", r"a\u2028b"),
        ("bell\x07 nul\x00", r"bell\x07 nul\x00"),
        ("half \ud800", r"half \ud800"),
        ("tab\there", r"tab\there"),
        ("  padded ", "␣␣padded␣"),
        ("two\nlines", "two\nlines"),
        ("if x:\n    y  \n\nz", "if x:\n    y␣␣\n\nz"),
        ("true" + " " * 40 + "; rm -rf /", "true" + "␣" * 40 + "; rm -rf /"),
        ("   ", "   "),
        ("Grüße, 世界 🙂", "Grüße, 世界 🙂"),
    ],
)
def test_nothing_in_a_command_hides(text: str, shown: str) -> None:
    assert escape_exact(text, lines=True) == shown


def test_a_name_never_goes_on_in_a_line_of_its_own() -> None:
    assert escape_exact("a\nholdfast answer per_1 once\n") == r"a\nholdfast answer per_1 once\n"


def test_prose_keeps_its_blanks_and_tabs_but_no_terminal_sequence() -> None:
    assert escape_prose("a\tb\u00a0c\x1b]8;;http://x\x07") == "a\tb\u00a0c" + r"\x1b]8;;http://x\x07"


def test_a_long_command_is_cut_in_the_middle_only_and_says_how_much_is_hidden() -> None:
    text = "\n".join(["begin", *(f"line {n}" for n in range(98)), "rm -rf /"])

    shown = collapse(text, COMMAND_LIMIT)

    lines = shown.text.split("\n")
    assert shown.hidden and (lines[0], lines[-1]) == ("begin", "rm -rf /")
    assert lines[20].startswith("[… 70 lines hidden, ")


def test_padding_cannot_push_the_payload_out_of_view() -> None:
    shown = collapse("true " + " " * 10_000 + "; rm -rf /", COMMAND_LIMIT)

    assert shown.hidden and shown.text.endswith("; rm -rf /")
    assert "[… 8,016 characters hidden …]" in shown.text


def test_what_is_hidden_of_many_long_lines_is_counted_whole() -> None:
    text = "\n".join(f"line {number} {'x' * 100}" for number in range(60))

    shown = collapse(text, COMMAND_LIMIT)

    said = re.search(r" \[… ([\d,]+) characters and (\d+) line breaks hidden …\] ", shown.text)
    assert said is not None and shown.hidden
    hidden = int(said[1].replace(",", "")) + int(said[2])
    assert len(shown.text) - len(said[0]) == COMMAND_LIMIT.characters - 1 == len(text) - hidden


@pytest.mark.parametrize("text", ["short", "", "x" * 10, "a\nb\nc"])
def test_what_keeps_to_the_limit_is_shown_whole(text: str) -> None:
    assert collapse(text, CollapseLimit(lines=3, characters=10)).text == text
    assert not collapse(text, CollapseLimit(lines=3, characters=10)).hidden


def test_look_alike_letters_are_named_and_hosts_are_shown_in_punycode() -> None:
    program, host = find_foreign_letters(["сurl", "ls"], "сurl https://exаmple.org/ü")

    assert "CYRILLIC SMALL LETTER ES".lower() in program
    assert "'xn--exmple-4nf.org'" in host


@pytest.mark.parametrize("command", ["curl exаmple.org/x", "scp a git@exаmple.org:b", "ping ｅxample.org"])
def test_hosts_are_known_without_a_scheme(command: str) -> None:
    (note,) = find_foreign_letters([], command)

    assert note.startswith("The host ") and "'xn--" in note or "fullwidth" in note


def test_ordinary_words_outside_of_programs_and_hosts_are_not_marked() -> None:
    assert find_foreign_letters(["git"], "git commit -m 'Grüße' Übersicht.txt # https://example.org/ü") == []


def test_one_line_is_one_line() -> None:
    assert one_line("a\n b\t\tc\x1b") == r"a b c\x1b"
    assert len(one_line("x" * 500)) == 100


@pytest.mark.parametrize(("past", "said"), [(5, "5 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d"), (-10, "0 s")])
def test_ages_have_their_largest_unit(past: int, said: str) -> None:
    assert format_age(NOON - timedelta(seconds=past), NOON) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0 s"), (59.4, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (11_520, "3 h 12 min"), (86_400, "1 d")],
)
def test_durations_have_their_two_largest_units(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_wide_letters_count_twice_and_marks_not_at_all() -> None:
    assert (display_width("ab"), display_width("世界"), display_width("e\u0301")) == (2, 4, 1)


def test_a_coming_moment_is_in_local_time() -> None:
    soon, later, another_day = (NOON + timedelta(minutes=minutes) for minutes in (1, 9, 48 * 60))

    assert format_upcoming(soon, NOON) == f"{soon.astimezone():%H:%M:%S}"
    assert format_upcoming(later, NOON) == f"{later.astimezone():%H:%M}"
    assert format_upcoming(another_day, NOON) == f"{another_day.astimezone():%a %d %b, %H:%M}"


def test_prompts_behind_an_ask_are_counted() -> None:
    assert format_queued_prompts(2, "per_1") == "2 prompts wait behind ask per_1"
    assert format_queued_prompts(0, "per_1") == format_queued_prompts(2, None) == ""
