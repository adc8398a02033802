"""What litellm finds in its environment."""

from activities.model.litellm_environment import SWITCHES, isolate


def test_keys_and_addresses_of_providers_are_taken_away() -> None:
    names = ("OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_BASE", "HF_TOKEN", "OPENAI_ORGANIZATION", "LITELLM_X")
    environment = dict.fromkeys(names, "x")

    isolate(environment)

    assert environment == SWITCHES


def test_what_others_need_is_left_alone() -> None:
    names = ("PATH", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "TEMPORAL_API_KEY", "HOLDFAST_HOME")
    environment = dict.fromkeys(names, "x")

    isolate(environment)

    assert environment == {**dict.fromkeys(names, "x"), **SWITCHES}
