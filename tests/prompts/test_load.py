import pytest

import prompts


def test_a_prompt_is_filled_with_the_given_values() -> None:
    text = prompts.render_prompt("reminders/steered", text="also update the docs")

    assert "also update the docs" in text
    assert "{{" not in text


def test_a_value_is_taken_as_it_is_even_if_it_looks_like_a_gap() -> None:
    assert "{{text}} \\1" in prompts.render_prompt("reminders/steered", text="{{text}} \\1")


def test_a_missing_value_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"missing \['text'\]"):
        prompts.render_prompt("reminders/steered")


def test_a_value_without_a_gap_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"not used \['extra'\]"):
        prompts.render_prompt("reminders/last_step", extra="x")


def test_an_unknown_prompt_is_an_error_that_names_its_file() -> None:
    with pytest.raises(LookupError, match="prompts/no/such.md"):
        prompts.render_prompt("no/such")


def test_the_unknown_outcome_says_what_was_called_when_and_what_is_known() -> None:
    text = prompts.render_prompt(
        "reminders/outcome_unknown", call="bash: make", started="14:32:05", known="its process is gone"
    )

    assert all(part in text for part in ("bash: make", "14:32:05", "its process is gone"))
