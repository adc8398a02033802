"""Which names are slips of the pen, and which are newer models'."""

import pytest

from activities.model.misspelling import find_meant

KNOWN = [
    *("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-5", "claude-opus-5", "claude-haiku-4-5"),
    *("gpt-5.5", "gpt-5.5-pro", "gpt-5-mini", "gpt-5-nano", "gpt-6-sol", "gpt-6-luna", "gpt-5.3-codex"),
    *("anthropic/claude-sonnet-4.5", "qwen"),
]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("claude-sonet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-sonnet-45", "claude-sonnet-4-5"),
        ("Claude-Opus-5", "claude-opus-5"),
        ("claude-sonnet4-5", "claude-sonnet-4-5"),
        ("sonnet", "claude-sonnet-5"),
        ("claude-opus", "claude-opus-5"),
        ("gpt-5.5-por", "gpt-5.5-pro"),
        ("gpt-5.3-codx", "gpt-5.3-codex"),
        ("gpt5.5", "gpt-5.5"),
        ("qwem", "qwen"),
        ("anthropic/claude-sonet-4.5", "anthropic/claude-sonnet-4.5"),
        ("claude-opus-6", None),
        ("claude-sonnet-5-6", None),
        ("claude-fable-5", None),
        ("gpt-6.2-sol", None),
        ("gpt-6-astra", None),
        ("gpt-6-nova", None),
        ("gpt-5-tiny", None),
        ("anthropic/claude-opus-5.5", None),
        ("something-else", None),
    ],
)
def test_a_slip_of_letters_is_a_known_name_and_another_version_is_not(typed: str, meant: str | None) -> None:
    assert find_meant(typed, KNOWN) == meant
