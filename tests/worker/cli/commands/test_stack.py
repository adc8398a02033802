"""`holdfast up`, `down`, `status`, `doctor` and `logs`, on a stack of the test's own."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.polling import wait_until
from tests.worker.cli.conftest import CommandRunner, OpenHarness
from tests.worker.cli.conftest import shell as outside
from tests.worker.stack.conftest import home as home
from worker.scripted.script import ScriptedAnswer
from worker.settings import Settings
from worker.stack import cluster
from worker.stack.layout import Layout
from worker.stack.state_file import read_worker_note, write
from worker.stack.status import status


def shell(settings: Settings, directory: Path) -> CommandRunner:
    """A shell with a stack in this home, and an unserved model."""
    variables = {"HOME": str(directory), "XDG_CONFIG_HOME": str(directory / "config")}
    return CommandRunner({**settings.environment, **variables}, directory)


async def test_a_stack_is_started_shown_checked_renewed_stopped_and_removed(home: Settings, tmp_path: Path) -> None:
    person = shell(home, tmp_path)
    before, silent = await person.run("status"), await person.run("logs", "worker")
    up, again = await person.run("up"), await person.with_(HOLDFAST_SUMMARIES="names", HOLDFAST_BELL="0").run("up")
    shown, checked = await person.run("status", "--json"), await person.run("doctor", "--json")
    database = part(json.loads(shown.out), "postgres")["pid"]
    os.kill(database, signal.SIGSTOP)
    try:
        hung = await person.run("status")
    finally:
        os.kill(database, signal.SIGCONT)
    logs = await person.run("logs", "supervisor", "-n", "5")
    other = person.with_(HOLDFAST_NOTIFY="tell-me --token secret", HOLDFAST_METRICS_PORT="9464")
    lacking, looking = await other.run("up"), await other.run("sessions")
    before_it = forged(home)
    listed, renewed = await person.run("asks"), await person.run("up", "--restart-worker", "--json")
    (home.home / "mine.txt").touch()
    kept, down = await person.run("down", "--purge"), await person.run("down")
    after, purged = await person.run("status"), await person.run("down", "--purge", "--yes")

    assert [ended.code for ended in (before, up, again, shown, logs, down, after)] == [3, 0, 0, 0, 0, 0, 3]
    assert (silent.code, silent.out) == (0, "") and f"No log of worker is in {home.home / 'logs'} yet" in silent.err
    assert "Starting the stack." in up.err and "not isolated" in up.err and again.err == ""
    for ended in (lacking, looking):
        assert (ended.code, "secret" in ended.err) == (0, False)
        assert "HOLDFAST_METRICS_PORT, HOLDFAST_NOTIFY: `holdfast down` and `holdfast up` apply them" in ended.err
    assert hung.code == 3 and "PostgreSQL runs and does not answer" in hung.out
    assert "Temporal's pages: http://127.0.0.1:" in up.out and "postgresql" not in up.out
    assert {part["name"] for part in json.loads(shown.out)["parts"]} == {"postgres", "temporal", "worker"}
    assert "build 0ld" in listed.err and "`holdfast up --restart-worker`" in listed.err
    worker = part(json.loads(renewed.out), "worker")
    assert worker["pid"] != before_it and worker["release"] == json.loads(shown.out)["release"]
    assert all(size > 0 for name, size in json.loads(shown.out)["sizes"].items() if name in ("postgres", "temporal"))
    assert (kept.code, purged.code) == (2, 0) and "--yes is needed" in kept.err
    assert [each.name for each in home.home.iterdir()] == ["mine.txt"] and not cluster.root_of(home).exists()
    found = {finding["check"]: finding["level"] for finding in json.loads(checked.out)}
    assert [found[name] for name in ("worker", "versions", "migrations")] == ["ok", "ok", "ok"]
    assert [found[name] for name in ("model key", "isolation")] == ["warning", "warning"]


def forged(home: Settings) -> int:
    """Make the worker seem to be of another release; its process."""
    note = read_worker_note(Layout(home=home.home).worker)
    assert note is not None
    old = note.model_copy(update={"release": note.release.model_copy(update={"build": "0ld"})})
    write(Layout(home=home.home).worker, old)
    return note.process.pid


def part(status: dict[str, Any], name: str) -> dict[str, Any]:
    return next(part for part in status["parts"] if part["name"] == name)


async def test_a_watcher_brings_a_killed_stack_up_again_but_not_one_that_was_taken_down(
    home: Settings, tmp_path: Path
) -> None:
    nobody = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"m": {}}}
    person = shell(home, tmp_path).with_(OPENCODE_CONFIG_CONTENT=json.dumps({"provider": {"nobody": nobody}}))
    begun = await person.run("run", "--detach", "-m", "nobody/m", "hello")
    async with person.terminal("watch", begun.out.strip()) as terminal:
        await terminal.until("> hello")
        supervisor = status(home).supervisor
        assert supervisor is not None
        os.kill(supervisor, signal.SIGKILL)
        await terminal.until("Starting the stack.")
        await wait_until(lambda: status(home).serving and status(home).supervisor not in (None, supervisor))
        sent = await person.run("send", begun.out.strip(), "again")
        await terminal.until("> again")
        down = await person.run("down")
        await terminal.until("was stopped with `holdfast down`")
        code = await terminal.ended()

    assert (begun.code, sent.code, down.code, code) == (0, 0, 0, 3)


async def test_external_servers_are_checked_and_serve_once_there_is_a_worker(open_harness: OpenHarness) -> None:
    async with open_harness(ScriptedAnswer(text="Hello.")) as harness:
        nobody, checked = await outside(harness).run("status"), await outside(harness).run("doctor", "--json")
        async with harness.running_worker():
            await harness.ended(await harness.start_session("hello"))
            served = await outside(harness).run("status", "--json")

    assert (nobody.code, checked.code, served.code) == (3, 1, 0) and "No worker is running" in nobody.out
    levels = {finding["check"]: finding["level"] for finding in json.loads(checked.out)}
    assert [levels[name] for name in ("postgres", "migrations", "worker")] == ["ok", "ok", "failure"]
    assert levels["temporal"] in ("ok", "warning")  # by the release that is here
    assert [server["trouble"] for server in json.loads(served.out)["servers"]] == [None, None]


async def test_a_database_that_does_not_answer_ends_with_3(tmp_path: Path) -> None:
    own = {"HOLDFAST_POSTGRES_URL": "postgresql://127.0.0.1:1/none", "TEMPORAL_ADDRESS": "127.0.0.1:1"}
    environment = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_WORKER": "false", **own}

    ended = await CommandRunner({"PATH": os.environ["PATH"], **environment}, tmp_path).run("asks")

    assert ended.code == 3 and "PostgreSQL cannot be reached" in ended.err


async def test_a_stack_that_cannot_be_started_ends_with_3(bare: CommandRunner) -> None:
    nothing = {"HOLDFAST_POSTGRES_BIN": str(bare.directory), "HOLDFAST_TEMPORAL_BIN": str(bare.directory / "none")}

    ended = await CommandRunner({**bare.environment, **nothing}, bare.directory).run("up")

    assert ended.code in (2, 3) and str(bare.directory) in ended.err
