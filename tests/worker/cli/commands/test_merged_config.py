"""`holdfast config` as a process; no stack is started for it."""

import json

from tests.worker.cli.conftest import CommandRunner

OWN = '{\n  "model": "x/m",\n  "provider": {"x": {"options": {"apiKey": "s3cret-key"}}}\n}'
PROJECT = '{"permission": {"bash": "ask"},\n"provider": {"x": {"options": {"baseURL": "http://e"}}},\n"modle": 1}'


async def test_the_merged_configuration_is_shown_with_its_files_and_what_is_ignored(bare: CommandRunner) -> None:
    (own := bare.directory.parent / ".config" / "opencode").mkdir(parents=True)
    (own / "opencode.json").write_text(OWN)
    (bare.directory / "opencode.json").write_text(PROJECT)

    shown = await bare.run("config")
    found = json.loads((await bare.with_(MY_TOKEN="http://e").run("config", "--json")).out)
    async with bare.with_(COLUMNS="50").terminal("config") as terminal:
        rows = await terminal.until(r"(?s)model.*(?=Warning)")
        assert await terminal.ended() == 0

    first, *_ = [row.split() for row in shown.out.splitlines()]
    assert first == ["model", "x/m", "~/.config/opencode/opencode.json"]
    assert "provider.x of opencode.json: it counts once a person" in shown.out
    assert "opencode.json: there is no field 'modle'" in " ".join(shown.err.split())
    assert found["config"] == {
        "model": "x/m",
        "permission": {"bash": "ask"},
        "provider": {"x": {"options": {"apiKey": "[redacted]"}}},
    }
    first, (ignored,) = found["values"][0], found["ignored"]
    assert first == {"path": ["model"], "value": "x/m", "file": str(own / "opencode.json")}
    assert (ignored["field"], ignored["file"]) == ("provider.x", str(bare.directory / "opencode.json"))
    assert "s3cret" not in shown.out + str(found)
    assert max(map(len, rows[0].splitlines())) <= 50
