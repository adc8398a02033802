"""`holdfast doctor` on the current directory."""

from pathlib import Path

import pytest

from activities.tools.task import TaskTool
from tests.conftest import settings_of
from worker import config_remarks
from worker.cli.doctor_checks import run_checks
from worker.project_config import load_project_config
from worker.settings import Settings
from worker.stack.diagnosis import CheckResult, Level


async def test_a_broken_configuration_is_named_by_file_and_field_and_a_missing_key_by_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "opencode.json"
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "ANTHROPIC_API_KEY": ""}
    settings = settings_of(tmp_path / "home", **own)
    monkeypatch.chdir(tmp_path)

    file.write_text('{\n  "model": "anthropic/claude",\n  "permission": {"bash": "perhaps"}\n}')
    field = await found(settings, "configuration")
    file.write_text('{\n  "model": "anthropic/claude",,\n}')
    syntax = await found(settings, "configuration")
    file.write_text('{"model": "anthropic/claude"}')
    key = await found(settings, "model key")

    assert field.level is syntax.level is key.level is Level.FAILURE
    assert f"{file}: the field 'permission.bash'" in field.message and "Correct it there" in field.remedy
    assert f"{file}:2:31: " in syntax.message
    assert "anthropic/claude" in key.message and "ANTHROPIC_API_KEY" in key.remedy and "auth login" in key.remedy


async def found(settings: Settings, check: str) -> CheckResult:
    return next(each for each in await run_checks(settings) if each.check == check)


async def test_what_has_no_effect_is_named_as_a_run_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
    agents = tmp_path / "project" / ".opencode" / "agent"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text("---\npermission:\nedit: deny\n---\n")
    (tmp_path / "project" / "opencode.json").write_text('{"lsp": {}, "tool_output": {"max_lines": 9000}}')
    monkeypatch.chdir(tmp_path / "project")

    found = [each for each in await run_checks(settings) if each.check == "configuration"]
    remarks = [*config_remarks.find_config_remarks(settings, await load_project_config(settings, tmp_path / "project"))]

    assert [each.level for each in found] == [Level.OK, *[Level.WARNING] * len(remarks)]
    assert [each.message for each in found[1:]] == remarks
    assert any("lsp" in each for each in remarks) and any(each.startswith("Ignored: ") for each in remarks)
    (refused,) = [each for each in remarks if each.startswith("Refused: ")]
    assert refused.startswith(f"Refused: {agents}/reviewer.md: the field 'edit' is wrong: a rule counts within")
    assert refused.endswith(" (There is no agent 'reviewer' until it is mended.)")


async def test_files_that_only_claude_code_reads_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path))
    folder = tmp_path / "project" / ".claude"
    for name in (*(f"commands/a{number}.md" for number in range(5)), "commands/git/commit.md", "settings.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    monkeypatch.chdir(tmp_path / "project")

    (_, *named) = [each.message for each in await run_checks(settings) if each.check == "configuration"]

    assert named[0].startswith(f"Not read: 6 files of Claude Code's in {folder}/commands: a0.md, ")
    assert "a4.md …. To use one, copy it to .opencode/commands;" in named[0]
    assert named[1].startswith(f"Not read: {folder}/settings.json: its permissions")


async def test_variables_of_opencode_without_effect_are_named_in_one_line(tmp_path: Path) -> None:
    names = ("OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS", "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX")
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path), **dict.fromkeys(names, "1000"))

    remarks = config_remarks.find_config_remarks(settings, await load_project_config(settings, tmp_path))

    assert [*remarks] == [f"Warning: {names[0]} and {names[1]} of OpenCode: without effect."]


