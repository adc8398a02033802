"""What `holdfast down --purge` shows before it asks, on terminals of any width."""

import re

import click
import pytest

from tests.worker.cli.conftest import CommandRunner
from worker.cli.exit_codes import ExitCode

WHAT = "Temporal's file: workflow runs and their histories"


@pytest.mark.parametrize("columns", [40, 60])
async def test_paths_and_what_they_are_go_on_below_their_beginning(bare: CommandRunner, columns: int) -> None:
    home = bare.directory / "a-directory-with-a-name-that-no-row-has-room-for-whatever-its-terminal-is"
    (home / "temporal").mkdir(parents=True)
    (home / "stack.json").write_text("{}")
    async with bare.with_(HOLDFAST_HOME=str(home), COLUMNS=str(columns)).terminal("down", "--purge") as terminal:
        shown = (await terminal.until(r"(?s).*(?=Remove all of that for good\?)"))[0]
        terminal.type("n\n")
        code = await terminal.ended()

    rows = click.unstyle(shown).splitlines()
    assert all(len(row) <= columns and re.match(r" {2}\S| {4}\S", row) for row in rows)
    paths = "".join(row.removeprefix("  ") for row in rows if not row.startswith("    "))
    assert paths == f"{home / 'temporal'}{home / 'stack.json'}"
    assert " ".join(row.strip() for row in rows if row.startswith("    ")) == f"{WHAT} the state of the stack"
    assert code == ExitCode.INTERRUPTED and (home / "temporal").is_dir()


async def test_what_is_left_goes_on_below_its_beginning(bare: CommandRunner) -> None:
    home = bare.directory / "home"
    home.mkdir()
    (home / "stack.json").write_text("{}")
    mine = home / "a-file-of-mine-whose-name-no-row-has-room-for"
    mine.touch()
    person = bare.with_(HOLDFAST_HOME=str(home), COLUMNS="40")
    async with person.terminal("down", "--purge", "--yes") as terminal:
        shown = (await terminal.until(r"(?s)Left:\r\n(.*)Removed\."))[1]
        await terminal.ended()

    rows = shown.splitlines()
    assert "".join(row.removeprefix("  ") for row in rows) == str(mine)
    assert all(len(row) <= 40 and row.startswith("  ") for row in rows)


async def test_a_pipe_gets_a_line_for_each(bare: CommandRunner) -> None:
    home = bare.directory / "home"
    (home / "temporal").mkdir(parents=True)
    (home / "stack.json").write_text("{}")
    refused = await bare.with_(HOLDFAST_HOME=str(home), COLUMNS="40").run("down", "--purge")

    assert f"  {home / 'temporal'}    {WHAT}\n" in refused.err and refused.code == ExitCode.USAGE


async def test_what_was_made_outside_of_the_home_goes_too_or_is_named(bare: CommandRunner) -> None:
    user = bare.directory.parent
    person = bare.with_(HOLDFAST_HOME="")
    keys, unit = user / ".local/share/holdfast/auth.json", user / ".config/systemd/user/holdfast.service"
    cache, script = user / ".cache/holdfast", user / ".config/fish/completions/holdfast.fish"
    for file in (keys, unit, cache / "temporal/temporal", script):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    refused = await person.run("down", "--purge")
    kept = [path.exists() for path in (keys, unit, cache, script)]
    other = await bare.run("down", "--purge", "--yes")
    purged = await person.run("down", "--purge", "--yes")

    assert refused.code == ExitCode.USAGE and kept == [True] * 4
    assert all(f"  {path}  " in refused.err for path in (keys, unit, cache))
    assert (other.code, str(cache) in other.err) == (0, False)
    assert purged.code == 0 and not (keys.parent.exists() or unit.exists() or cache.exists())
    assert f"Left: {script}\n" in purged.err and script.exists()
    assert "`uv tool uninstall holdfast`" in purged.err and "`uv cache clean`" in purged.err
