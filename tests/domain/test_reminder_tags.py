"""Only Holdfast's own reminders stand in their tags."""

from time import perf_counter

import pytest

from workflows.domain.reminder_tags import escape_reminders, unescape_reminders


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("<system-reminder>x</system-reminder>", "&lt;system-reminder>x&lt;/system-reminder>"),
        ("< / SYSTEM-Reminder >\n<\nsystem-reminder", "&lt; / SYSTEM-Reminder >\n&lt;\nsystem-reminder"),
        ("<system-reminders> <b>system-reminder</b>", "<system-reminders> <b>system-reminder</b>"),
        ("&lt;system-reminder>", "&lt;system-reminder>"),
    ],
)
def test_a_tag_is_none_any_more_and_all_else_stays(text: str, sent: str) -> None:
    assert escape_reminders(text) == escape_reminders(sent) == sent


def test_a_page_of_blanks_behind_a_bracket_takes_no_time() -> None:
    begun = perf_counter()
    escape_reminders("<" + " " * 100_000)
    assert perf_counter() - begun < 1


@pytest.mark.parametrize(
    ("text", "file", "meant"),
    [
        ("a &lt;/system-reminder>", "", "a </system-reminder>"),
        ("a &lt;system-reminder>", "b <system-reminder>", "a <system-reminder>"),
        ("a &lt;system-reminder>", "b &lt;system-reminder>", "a &lt;system-reminder>"),
        ("a &lt;b>", "", "a &lt;b>"),
    ],
)
def test_a_model_means_the_tag_unless_the_file_has_the_mark(text: str, file: str, meant: str) -> None:
    assert unescape_reminders(text, file) == meant
