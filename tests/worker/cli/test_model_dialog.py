"""What is written into a person's own opencode.json."""

import stat
from pathlib import Path

import pytest

from activities.project import jsonc
from worker.cli.model_dialog import keep_model
from workflows.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "model": "a/b"\n}'),
        ('{"share": "manual"}', '{\n  "model": "a/b",\n"share": "manual"}'),
        ('{\n  "share": "manual"\n}\n', '{\n  "model": "a/b",\n  "share": "manual"\n}\n'),
        ("// mine {\n{ // first\n  /* only */\n}\n", '// mine {\n{\n  "model": "a/b"\n // first\n  /* only */\n}\n'),
        ('{\n  "share": "manual", // as ever\n}\n', '{\n  "model": "a/b",\n  "share": "manual", // as ever\n}\n'),
        ("", '{\n  "model": "a/b"\n}\n'),
        ("// nothing yet\n", '// nothing yet\n{\n  "model": "a/b"\n}\n'),
    ],
)
def test_a_model_is_added_and_everything_else_stays_as_it_was_written(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "opencode.json").write_text(before)

    file = keep_model(tmp_path, "a/b")

    assert file.read_text() == after and jsonc.parse(after, file)["model"] == "a/b"
    assert list(tmp_path.iterdir()) == [file]


def test_without_a_file_one_is_made_and_one_with_comments_is_found(tmp_path: Path) -> None:
    made = keep_model(tmp_path / "new" / "opencode", "a/b")
    (tmp_path / "opencode.jsonc").write_text("{}")
    found = keep_model(tmp_path, "a/b")

    assert made.name == "opencode.json" and '"$schema": "https://opencode.ai/config.json"' in made.read_text()
    assert found.name == "opencode.jsonc" and not (tmp_path / "opencode.json").exists()


def test_a_link_stays_one_with_the_mode_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "own.json"
    real.write_text("{}")
    real.chmod(0o600)
    (tmp_path / "opencode.json").symlink_to(real)

    keep_model(tmp_path, "a/b")

    assert (tmp_path / "opencode.json").is_symlink() and "a/b" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ['{"model": "c/d"}', '{"model": "c/d", // mine\n}'])
def test_a_model_that_is_there_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / "opencode.json").write_text(text)

    assert keep_model(tmp_path, "a/b").read_text() == text


def test_a_file_that_is_no_json_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "opencode.json").write_text("{,")

    with pytest.raises(ConfigError, match="this is not JSON"):
        keep_model(tmp_path, "a/b")
    assert (tmp_path / "opencode.json").read_text() == "{,"
