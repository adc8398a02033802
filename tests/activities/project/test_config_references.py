from pathlib import Path

import pytest

from activities.project.config_references import detach_from_file, resolve
from workflows.domain.config.fields import JsonObject, value_at
from workflows.domain.errors import ConfigError

OPTIONS = ("provider", "my/llm", "options")


async def test_a_variable_is_looked_up_when_it_is_used_and_a_missing_one_is_empty() -> None:
    assert await resolve("x{env:HOST}y{env:NOT_THERE}z", {"HOST": "h"}) == "xhyz"


async def test_a_file_is_found_relative_to_the_configuration_and_trimmed(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text('  from "file"\n')

    tree = detach_from_file({"username": "{file:./key.txt}"}, tmp_path / "opencode.json", Path("/home/u"))

    assert tree["username"] == f"{{file:{tmp_path}/key.txt}}"
    assert await resolve(str(tree["username"]), {}) == 'from "file"'


def test_a_tilde_in_a_reference_is_the_home_directory() -> None:
    tree = detach_from_file({"username": "{file:~/name}"}, Path("/p/opencode.json"), Path("/home/u"))

    assert tree == {"username": "{file:/home/u/name}"}


async def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        await resolve(f"{{file:{tmp_path}/gone}}", {})


async def test_a_plain_key_leaves_its_file_only_when_it_is_used(tmp_path: Path) -> None:
    file = tmp_path / "open code.json"
    file.write_text('{"provider": {"my/llm": {"options": {"apiKey": "s3cret"}}}}')

    tree = detach_from_file({"provider": {"my/llm": {"options": {"apiKey": "s3cret"}}}}, file, Path("/home/u"))
    reference = str(value_at(tree, (*OPTIONS, "apiKey")))

    assert "s3cret" not in reference
    assert await resolve(reference, {}) == "s3cret"


@pytest.mark.parametrize("written", ["{accepted:x}", "a {accepted:d:file:/p/k}", "{config:/home/u/o.json#a/apiKey}"])
def test_a_form_that_only_we_make_is_refused_where_it_would_be_looked_up(written: str) -> None:
    """A person would be shown a key of their own as the project's."""
    option: JsonObject = {"agent": {"a": {"options": {"template": written}}}}
    header: JsonObject = {"provider": {"x": {"options": {"headers": {"prompt": written}}}}}
    model: JsonObject = {"model": written}
    for tree in (model, option, header):
        with pytest.raises(ConfigError, match=r"^/p/o.json: the field '.*' holds a reference \{(accepted|config):…\}"):
            detach_from_file(tree, Path("/p/o.json"), Path("/home/u"))

    prompt: JsonObject = {"agent": {"a": {"prompt": written}}}
    assert detach_from_file(prompt, Path("/p/o.json"), Path("/home/u")) == prompt


async def test_a_key_that_was_removed_since_is_an_error_that_names_its_field(tmp_path: Path) -> None:
    file = tmp_path / "opencode.json"
    reference = value_at(
        detach_from_file({"provider": {"x": {"options": {"apiKey": "k"}}}}, file, tmp_path), ("provider", "x")
    )
    file.write_text("{}")

    with pytest.raises(ConfigError, match=r"provider\.x\.options\.apiKey"):
        await resolve(str(value_at({"x": reference}, ("x", "options", "apiKey"))), {})


@pytest.mark.parametrize("name", ["baseURL", "endpoint", "proxy"])
def test_an_endpoint_is_a_secret_only_where_it_holds_a_login(name: str) -> None:
    def stored(address: str) -> object:
        tree = detach_from_file({"provider": {"x": {"options": {name: address}}}}, Path("/p/o.json"), Path("/h"))
        return value_at(tree, (*OPTIONS[:1], "x", "options", name))

    assert stored("https://a.test") == "https://a.test"
    for login in ("u:hunter22", "a-token"):
        assert stored(f"https://{login}@a.test") == f"{{config:/p/o.json#provider/x/options/{name}}}"
