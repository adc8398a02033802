"""`holdfast auth` as a process: keys go in, and never come out."""

import json
import re
import stat
from pathlib import Path

import pytest

from activities.model.key_forms import key_page
from tests.worker.cli.conftest import CommandRunner

SECRET = "sk-ant-very-secret"
MODELS_PAGE = Path(__file__).parents[4] / "docs" / "models.md"


async def test_a_key_is_stored_from_standard_input_listed_by_name_and_forgotten(bare: CommandRunner) -> None:
    login = await bare.run("auth", "login", "anthropic", typed=f"{SECRET}\n")
    path = bare.directory.parent / "home" / "auth.json"
    stored, mode = json.loads(path.read_text()), stat.S_IMODE(path.stat().st_mode)
    as_json = json.loads((await bare.run("auth", "list", "--json")).out)
    listed, logout = await bare.run("auth", "list"), await bare.run("auth", "logout", "anthropic")

    assert stored == {"anthropic": {"type": "api", "key": SECRET}} and mode == 0o600
    assert as_json == {"stored": ["anthropic"], "named": {"anthropic": []}, "handed_over": [], "elsewhere": []}
    assert [ended.code for ended in (login, listed, logout)] == [0, 0, 0]
    assert listed.out == "anthropic  stored\n" and json.loads(path.read_text()) == {}
    assert SECRET not in login.out + login.err + listed.out


async def test_a_key_is_asked_for_without_being_shown(bare: CommandRunner) -> None:
    async with bare.terminal("auth", "login", "openai") as terminal:
        await terminal.until(r"Keys are made at https://platform.openai.com/api-keys\.")
        await terminal.until("Key of openai: ")
        terminal.type(f"{SECRET}\n")
        said = await terminal.until("Stored for openai[^\n]*")
        code = await terminal.ended()

    assert code == 0 and SECRET not in said[0] + terminal.text


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
    ended = await bare.run("auth", "login", "openai", typed="\n")

    assert ended.code == 2 and not (bare.directory.parent / "home" / "auth.json").exists()


async def test_a_key_for_a_name_that_is_not_known_is_kept_with_a_word_about_it(bare: CommandRunner) -> None:
    misspelt = await bare.run("auth", "login", "antropic", typed=f"{SECRET}\n")
    by_litellm = await bare.run("auth", "login", "novita", typed=f"{SECRET}\n")

    assert (misspelt.code, by_litellm.code) == (0, 0) and by_litellm.err == ""
    assert "No provider 'antropic' is known by name" in misspelt.err and "Did you mean 'anthropic'?" in misspelt.err


async def test_a_provider_has_several_keys_by_name(bare: CommandRunner) -> None:
    for name in ((), ("--name", "work"), ("--name", "home")):
        assert (await bare.run("auth", "login", "anthropic", *name, typed=f"{SECRET}-{len(name)}\n")).code == 0
    listed, as_json = await bare.run("auth", "list"), json.loads((await bare.run("auth", "list", "--json")).out)
    forgotten = await bare.run("auth", "logout", "anthropic", "--name", "home")
    again = await bare.run("auth", "logout", "anthropic", "--name", "home")
    wrong = await bare.run("auth", "login", "anthropic", "--name", "a/b", typed=f"{SECRET}\n")

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
    ended = await bare.run("auth", "login", provider, typed=f"{typed}\n")

    assert ended.code == 2 and words in ended.err and typed not in ended.err and "Did you mean" not in ended.err
    assert not (bare.directory.parent / "home" / "auth.json").exists()


async def test_a_key_of_another_form_is_kept_with_a_word_about_it(bare: CommandRunner) -> None:
    ended = await bare.run("auth", "login", "groq", typed="of-a-proxy\n")

    assert ended.code == 0 and "Keys of groq begin with 'gsk_'" in ended.err


@pytest.mark.parametrize("provider", ["", "open ai", "anthropic/work", "sk-ant-api03-pasted-by-mistake"])
async def test_a_key_is_stored_only_for_an_id_of_a_provider(bare: CommandRunner, provider: str) -> None:
    ended = await bare.run("auth", "login", provider, typed=f"{SECRET}\n")

    assert ended.code == 2 and "a provider's id" in ended.err and "sk-ant" not in ended.err
    assert not (bare.directory.parent / "home" / "auth.json").exists()


async def test_the_console_key_of_claude_code_is_copied(bare: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text(json.dumps({"primaryApiKey": SECRET, "history": "x" * 2**21}))
    shell = bare.with_(CLAUDE_CONFIG_DIR=str(tmp_path))
    ended = await shell.run("auth", "login", "anthropic", "--from", "claude-code")

    assert ended.code == 0 and SECRET not in ended.out + ended.err
    assert json.loads((shell.directory.parent / "home" / "auth.json").read_text())["anthropic"]["key"] == SECRET


async def test_a_key_in_the_settings_of_claude_code_is_copied_unless_it_is_a_gateways(
    bare: CommandRunner, tmp_path: Path
) -> None:
    shell, variables = bare.with_(CLAUDE_CONFIG_DIR=str(tmp_path)), {"ANTHROPIC_API_KEY": SECRET}
    for more in ({"ANTHROPIC_BASE_URL": "https://me:pass@gateway.example.com"}, {}):
        (tmp_path / "settings.json").write_text(json.dumps({"env": variables | more}))
        ended = await shell.run("auth", "login", "anthropic", "--from", "claude-code")
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
        await shell.run("auth", "login", "anthropic", "--from", "opencode"),
    )
    missing = await shell.run("auth", "login", "openai", "--from", "opencode")
    copied, after = await shell.run("auth", "login", "groq", "--from", "opencode"), await shell.run("auth", "list")

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
