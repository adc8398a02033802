from typing import Any

import pytest
from pydantic import ValidationError

from workflows.domain.config.config import Config


def test_a_configuration_survives_its_own_json() -> None:
    config = Config.model_validate(
        {
            "provider": {"x": {"options": {"apiKey": "{env:K}", "baseURL": "https://a.test"}}},
            "permission": {"bash": {"*": "ask", "git *": "allow"}, "edit": "deny"},
        }
    )

    assert Config.model_validate_json(config.model_dump_json()) == config
    assert config.provider["x"].options.base_url == "https://a.test"


def test_rules_keep_their_written_order_through_json() -> None:
    config = Config.model_validate({"permission": {"edit": "ask", "bash": {"z *": "deny", "a *": "ask", "*": "allow"}}})

    again = Config.model_validate_json(config.model_dump_json())

    assert list(again.permission) == ["edit", "bash"]
    assert list(again.permission["bash"]) == ["z *", "a *", "*"]


@pytest.mark.parametrize("value", ["maybe", 1, {"*": "perhaps"}])
def test_an_action_has_one_of_three_names(value: object) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate({"permission": {"bash": value}})


def test_a_permission_without_subjects_takes_no_patterns() -> None:
    with pytest.raises(ValidationError, match="'webfetch' takes no patterns"):
        Config.model_validate({"permission": {"webfetch": {"*": "ask"}}})


@pytest.mark.parametrize(
    "web",
    [
        *({"search": each} for each in ("google", "", "localhost:8888", "ftp://a", "http://a/?q=x", "http://a b")),
        *({"private_hosts": [each]} for each in ("http://a", "a/b", "A", "a:0", "a:070", "*", "a b", "")),
        {"hosts": ["a"]},
    ],
    ids=str,
)
def test_what_the_web_tools_reach_is_exact(web: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate({"holdfast": {"web": web}})


def test_a_search_is_a_name_or_an_address() -> None:
    hosts = ["localhost:3000", "wiki.internal", "[fd00::1]:8080"]
    for written, meant in (("exa", "exa"), ("http://localhost:8888/", "http://localhost:8888")):
        web = Config.model_validate({"holdfast": {"web": {"search": written, "private_hosts": hosts}}}).holdfast.web
        assert (web.search, list(web.private_hosts)) == (meant, hosts)


@pytest.mark.parametrize("name", ["", "a\nb", "a\x1b[2J", "a\x00", "\ud800", "x" * 101])
def test_the_name_of_an_agent_can_be_shown_on_one_line(name: str) -> None:
    with pytest.raises(ValidationError, match="printable"):
        Config.model_validate({"agent": {name: {}}})


@pytest.mark.parametrize(
    "config",
    [
        {"model": "a/b\0"},
        {"small_model": "a/\ud800"},
        *({"agent": {"x": {field: "\0"}}} for field in ("model", "variant")),
    ],
)
def test_the_name_of_a_model_can_be_stored(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="printable"):
        Config.model_validate(config)
