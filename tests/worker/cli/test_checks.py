"""What `holdfast doctor` says of the directory that it is called in."""

from pathlib import Path

import pytest

from tests.conftest import settings_of
from worker.cli.checks import examined
from worker.settings import Settings
from worker.stack.doctor import Finding, Level


async def test_a_broken_configuration_is_named_by_file_line_and_field_and_a_missing_key_by_its_variable(
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
    assert f"{file}:3: the field 'permission.bash'" in field.says and "Correct it there" in field.remedy
    assert f"{file}:2: " in syntax.says
    assert "anthropic/claude" in key.says and "ANTHROPIC_API_KEY" in key.remedy and "auth login" in key.remedy


async def found(settings: Settings, check: str) -> Finding:
    return next(each for each in await examined(settings) if each.check == check)
