"""`holdfast auth` as a process: keys go in, and never come out."""

import json
import re
import socket
import stat
from pathlib import Path

import pytest

from activities.model.key_forms import key_page
from tests.worker.cli.conftest import CommandRunner
from worker.scripted.model_server import serve
from worker.scripted.script import Refuse, Script, ScriptedAnswer

SECRET = "sk-ant-very-secret"
LOGIN = ("auth", "login", "--no-check")
MODELS_PAGE = Path(__file__).parents[4] / "docs" / "models.md"


async def test_a_key_is_stored_from_standard_input_listed_by_name_and_forgotten(bare: CommandRunner) -> None:
    login = await bare.run(*LOGIN, "anthropic", typed=f"{SECRET}\n")
    path = bare.directory.parent / "home" / "auth.json"
    stored, mode = json.loads(path.read_text()), stat.S_IMODE(path.stat().st_mode)
    as_json = json.loads((await bare.run("auth", "list", "--json")).out)
    listed, logout = await bare.run("auth", "list"), await bare.run("auth", "logout", "anthropic")

    assert stored == {"anthropic": {"type": "api", "key": SECRET}} and mode == 0o600
    assert as_json == {
        "stored": ["anthropic"],
        "named": {"anthropic": []},
        "handed_over": [],
        "here": [],
        "elsewhere": [],
    }
    assert [ended.code for ended in (login, listed, logout)] == [0, 0, 0]
    assert listed.out == "anthropic  stored\n" and json.loads(path.read_text()) == {}
    assert SECRET not in login.out + login.err + listed.out


async def test_a_key_is_asked_for_without_being_shown(bare: CommandRunner) -> None:
    async with bare.terminal(*LOGIN, "openai") as terminal:
        await terminal.until(r"Keys are made at https://platform.openai.com/api-keys\.")
        await terminal.until("Key of openai: ")
        terminal.type(f"{SECRET}\n")
        said = await terminal.until("Stored for openai[^\n]*")
        code = await terminal.ended()

    assert code == 0 and SECRET not in said[0] + terminal.text


def own_address(person: CommandRunner, provider: str, address: str) -> None:
    """Have a provider reached at this address."""
    folder = person.directory.parent / ".config" / "opencode"
    folder.mkdir(parents=True)
    options = {"baseURL": address}
    (folder / "opencode.json").write_text(json.dumps({"provider": {provider: {"options": options}}}))


async def test_without_a_provider_a_person_is_asked_and_a_pipe_is_told(bare: CommandRunner) -> None:
    piped = await bare.run("auth", "login", typed=f"{SECRET}\n")
    async with bare.terminal(*LOGIN) as terminal:
        await terminal.until("1  anthropic\r\n  2  openai\r\n  3  google")
        await terminal.until(r"Which provider \(a number, or another one's name\): ")
        terminal.type("2\n")
        await terminal.until("Key of openai: ")
        terminal.type(f"{SECRET}\n")
        await terminal.until("Stored for openai")
        await terminal.until("Now: holdfast\r\n")
        code = await terminal.ended()

    assert piped.code == 2 and "Say whose key it is, as in `holdfast auth login anthropic`" in piped.err
    assert code == 0 and (await bare.run("auth", "list")).out == "openai  stored\n"


async def test_a_key_is_tried_before_it_is_stored(bare: CommandRunner) -> None:
    wrong = Refuse(status=401, body={"error": {"message": f"wrong: {SECRET}"}})
    answer = ScriptedAnswer(text="OK", faults={2: wrong, 3: wrong, 4: wrong, 5: Refuse(status=500)})
    async with serve(Script(answers=(answer,))) as server:
        own_address(bare, "groq", server.url)
        works = await bare.run("auth", "login", "groq", typed=f"{SECRET}\n")
        sent = server.last_request
        assert (await bare.run("auth", "logout", "groq")).code == 0
        refused = await bare.run("auth", "login", "groq", typed=f"{SECRET}\n")
        listed = await bare.run("auth", "list")
        async with bare.terminal("auth", "login", "groq") as terminal:
            await terminal.until("Key of groq: ")
            terminal.type(f"{SECRET}\n")
            await terminal.until(r"\(401\)")
            await terminal.until(r"Store it all the same\? \[y/N\]: ")
            terminal.type("y\n")
            await terminal.until("Stored for groq")
            confirmed = await terminal.ended()

    assert works.code == 0 and re.search(r"It works: groq/.* answered: 'OK'\.", works.err), works.err
    assert works.out.endswith("Now: holdfast\n")
    assert sent is not None and sent.headers["Authorization"] == f"Bearer {SECRET}"
    assert refused.code == 2 and "rejected the API key (401)" in refused.err and SECRET not in refused.err
    assert "Nothing was stored. --no-check stores" in refused.err and listed.out == ""
    assert confirmed == 0


