"""The notifier: a person's own command is told of asks that wait and of tasks that end, once each."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.redact import Redactor
from activities.store import asks, known, notices
from activities.store.database import dumps
from tests.activities.conftest import database as database
from tests.activities.conftest import scene as scene
from tests.activities.scene import Scene
from worker.notifier import PASSED_OVER, Notifier
from worker.settings import Settings
from workflows.domain.errors import UsageError
from workflows.domain.ids import AskId
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionRequest

WRITES = """
import os, sys, json
told = {"argv": sys.argv[1:], "env": sorted(os.environ), "said": json.loads(sys.stdin.read())}
with open("told", "a") as file:
    file.write(json.dumps(told) + "\\n")
"""


def notifier(scene: Scene, home: Path, body: str = WRITES, host: str = "*") -> Notifier:
    """One whose command is a Python program."""
    (home / "tell.py").write_text(body)
    environment = {"HOME": str(home), "HOLDFAST_HOME": str(home), "WORK_API_KEY": "sk-secret", "HOLDFAST_HOST": host}
    given = {**environment, "HOLDFAST_NOTIFY": f"{sys.executable} -I '{home / 'tell.py'}' --urgent"}
    return Notifier(scene.database, Settings.read(given), Redactor(lambda: ["hunter2"]))


def told(home: Path) -> list[dict[str, Any]]:
    file = home / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def test_an_ask_and_the_end_of_a_task_are_told_once_without_secrets(scene: Scene, tmp_path: Path) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", filePath="a.txt", content="hunter2"))
    one, other = notifier(scene, tmp_path), notifier(scene, tmp_path)
    await asyncio.gather(one.look(), other.look())
    await scene.answer(ask)
    await scene.close()
    await asyncio.gather(one.look(), other.look())

    first, second = told(tmp_path)
    assert (first["said"]["type"], first["said"]["ask"], first["said"]["tool"]) == ("ask", ask, "write")
    assert (second["said"]["type"], second["said"]["reason"]) == ("end", "done")
    assert first["argv"] == ["--urgent"] and "WORK_API_KEY" not in first["env"]
    assert "hunter2" not in json.dumps([first, second])


async def test_an_ask_about_what_text_columns_refuse_is_told_and_its_grant_completed(
    scene: Scene, tmp_path: Path
) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
    await scene.answer(ask, Reply.ALWAYS)
    call = await scene.row(await scene.called("webfetch", url="https://a.test/"))
    odd = PermissionRequest(permission="grep", patterns=("a\0\ud800b",))
    async with scene.journal() as opened:
        await asks.put(opened, call, AskId("per_odd"), 0, odd)
        opened.write(b"UPDATE grant_ SET body = %(body)s", body=dumps(odd.model_dump(mode="json")))

    await notifier(scene, tmp_path).look()
    (granted,) = await known.grants(scene.database, "gra_")

    assert [each["said"]["permission"] for each in told(tmp_path)] == ["grep"]
    assert granted.title == "grep, A session"


async def test_a_crowd_is_told_as_a_number(scene: Scene, tmp_path: Path) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    calls = await scene.answered(*[("write", {"filePath": f"{number}.txt", "content": "x"}) for number in range(13)])
    for call in calls:
        await scene.asked(call)

    await notifier(scene, tmp_path).look()

    assert [each["said"].get("count") for each in told(tmp_path)] == [*[None] * 10, 3]


async def test_a_command_that_fails_or_is_not_there_harms_nobody(
    scene: Scene, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing, failing = notifier(scene, tmp_path), notifier(scene, tmp_path, "raise SystemExit(7)")
    missing.command = ["/nowhere/tell-me"]

    await failing.tell("{}")
    await missing.tell("{}")

    assert "ended with code 7" in caplog.text and "HOLDFAST_NOTIFY cannot be run" in caplog.text


def test_a_command_with_half_a_quote_is_refused_by_its_variable() -> None:
    with pytest.raises(UsageError, match="HOLDFAST_NOTIFY"):
        Settings.read({"HOLDFAST_NOTIFY": "say 'it"})


async def test_a_command_that_is_set_later_is_not_told_what_came_up_before(scene: Scene, tmp_path: Path) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
    await scene.close()
    later = notifier(scene, tmp_path)

    await notices.pass_over(scene.database, None, PASSED_OVER)  # what is recent stays
    await later.look()
    recent = told(tmp_path)
    await scene.open_turn(permission={"edit": "ask"})
    await scene.asked(await scene.called("write", filePath="b.txt", content="x"))
    await scene.close()
    await notices.pass_over(scene.database, None, 0)
    await later.look()

    assert recent and told(tmp_path) == recent


async def test_a_worker_without_a_command_leaves_what_comes_up_on_another_host(scene: Scene, tmp_path: Path) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
    async with scene.journal() as opened:
        opened.write(b"UPDATE session SET host = 'theirs'")
        opened.write(b"UPDATE ask SET asked_at = asked_at - interval '1 hour'")
    ours = Notifier(scene.database, Settings.read({"HOME": str(tmp_path), "HOLDFAST_HOST": "ours"}), Redactor())
    assert not ours.command

    await ours.look()
    await notifier(scene, tmp_path, host="theirs").look()
    first = told(tmp_path)
    await scene.answer(ask)
    await scene.close()
    async with scene.journal() as opened:
        opened.write(b"UPDATE turn SET ended_at = ended_at - interval '1 hour'")
    await ours.look()
    await notifier(scene, tmp_path, host="theirs").look()

    assert [each["said"]["type"] for each in first] == ["ask"]
    assert [each["said"]["type"] for each in told(tmp_path)] == ["ask", "end"]