async def test_the_models_of_families_that_agents_name_are_said_in_one_line(tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "ANTHROPIC_API_KEY": "k"}
    settings = settings_of(tmp_path / "home", **own)
    (agents := tmp_path / "project" / ".claude" / "agents").mkdir(parents=True)
    for name, model in (("a", "sonnet"), ("b", "opus[1m]"), ("c", "sonnet"), ("d", "grok"), ("e", "inherit")):
        (agents / f"{name}.md").write_text(f"---\ndescription: d\nmodel: {model}\n---\nP")

    turn_config = await load_project_config(settings, tmp_path / "project")
    known, unknown = config_remarks.find_config_remarks(settings, turn_config)

    assert known.startswith("Models of agents: opus is anthropic/claude-opus-")
    assert ", sonnet is anthropic/claude-sonnet-" in known
    assert unknown == "Warning: no model of the family 'grok' can be asked: that of the session works for d."


async def test_subagents_that_no_model_is_told_of_are_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
    (agents := tmp_path / "project" / ".opencode" / "agent").mkdir(parents=True)
    for number in range(90):
        (agents / f"a{number:02}.md").write_text(f"---\ndescription: {'x' * 1025}\n---\n")

    turn_config = await load_project_config(settings, tmp_path / "project")
    long, unlisted = config_remarks.find_config_remarks(settings, turn_config)
    description = TaskTool().description_values(turn_config)

    assert "only the first 1,024 characters" in long
    assert all(each in unlisted for each in ("no model", "subagents", "65,536", "a82"))
    assert description is not None and 64_000 < len(description["agents"]) < 67_000
    assert "- explore: " in description["agents"] and "a82" not in description["agents"]


@pytest.mark.parametrize("count", [19, 20, 21])
async def test_refused_agents_are_named_up_to_twenty_and_then_counted(tmp_path: Path, count: int) -> None:
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
    (agents := tmp_path / "project" / ".opencode" / "agent").mkdir(parents=True)
    for number in range(count):
        (agents / f"{number}.md").write_text("---\nmode: weird\n---\n")

    remarks = [*config_remarks.find_config_remarks(settings, await load_project_config(settings, tmp_path / "project"))]

    assert sum("until it is mended" in each for each in remarks) == min(count, 20)
    assert [each for each in remarks if "more file" in each] == (
        ["Refused: 1 more file of agents: `holdfast agents` lists them."] if count > 20 else []
    )


async def test_what_the_worker_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "CORP_MODEL": "corp/m", "CORP_KEY": ""}
    (tmp_path / "opencode").mkdir()
    options = '{"apiKey": "{env:CORP_KEY}", "baseURL": "http://corp.example/v1"}'
    (tmp_path / "opencode" / "opencode.json").write_text(
        '{"model": "{env:CORP_MODEL}", "provider": {"corp": {"options": ' + options + "}}}"
    )
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    found = await run_checks(settings_of(tmp_path / "home", **own))

    (warning,) = [each for each in found if each.check == "configuration" and each.level is Level.WARNING]
    assert "the worker lacks" in warning.message and "{env:CORP_KEY}" in warning.message
    (key,) = [each for each in found if each.check == "model key"]
    assert (
        key.level is Level.FAILURE
        and "corp/m is empty: provider.corp.options.apiKey is '{env:CORP_KEY}'" in key.message
    )


async def test_a_model_and_a_subagents_model_without_a_provider_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path / "home", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), WRONG="typo/m")
    (tmp_path / "project").mkdir()
    (tmp_path / "opencode").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    (tmp_path / "project" / "opencode.json").write_text('{"model": "typo/m"}')
    key = await found(settings, "model key")
    (tmp_path / "project" / "opencode.json").unlink()
    own = '{"model": "{env:WRONG}", "agent": {"explore": {"model": "opnai/gpt"}}}'
    (tmp_path / "opencode" / "opencode.json").write_text(own)
    referred = await found(settings, "model key")
    said = [each.message for each in await run_checks(settings) if each.level is Level.WARNING]

    assert key.level is referred.level is Level.FAILURE
    assert "There is no provider 'typo'." in key.message and "There is no provider 'typo'." in referred.message
    assert any("subagent explore cannot work: There is no provider 'opnai'. Did you mean 'openai'?" in e for e in said)