async def test_a_key_that_cannot_be_tried_is_stored_and_said(bare: CommandRunner) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    own_address(bare, "groq", f"http://127.0.0.1:{port}/v1")
    unreached = await bare.run("auth", "login", "groq", typed="gsk_1\n")
    unknown = await bare.run("auth", "login", "perplexity", typed="pplx-1\n")

    assert unreached.code == 0 and "It could not be tried: groq/" in unreached.err
    assert "no connection to http://127.0.0.1:" in " ".join(unreached.err.split())
    assert unknown.code == 0 and "Not tried: no main model of perplexity is known." in unknown.err
    assert unknown.out.endswith("Now: holdfast\n")
    assert (await bare.run("auth", "list")).out == "groq  stored\nperplexity  stored\n"


async def test_a_second_key_has_the_way_to_its_model_named_and_one_with_a_name_its_setting(bare: CommandRunner) -> None:
    await bare.run(*LOGIN, "anthropic", typed=f"{SECRET}\n")
    second = await bare.run(*LOGIN, "openai", typed="sk-1\n")
    named = await bare.run(*LOGIN, "openai", "--name", "work", typed="sk-1\n")

    assert re.search(r"\nNow: holdfast run -m openai/gpt-\S+\n$", second.out)
    assert "Now: write provider.openai.options.keyName: 'work' into opencode.json" in named.out


async def test_a_variable_of_this_shell_is_listed(bare: CommandRunner) -> None:
    listed = await bare.with_(ANTHROPIC_API_KEY=SECRET, GITHUB_TOKEN="x").run("auth", "list")

    assert listed.out == "ANTHROPIC_API_KEY  set in this shell, and handed over by each `holdfast run`\n"
    assert listed.err == ""


def test_where_keys_are_made_is_known_of_each_provider_that_the_documentation_names_first() -> None:
    (row,) = [
        line for line in MODELS_PAGE.read_text().splitlines() if line.startswith("| `anthropic`, `openai`, `google`")
    ]
    providers = re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])

    assert len(providers) > 10 and [id for id in providers if key_page(id) is None] == []


@pytest.mark.parametrize("arguments", [("login", "openai", SECRET), ("login",), ("logout", "openai")])
async def test_a_key_is_no_argument_and_an_unknown_one_is_named(
    bare: CommandRunner, arguments: tuple[str, ...]
) -> None:
    assert (await bare.run("auth", *arguments)).code == 2


async def test_an_empty_key_is_refused(bare: CommandRunner) -> None:
    ended = await bare.run(*LOGIN, "openai", typed="\n")

    assert ended.code == 2 and not (bare.directory.parent / "home" / "auth.json").exists()


async def test_a_key_for_a_name_that_is_not_known_is_kept_with_a_word_about_it(bare: CommandRunner) -> None:
    misspelt = await bare.run(*LOGIN, "antropic", typed=f"{SECRET}\n")
    by_litellm = await bare.run(*LOGIN, "novita", typed=f"{SECRET}\n")

    assert (misspelt.code, by_litellm.code) == (0, 0) and by_litellm.err == ""
    assert "No provider 'antropic' is known by name" in misspelt.err and "Did you mean 'anthropic'?" in misspelt.err


async def test_a_key_for_searches_is_stored_without_a_model_and_its_setting_named(bare: CommandRunner) -> None:
    stored = await bare.run("auth", "login", "exa", typed=f"{SECRET}\n")

    assert (stored.code, stored.err) == (0, "")
    assert 'Now: write holdfast.web.search: "exa" into your own opencode.json' in stored.out
    assert (await bare.run("auth", "list")).out == "exa  stored\n"


async def test_a_provider_has_several_keys_by_name(bare: CommandRunner) -> None:
    for name in ((), ("--name", "work"), ("--name", "home")):
        assert (await bare.run(*LOGIN, "anthropic", *name, typed=f"{SECRET}-{len(name)}\n")).code == 0
    listed, as_json = await bare.run("auth", "list"), json.loads((await bare.run("auth", "list", "--json")).out)
    forgotten = await bare.run("auth", "logout", "anthropic", "--name", "home")
    again = await bare.run("auth", "logout", "anthropic", "--name", "home")
    wrong = await bare.run(*LOGIN, "anthropic", "--name", "a/b", typed=f"{SECRET}\n")

    assert listed.out == "anthropic  stored\nanthropic (home)  stored\nanthropic (work)  stored\n"
    assert as_json["named"] == {"anthropic": ["home", "work"]}
    assert forgotten.out == "Forgotten: anthropic (home)\n" and again.code == 2 and "'home'" in again.err
    assert wrong.code == 2 and "letters, digits" in wrong.err
    assert (await bare.run("auth", "list")).out == "anthropic  stored\nanthropic (work)  stored\n"


@pytest.mark.parametrize(
    ("provider", "typed", "words"),
    [
        ("anthropic", "sk-ant-oat01-token", "own programs only"),
        ("openai", "two words", "contains a blank"),
        ("openai", "sk-\u2026", "not ASCII"),
        ("github-copilot", "gho_x", "agreement with ask Copilot"),
        ("chatgpt", "x", "log in to 'openai' with an API key"),
    ],
)
async def test_what_is_no_key_is_refused_with_the_reason(
    bare: CommandRunner, provider: str, typed: str, words: str
) -> None:
    ended = await bare.run(*LOGIN, provider, typed=f"{typed}\n")

    assert ended.code == 2 and words in ended.err and typed not in ended.err and "Did you mean" not in ended.err
    assert not (bare.directory.parent / "home" / "auth.json").exists()


