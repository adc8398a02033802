"""The notifier: a person's command gets open asks and ended tasks, once each."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.redact import Redactor
from activities.store import asks, budgets, pending_notifications, waiting_items
from activities.store.database import dumps
from tests.activities.conftest import database as database
from tests.activities.conftest import rig as rig
from tests.activities.rig import ActivityRig
from tests.polling import WAIT_TIMEOUT
from worker.notifier import SKIP_AGE, Notifier
from worker.settings import Settings
from workflows.domain.budgets import BudgetLimits, Unit
from workflows.domain.errors import UsageError
from workflows.domain.ids import AskId
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest

WRITES = """
import os, sys, json
told = {"argv": sys.argv[1:], "env": sorted(os.environ), "said": json.loads(sys.stdin.read())}
with open("told", "a") as file:
    file.write(json.dumps(told) + "\\n")
"""


def notifier(rig: ActivityRig, home: Path, body: str = WRITES, host: str = "*") -> Notifier:
    """A notifier whose command is a Python program."""
    (home / "tell.py").write_text(body)
    environment = {"HOME": str(home), "HOLDFAST_HOME": str(home), "WORK_API_KEY": "sk-secret", "HOLDFAST_HOST": host}
    given = {**environment, "HOLDFAST_NOTIFY": f"{sys.executable} -I '{home / 'tell.py'}' --urgent"}
    return Notifier(rig.database, Settings.read(given), Redactor(lambda: ["hunter2"]))


def told(home: Path) -> list[dict[str, Any]]:
    file = home / "told"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def test_an_ask_and_the_end_of_a_task_are_told_once_without_secrets(rig: ActivityRig, tmp_path: Path) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="hunter2"))
    one, other = notifier(rig, tmp_path), notifier(rig, tmp_path)
    await asyncio.gather(one.poll(), other.poll())
    await rig.answer(ask)
    await rig.close()
    await asyncio.gather(one.poll(), other.poll())

    first, second = told(tmp_path)
    assert (first["said"]["type"], first["said"]["ask"], first["said"]["tool"]) == ("ask", ask, "write")
    assert first["said"]["name"] == "a1"
    assert (second["said"]["type"], second["said"]["reason"]) == ("end", "done")
    assert first["argv"] == ["--urgent"] and "WORK_API_KEY" not in first["env"]
    assert "hunter2" not in json.dumps([first, second])


async def test_an_ask_about_what_text_columns_refuse_is_told_and_its_grant_completed(
    rig: ActivityRig, tmp_path: Path
) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.answer(ask, Reply.ALWAYS)
    call = await rig.row(await rig.called("webfetch", url="https://a.test/"))
    odd = PermissionRequest(permission="grep", patterns=("a\0\ud800b",))
    async with rig.journal() as journal:
        await asks.create(journal, call, AskId("per_odd"), (0,), PermissionAsk(requests=(odd,)))
        journal.write(b"UPDATE grant_ SET body = %(body)s", body=dumps(odd.model_dump(mode="json")))

    await notifier(rig, tmp_path).poll()
    (granted,) = await waiting_items.complete_grants(rig.database, "gra_")

    assert [each["said"]["permissions"] for each in told(tmp_path)] == [["grep"]]
    assert granted.title == "grep, A session"


async def test_a_budget_is_told_once_when_most_of_it_is_used(rig: ActivityRig, tmp_path: Path) -> None:
    await rig.open_turn()
    async with rig.journal() as journal:
        await budgets.set_limits(journal, BudgetLimits(steps=5))
    async with rig.journal() as journal:
        (row,) = await budgets.lock(journal)
        budgets.warn(journal, row, Unit.STEPS)
    for _ in range(2):
        await notifier(rig, tmp_path).poll()

    assert [(each["said"]["type"], each["said"]["limits"]["steps"]) for each in told(tmp_path)] == [("budget", 5)]


async def test_a_crowd_is_told_as_a_number(rig: ActivityRig, tmp_path: Path) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    calls = await rig.answered(*[("write", {"filePath": f"{number}.txt", "content": "x"}) for number in range(13)])
    for call in calls:
        await rig.asked(call)

    await notifier(rig, tmp_path).poll()

    assert [each["said"].get("count") for each in told(tmp_path)] == [*[None] * 10, 3]


async def test_a_command_that_fails_or_is_not_there_harms_nobody(
    rig: ActivityRig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing, failing = notifier(rig, tmp_path), notifier(rig, tmp_path, "raise SystemExit(7)")
    missing.command = ["/nowhere/tell-me"]

    await failing.run_command("{}")
    await missing.run_command("{}")

    assert "ended with code 7" in caplog.text and "HOLDFAST_NOTIFY cannot be run" in caplog.text


def test_a_command_with_half_a_quote_is_refused_by_its_variable() -> None:
    with pytest.raises(UsageError, match="HOLDFAST_NOTIFY"):
        Settings.read({"HOLDFAST_NOTIFY": "say 'it"})


async def test_a_command_that_is_set_later_is_not_told_what_came_up_before(rig: ActivityRig, tmp_path: Path) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.close()
    later = notifier(rig, tmp_path)

    await pending_notifications.skip_older(rig.database, None, SKIP_AGE)  # what is recent stays
    await later.poll()
    recent = told(tmp_path)
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="b.txt", content="x"))
    async with rig.journal() as answering, asyncio.timeout(WAIT_TIMEOUT):
        await asks.lock(answering, ask)
        await pending_notifications.skip_older(rig.database, None, 0)  # waits for nobody's lock
    await rig.close()
    await pending_notifications.skip_older(rig.database, None, 0)
    await later.poll()

    assert recent and told(tmp_path) == recent


async def test_a_worker_without_a_command_leaves_what_comes_up_on_another_host(
    rig: ActivityRig, tmp_path: Path
) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    async with rig.journal() as journal:
        journal.write(b"UPDATE session SET host = 'theirs'")
        journal.write(b"UPDATE ask SET asked_at = asked_at - interval '1 hour'")
    ours = Notifier(rig.database, Settings.read({"HOME": str(tmp_path), "HOLDFAST_HOST": "ours"}), Redactor())
    assert not ours.command

    await ours.poll()
    await notifier(rig, tmp_path, host="theirs").poll()
    first = told(tmp_path)
    await rig.answer(ask)
    await rig.close()
    async with rig.journal() as journal:
        journal.write(b"UPDATE turn SET ended_at = ended_at - interval '1 hour'")
    await ours.poll()
    await notifier(rig, tmp_path, host="theirs").poll()

    assert [each["said"]["type"] for each in first] == ["ask"]
    assert [each["said"]["type"] for each in told(tmp_path)] == ["ask", "end"]
