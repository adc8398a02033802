"""`holdfast auth` as a process: keys go in, and never come out."""

import json
import stat

import pytest

from tests.worker.cli.conftest import CommandRunner

SECRET = "sk-ant-very-secret"


async def test_a_key_is_stored_from_standard_input_listed_by_name_and_forgotten(bare: CommandRunner) -> None:
    login = await bare.run("auth", "login", "anthropic", typed=f"{SECRET}\n")
    path = bare.directory.parent / "home" / "auth.json"
    stored, mode = json.loads(path.read_text()), stat.S_IMODE(path.stat().st_mode)
    as_json = json.loads((await bare.run("auth", "list", "--json")).out)
    listed, logout = await bare.run("auth", "list"), await bare.run("auth", "logout", "anthropic")

    assert stored == {"anthropic": {"type": "api", "key": SECRET}} and mode == 0o600
    assert as_json == {"stored": ["anthropic"], "handed_over": []}
    assert [ended.code for ended in (login, listed, logout)] == [0, 0, 0]
    assert listed.out == "anthropic  stored\n" and json.loads(path.read_text()) == {}
    assert SECRET not in login.out + login.err + listed.out


async def test_a_key_is_asked_for_without_being_shown(bare: CommandRunner) -> None:
    async with bare.terminal("auth", "login", "openai") as terminal:
        await terminal.until("Key of openai: ")
        terminal.type(f"{SECRET}\n")
        said = await terminal.until("Stored for openai[^\n]*")
        code = await terminal.ended()

    assert code == 0 and SECRET not in said[0] + terminal.text


@pytest.mark.parametrize("arguments", [("login", "openai", SECRET), ("login",), ("logout", "openai")])
async def test_a_key_is_no_argument_and_an_unknown_one_is_named(
    bare: CommandRunner, arguments: tuple[str, ...]
) -> None:
    assert (await bare.run("auth", *arguments)).code == 2


async def test_an_empty_key_is_refused(bare: CommandRunner) -> None:
    ended = await bare.run("auth", "login", "openai", typed="\n")

    assert ended.code == 2 and not (bare.directory.parent / "home" / "auth.json").exists()


async def test_a_key_for_a_name_that_is_not_known_is_kept_with_a_word_about_it(bare: CommandRunner) -> None:
    misspelt = await bare.run("auth", "login", "antropic", typed=f"{SECRET}\n")
    by_litellm = await bare.run("auth", "login", "novita", typed=f"{SECRET}\n")

    assert (misspelt.code, by_litellm.code) == (0, 0) and by_litellm.err == ""
    assert "No provider 'antropic' is known by name" in misspelt.err and "Did you mean 'anthropic'?" in misspelt.err