async def test_a_key_of_another_form_is_kept_with_a_word_about_it(bare: CommandRunner) -> None:
    ended = await bare.run(*LOGIN, "groq", typed="of-a-proxy\n")

    assert ended.code == 0 and "Keys of groq begin with 'gsk_'" in ended.err


@pytest.mark.parametrize("provider", ["", "open ai", "anthropic/work", "sk-ant-api03-pasted-by-mistake"])
async def test_a_key_is_stored_only_for_an_id_of_a_provider(bare: CommandRunner, provider: str) -> None:
    ended = await bare.run(*LOGIN, provider, typed=f"{SECRET}\n")

    assert ended.code == 2 and "a provider's id" in ended.err and "sk-ant" not in ended.err
    assert not (bare.directory.parent / "home" / "auth.json").exists()


async def test_the_console_key_of_claude_code_is_copied(bare: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text(json.dumps({"primaryApiKey": SECRET, "history": "x" * 2**21}))
    shell = bare.with_(CLAUDE_CONFIG_DIR=str(tmp_path))
    ended = await shell.run(*LOGIN, "anthropic", "--from", "claude-code")

    assert ended.code == 0 and SECRET not in ended.out + ended.err
    assert json.loads((shell.directory.parent / "home" / "auth.json").read_text())["anthropic"]["key"] == SECRET


async def test_a_key_in_the_settings_of_claude_code_is_copied_unless_it_is_a_gateways(
    bare: CommandRunner, tmp_path: Path
) -> None:
    shell, variables = bare.with_(CLAUDE_CONFIG_DIR=str(tmp_path)), {"ANTHROPIC_API_KEY": SECRET}
    for more in ({"ANTHROPIC_BASE_URL": "https://me:pass@gateway.example.com"}, {}):
        (tmp_path / "settings.json").write_text(json.dumps({"env": variables | more}))
        ended = await shell.run(*LOGIN, "anthropic", "--from", "claude-code")
        assert ended.code == (2 if more else 0) and SECRET not in ended.out + ended.err
        assert not more or ("it is for https://gateway.example.com" in ended.err and "pass" not in ended.err)
    assert json.loads((shell.directory.parent / "home" / "auth.json").read_text())["anthropic"]["key"] == SECRET


async def test_keys_of_other_programs_are_named_and_copied_when_asked(bare: CommandRunner, tmp_path: Path) -> None:
    entries = {
        "anthropic": {"type": "oauth", "refresh": SECRET, "access": SECRET, "expires": 0},
        "groq": {"type": "api", "key": "gsk_of-opencode"},
        "https://example.com": {"type": "wellknown", "key": "K", "token": SECRET},
    }
    (data := tmp_path / "data" / "opencode").mkdir(parents=True)
    (data / "auth.json").write_text(json.dumps(entries))
    (claude := tmp_path / "claude").mkdir()
    (claude / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {"accessToken": SECRET}}))
    helped = {"apiKeyHelper": f"touch {tmp_path}/run; echo {SECRET}", "env": {"ANTHROPIC_AUTH_TOKEN": SECRET}}
    (claude / "settings.json").write_text(json.dumps(helped))
    shell = bare.with_(XDG_DATA_HOME=str(tmp_path / "data"), CLAUDE_CONFIG_DIR=str(claude))

    before, refused = (
        await shell.run("auth", "list"),
        await shell.run(*LOGIN, "anthropic", "--from", "opencode"),
    )
    missing = await shell.run(*LOGIN, "openai", "--from", "opencode")
    copied, after = await shell.run(*LOGIN, "groq", "--from", "opencode"), await shell.run("auth", "list")

    assert [line.partition(":")[0] for line in before.out.splitlines()] == [
        "anthropic  a sign-in by browser of OpenCode, not used",
        "groq  in OpenCode, not used",
        "https",
        "anthropic  a token (ANTHROPIC_AUTH_TOKEN) of Claude Code, not used",
        "anthropic  a program for keys (apiKeyHelper) of Claude Code, not used",
        "anthropic  a sign-in by browser of Claude Code, not used",
    ]
    assert "https://example.com  a token of OpenCode, not used: it is no key of a model" in before.out
    assert not (tmp_path / "run").exists()
    assert "`holdfast auth login groq --from opencode` copies it" in before.out
    assert refused.code == 2 and "Anthropic allows sign-ins" in refused.err and missing.code == 2
    assert copied.code == 0 and after.out.startswith("groq  stored\n") and "groq  also in OpenCode" in after.out
    assert not [each for each in (before, refused, missing, copied, after) if SECRET in each.out + each.err]
    assert json.loads((shell.directory.parent / "home" / "auth.json").read_text())["groq"]["key"] == "gsk_of-opencode"
