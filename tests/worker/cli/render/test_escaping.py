"""Untrusted text on a terminal: the attacks of security.md 4, and ordinary text."""

import pytest

from worker.cli.render.escaping import escape_exact, escape_prose, find_foreign_letters, one_line


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
