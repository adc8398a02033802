"""A shell's variables for the configuration, and what they may not hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from activities.project.config_variables import read_sources
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError

HOME = Path("/home/u")
FOLDER = HOME / ".config" / "opencode"


def read(**environ: str) -> ConfigSources:
    return read_sources(environ, home=HOME, folder=FOLDER)


def content(tree: dict[str, Any]) -> ConfigSources:
    return read(OPENCODE_CONFIG_CONTENT=json.dumps(tree))


def test_a_shell_without_variables_has_the_usual_sources() -> None:
    assert read() == ConfigSources(home="/home/u", folder="/home/u/.config/opencode")


def test_the_variables_say_where_and_whether() -> None:
    sources = read(
        OPENCODE_CONFIG="/a/b.json",
        OPENCODE_CONFIG_DIR="/c",
        OPENCODE_PERMISSION='{"bash": "deny"}',
        OPENCODE_DISABLE_PROJECT_CONFIG="true",
        OPENCODE_DISABLE_CLAUDE_CODE="1",
        OPENCODE_DISABLE_CLAUDE_CODE_PROMPT="0",
        OPENCODE_DISABLE_PRUNE="1",
    )

    assert (sources.file, sources.directory) == ("/a/b.json", "/c")
    assert sources.permission == {"permission": {"bash": "deny"}}
    assert sources.disable_project_config and sources.disable_claude_code and not sources.disable_claude_code_prompt
    assert set(read().differences(sources)) == {
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "OPENCODE_PERMISSION",
        "OPENCODE_DISABLE_PROJECT_CONFIG",
        "OPENCODE_DISABLE_CLAUDE_CODE",
        "OPENCODE_DISABLE_PRUNE",
    }
    assert "disable_prune" not in read().model_dump()  # the digest of sources without it stays


def test_references_stay_and_those_to_files_no_longer_depend_on_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"apiKey": "{env:KEY}", "token": "{file:k.txt}", "headers": {"Authorization": "Bearer {env:TOKEN}"}}

    sources = content({"provider": {"x": {"options": options}}})

    assert sources.content == {"provider": {"x": {"options": options | {"token": f"{{file:{tmp_path}/k.txt}}"}}}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("provider.x.options.apiKey", "abc"),
        ("provider.x.options.apiKey", "abc{env:EMPTY}"),
        ("provider.x.options.headers.X-Title", "abc"),
        ("provider.x.options.headers.Authorization", "Bearer abc"),
        ("provider.x.options.authToken", "abc"),
        ("provider.x.options.baseURL", "https://u:hunter22@a.test/v1"),
        ("provider.x.options.baseURL", "https://abc@a.test/v1"),
        ("provider.x.options.proxy", "http://abc@a.test"),
        ("provider.x.models.m.headers.X-Key", "abc"),
        ("provider.x.models.m.options.extra_body.api_token", "abc"),
        ("provider.x.models.m.options.extra_body.tokens", ["abc"]),
        ("mcp.s.environment.GITHUB_TOKEN", "abc"),
        ("mcp.s.oauth.clientSecret", "abc"),
        ("agent.build.prompt", f"use sk-{'a1' * 12}"),
        ("instructions", ["https://u:hunter22@a.test/rules.md"]),
    ],
)
def test_a_secret_is_refused_by_its_field_and_not_shown(field: str, value: Any) -> None:
    tree: Any = value
    for key in reversed(field.split(".")):
        tree = {key: tree}
    if "mcp" in tree:
        tree["mcp"]["s"] |= {"type": "remote", "url": "https://a.test"}

    with pytest.raises(ConfigError) as caught:
        content(tree)

    assert f"OPENCODE_CONFIG_CONTENT: the field {field!r}"[:-1] in str(caught.value)
    assert "{env:NAME}" in str(caught.value) and "holdfast auth login" in str(caught.value)
    assert "hunter22" not in str(caught.value) and "abc" not in str(caught.value)


def test_names_that_only_sound_like_secrets_are_taken() -> None:
    tree = {
        "permission": {"*_token": "deny", "bash": {"cat *secret*": "deny"}},
        "provider": {"x": {"options": {"setCacheKey": True, "baseURL": "https://a.test"}, "env": ["X_API_KEY"]}},
        "keybinds": {"leader_key": "ctrl+x"},
    }

    assert content(tree).content == tree


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("OPENCODE_CONFIG_CONTENT", '{"model": ', "OPENCODE_CONFIG_CONTENT:1:1: this is not JSON"),
        ("OPENCODE_CONFIG_CONTENT", '{\n"model": 5}', "OPENCODE_CONFIG_CONTENT: the field 'model' is wrong"),
        ("OPENCODE_PERMISSION", '{"bash": "maybe"}', "OPENCODE_PERMISSION: the field 'permission.bash' is wrong"),
        ("OPENCODE_PERMISSION", "deny", "OPENCODE_PERMISSION:1:1: this is not JSON"),
        (
            "OPENCODE_PERMISSION",
            '{"bash": "deny", "bash": "allow"}',
            "OPENCODE_PERMISSION: the key 'bash' is",
        ),
        (
            "OPENCODE_CONFIG_CONTENT",
            '{"model": "a/b", "model": "c/d"}',
            "OPENCODE_CONFIG_CONTENT: the key 'model' is",
        ),
        ("OPENCODE_PERMISSION", '{}, "model": "a/b"', "OPENCODE_PERMISSION:1:2: this is not JSON: Extra data ','."),
    ],
)
def test_contents_that_are_no_configuration_are_refused(variable: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**{variable: text})

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("variable", ["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"])
@pytest.mark.parametrize("path", ["/a\udcff", "/a\nb", "/a\x1b[2J"])
def test_a_path_that_cannot_be_shown_is_refused(variable: str, path: str) -> None:
    with pytest.raises(ConfigError, match="cannot be shown"):
        read(**{variable: path})


def test_one_word_for_all_permissions_is_taken_as_in_a_file() -> None:
    assert read(OPENCODE_PERMISSION='"ask"').permission == {"permission": {"*": "ask"}}
