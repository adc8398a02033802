"""bash: a command's result for the model, and no second run after a crash."""

import asyncio
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from activities.credentials.keys import Keys
from activities.failpoints import TEST_VARIABLE, VARIABLE, configure
from activities.files.workspace import Workspace
from activities.shell.environment import tool_environment
from activities.shell.lease import CallDirectory, Process
from activities.tools.bash import BashParams, BashTool, CommandLimits
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from activities.web.web_access import WebAccess
from tests.activities.tools.tool_calls import NoDelegate, NoWait, attach_all
from tests.cases import Case, load, text
from tests.polling import WAIT_TIMEOUT
from workflows.domain.errors import OutcomeUnknown, StaleFence, ToolError
from workflows.domain.ids import PartId, SessionId
from workflows.domain.prompt import Prompt

CALL = PartId(f"prt_test{os.environ.get('PYTEST_XDIST_WORKER', '')}")  # processes are found by it, also those beside us
EFFECT = 'echo "effect $$" >> ../ledger'


@dataclass
class BashRig:
    """A project with one bash call; each attempt is new, as by another worker."""

    workspace: Workspace
    tool: BashTool = field(default_factory=BashTool)
    shown: asyncio.Queue[dict[str, JsonValue]] = field(default_factory=asyncio.Queue)
    stale: bool = False

    def context(self) -> ToolContext:
        async def progress(metadata: dict[str, JsonValue]) -> None:
            await self.shown.put(metadata)

        async def fence() -> None:
            if self.stale:
                raise StaleFence("a later attempt has taken over")

        async def no_answers() -> None:
            return None

        async def no_prompt(prompt: Prompt) -> None:
            raise AssertionError("a command sends no prompt")

        return ToolContext(
            session=SessionId("ses_test"),
            call=CALL,
            attempt="1-1-1",
            turn=TurnContext(self.workspace),
            environment=partial(tool_environment, {"PATH": "/usr/bin:/bin"}, self.workspace, CALL),
            progress=progress,
            answers=no_answers,
            queue_prompt=no_prompt,
            attach=attach_all,
            fence=fence,
            subagent=NoDelegate(),
            wait=NoWait(),
            web=WebAccess(Keys(self.workspace.data / "auth.json"), {}),
        )

    async def planned(self, **arguments: Any) -> tuple[BashParams, Plan]:
        params = BashParams(**arguments)
        return params, await self.tool.plan(params, TurnContext(self.workspace))

    async def run(self, command: str, **arguments: Any) -> Output:
        return await self.tool.run(*await self.planned(command=command, **arguments), self.context())

    async def begin(self, command: str) -> asyncio.Task[Output]:
        """An attempt whose command runs."""
        begun = self.pipe("begun")
        running = asyncio.create_task(self.run(f"echo > begun; {command}"))
        await asyncio.to_thread(begun.read_text)
        return running

    async def recover(self, command: str) -> Output:
        return await self.tool.recover(*await self.planned(command=command), self.context())

    async def stop(self, command: str) -> Output | None:
        return await self.tool.stop(*await self.planned(command=command or "true"), self.context())

    def supervisor(self) -> Process:
        lease = CallDirectory.of(self.workspace, CALL).lease()
        assert lease is not None
        assert lease.supervisor is not None
        return lease.supervisor

    def pipe(self, name: str) -> Path:
        os.mkfifo(self.workspace.directory / name)
        return self.workspace.directory / name

    def effects(self) -> list[str]:
        ledger = self.workspace.data / "ledger"
        return ledger.read_text().splitlines() if ledger.exists() else []


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[BashRig]:
    project = tmp_path / "project"
    project.mkdir()
    world = BashRig(Workspace(directory=project, worktree=project, data=tmp_path, home=tmp_path, temporary=tmp_path))
    yield world
    with suppress(OutcomeUnknown):
        await world.stop("")


HOLDFAST = {"the error is a sentence": "workdir does not exist: /ws/proj/zzz"}


@pytest.mark.parametrize("case", load("tool_outputs", tool="bash"))
async def test_a_case(case: Case, world: BashRig) -> None:
    expected = dict(case.expected)
    for name, content in case.input["files"].items():
        (world.workspace.directory / name).write_text(text(content))
    if expected.get("error_kind") == "invalid_arguments":
        with pytest.raises(ToolError) as raised:
            world.tool.parse(case.input["args"])
        assert str(raised.value) == expected["error"]
    elif expected["status"] == "error":
        with pytest.raises(ToolError) as raised:
            await world.run(**case.input["args"])
        error = expected["error"] if case.holdfast is None else HOLDFAST[case.holdfast]
        assert str(raised.value) == error.replace(case.input["project"], str(world.workspace.directory))
    else:
        output = await world.run(**case.input["args"])
        assert (output.title, output.truncated) == (expected["title"], expected["truncated"])
        assert output.metadata["exit"] == expected["exit"]
        assert output.output == expected["output"] + told_of(expected["exit"])


def told_of(code: int) -> str:
    """The note below a failed command's output (opencode.md 3.4, recommended there)."""
    return f"\n\n<shell_metadata>\nexit code {code}\n</shell_metadata>" if code else ""


async def test_a_timeout_in_seconds_is_refused_before_anything_runs(world: BashRig) -> None:
    with pytest.raises(ToolError, match=r"in milliseconds: 20 would end .* For 20 s write 20000\."):
        await world.planned(command="true", timeout=20)


async def test_a_plan_names_command_and_resolved_directory(world: BashRig) -> None:
    (world.workspace.directory / "sub").mkdir()
    (world.workspace.directory / "link").symlink_to("sub")
    _, plan = await world.planned(command="ls -l", workdir="link", description="lists")
    assert plan.effect.directory == str(world.workspace.directory / "sub")
    assert plan.effect.arguments == {"command": "ls -l", "workdir": "link"}
    assert [(request.permission, request.patterns) for request in plan.requests] == [("bash", ("ls -l",))]


async def test_a_script_that_was_changed_makes_another_record(world: BashRig) -> None:
    (world.workspace.directory / "run.sh").write_text("echo one\n")
    _, before = await world.planned(command="bash run.sh")
    (world.workspace.directory / "run.sh").write_text("echo two\n")
    _, after = await world.planned(command="bash run.sh")
    assert before.effect.digest != after.effect.digest


async def test_reading_with_git_runs_no_program_that_the_repository_names(world: BashRig) -> None:
    project, ran = world.workspace.directory, world.workspace.data / "ran"
    (world.workspace.data / "program").write_text(f"#!/bin/sh\necho >> {ran}\n")
    (world.workspace.data / "program").chmod(0o755)
    for arguments in (["init", "-q"], ["config", "core.fsmonitor", str(world.workspace.data / "program")]):
        subprocess.run(["git", *arguments], cwd=project, check=True)
    await world.run("git status --short | head -5")
    assert not ran.exists()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("cd fixtures/evil && git log -p --all", {}),
        ("git log -p --all", {"workdir": "fixtures/evil"}),
        ("cd fixtures/evil/objects && git show master", {}),
        ("cd fixtures/evil && make", {}),
    ],
)
async def test_a_bare_repository_among_the_files_of_a_project_runs_no_program(
    world: BashRig, command: str, arguments: dict[str, str]
) -> None:
    ran = world.workspace.data / "ran"
    evil = bare_repository(world.workspace.directory / "fixtures/evil", f"sh -c 'echo >> {ran}; cat \"$1\"' -")
    (evil / "Makefile").write_text("all:\n\tgit log -p --all\n")
    with suppress(ToolError):
        await world.run(command, **arguments)
    assert not ran.exists()


async def test_a_bare_repository_can_still_be_pushed_to_and_cloned(world: BashRig) -> None:
    bare_repository(world.workspace.directory / "remote", "cat")
    output = await world.run(
        "git clone -q remote copy && git -C copy push -q origin HEAD:refs/heads/other && git -C copy fetch -q && "
        "git --git-dir=remote branch --format='%(refname:short)'"
    )
    assert output.output.split() == ["master", "other"]


async def test_a_command_keeps_its_things_where_it_was_judged_to(world: BashRig) -> None:
    output = await world.run("echo $HOME $TMPDIR $PWD")
    workspace = world.workspace
    assert output.output.split() == [str(workspace.home), f"{workspace.temporary}/opencode", str(workspace.directory)]


@pytest.mark.parametrize("case", load("path_escape", tool="bash-workdir"))
async def test_a_directory_outside_is_asked_for(case: Case, world: BashRig) -> None:
    (world.workspace.data / "outside").mkdir()
    workdir = (
        case.fields["path"]
        .replace("/ws/proj", str(world.workspace.directory))
        .replace("/ws", str(world.workspace.data))
    )
    _, plan = await world.planned(command="ls", workdir=workdir)
    asked = [request for request in plan.requests if request.permission == "external_directory"]
    assert bool(asked) == (case.fields["expected"] != "allow")


@pytest.mark.parametrize("workdir", ["file", "a\0b", "loop"])
async def test_what_is_no_directory_is_an_error_before_any_question(world: BashRig, workdir: str) -> None:
    (world.workspace.directory / "file").touch()
    (world.workspace.directory / "loop").symlink_to("loop")
    with pytest.raises(ToolError):
        await world.planned(command="ls", workdir=workdir)


async def test_the_command_runs_in_its_directory_with_its_environment(world: BashRig) -> None:
    (world.workspace.directory / "sub").mkdir()
    output = await world.run("pwd; echo $HOLDFAST_CALL_ID $TERM", workdir="sub")
    assert output.output == f"{world.workspace.directory}/sub\n{CALL} dumb\n"


async def test_nothing_written_is_said(world: BashRig) -> None:
    assert (await world.run("true")).output == "(no output)"


async def test_of_a_long_output_both_ends_are_shown_and_all_of_it_is_kept(world: BashRig) -> None:
    output = await world.run("seq 5000")
    path = Path(str(output.metadata["outputPath"]))
    assert output.output == (
        f"(Shown: lines 1-400 and 3402-5000 of 5000. All of it is in {path}: search that with `grep`, or read parts of "
        "it with `offset` and `limit`.)\n\n"
        + "".join(f"{number}\n" for number in range(1, 401))
        + "\n... 3001 lines left out ...\n\n"
        + "".join(f"{number}\n" for number in range(3402, 5001))
    )
    assert await asyncio.to_thread(path.read_text) == "".join(f"{number}\n" for number in range(1, 5001))
    assert path.parent == world.workspace.tool_output
    assert output.truncated


async def test_colours_stay_in_what_is_kept_and_shown_to_people(world: BashRig) -> None:
    output = await world.run(r"printf '\e[31mred\e[0m\n'; seq 5000 >&2; printf '\e[32mgreen\e[0m\n'")
    assert "\x1b" not in output.output and "\nred\n1\n" in output.output and output.output.endswith("\ngreen\n")
    assert str(output.metadata["output"]).endswith("\x1b[32mgreen\x1b[0m\n")
    assert (await asyncio.to_thread(Path(str(output.metadata["outputPath"])).read_text)).startswith("\x1b[31mred")


async def test_people_see_which_files_a_command_was_to_change(world: BashRig) -> None:
    changed, none = await world.run("echo x >> new.txt 2>/dev/null; mkdir -p build/a"), await world.run("echo x")
    assert changed.metadata["changed"] == ["build/a", "new.txt"] and "changed" not in none.metadata


async def test_over_its_time_a_command_gives_what_it_has_written(world: BashRig) -> None:
    output = await world.run("echo begun; sleep 60", timeout=2000)
    assert output.metadata["exit"] is None
    assert output.output == (
        "begun\n\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 2000 ms. If this command "
        "is expected to take longer and is not waiting for interactive input, retry with a larger timeout value in "
        "milliseconds.\n</shell_metadata>"
    )


async def test_a_killed_command_is_an_error_that_names_the_signal(world: BashRig) -> None:
    with pytest.raises(ToolError, match=r"killed by SIGKILL .*not started again\.\n\nbefore"):
        await world.run("echo before; kill -KILL $$")


async def test_a_killed_part_of_a_command_is_named_with_the_exit_code(world: BashRig) -> None:
    output = await world.run("bash -c 'kill -KILL $$'; exit $?")
    assert output.output.endswith("<shell_metadata>\nexit code 137 (SIGKILL)\n</shell_metadata>")


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("(echo a; exit 3) | tail -1", "exit codes of the last pipeline's programs: 3 | 0\n"),
        (
            "set -euo pipefail; IFS=,; (echo a; exit 3) 2>&1 | cat | head -n 1 2>&1",
            "exit code 3\nexit codes of the last pipeline's programs: 3 | 0 | 0\n",
        ),
        ("echo a; (exit 2) |\n tail", "exit codes of the last pipeline's programs: 2 | 0\n"),
        (
            "set -o pipefail; yes a | head -1",
            "exit code 141 (SIGPIPE: what it wrote was not read any more, which is no failure)\n",
        ),
    ],
)
async def test_the_codes_that_head_and_tail_hide_are_named(world: BashRig, command: str, note: str) -> None:
    output = await world.run(command)
    assert output.output == f"a\n\n\n<shell_metadata>\n{note}</shell_metadata>"
    assert str(output.metadata.get("pipeline", "141")) in note


@pytest.mark.parametrize(
    "command",
    [
        "yes a | head -1",
        "echo a | tail -1",
        "(echo a; exit 3) | cat",
        "(exit 3) | tail; echo a",
        "trap 'echo a' EXIT; (exit 3) | tail -1",
        "true | tail; bash -c 'echo ${BASH_ENV-a}' | tail -1",
    ],
)
async def test_nothing_is_said_of_other_codes_and_the_flow_is_the_commands_own(world: BashRig, command: str) -> None:
    assert (await world.run(command)).output == "a\n"


async def test_an_error_of_syntax_reads_as_without_us(world: BashRig) -> None:
    assert "line 1: `echo (; false | tail'" in (await world.run("echo (; false | tail")).output


async def test_an_exit_code_that_means_no_signal_is_only_a_number(world: BashRig) -> None:
    assert "exit code 255\n" in (await world.run("exit 255")).output


async def test_a_command_that_nobody_waited_for_is_an_error(world: BashRig) -> None:
    world.tool = BashTool(CommandLimits(lease_seconds=2.0))  # long enough for a shell to begin, on a busy machine too
    await given_up(await world.begin("echo begun; sleep 60"))
    await asyncio.to_thread(world.supervisor().wait, 60)
    with pytest.raises(ToolError, match=r"no worker was there for [0-9.]+ min\.\n\nbegun"):
        await world.recover("echo begun; sleep 60")


async def test_too_much_output_ends_the_command_and_says_so(world: BashRig) -> None:
    world.tool = BashTool(CommandLimits(spool_bytes=100_000))
    output = await world.run("yes")
    assert "terminated command after it had written 100000 bytes" in output.output
    assert kept_bytes(output) == 100_000


async def test_a_large_output_costs_the_worker_no_memory(world: BashRig) -> None:
    world.tool = BashTool(CommandLimits(spool_bytes=300_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = await world.run("head -c 200000000 /dev/zero | tr '\\0' x")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KB
    assert len(output.output) < 52_000
    assert kept_bytes(output) == 200_000_000


async def test_people_see_the_output_while_the_command_runs(world: BashRig) -> None:
    gate = world.pipe("gate")
    running = asyncio.create_task(world.run("echo first; read < gate"))
    assert await world.shown.get() == {"title": "echo first; read < gate", "metadata": {"output": "first\n"}}
    await asyncio.to_thread(gate.write_text, "go\n")
    assert (await running).metadata["output"] == "first\n"


async def test_a_stale_attempt_starts_nothing(world: BashRig) -> None:
    world.stale = True
    with pytest.raises(StaleFence):
        await world.run(EFFECT)
    assert world.effects() == []
    assert CallDirectory.of(world.workspace, CALL).lease() is None


async def test_a_call_that_no_attempt_has_begun_is_run(world: BashRig) -> None:
    assert (await world.recover(f"{EFFECT}; echo done")).output == "done\n"
    assert len(world.effects()) == 1


async def test_a_command_goes_on_without_its_worker_and_the_next_one_gets_all_of_it(world: BashRig) -> None:
    gate = world.pipe("gate")
    command = f"{EFFECT}; echo before; read < gate; echo after"
    await asyncio.to_thread(started_by_a_worker_that_is_killed, world.workspace, command)
    following = asyncio.create_task(world.recover(command))
    await asyncio.to_thread(gate.write_text, "go\n")
    assert (await following).output == "before\nafter\n"
    assert len(world.effects()) == 1


async def test_a_command_that_ended_without_a_worker_is_not_run_again(world: BashRig) -> None:
    command = f"{EFFECT}; echo done"
    await asyncio.to_thread(started_by_a_worker_that_is_killed, world.workspace, command)
    outputs = [await world.recover(command) for _ in range(2)]
    assert [output.output for output in outputs] == ["done\n", "done\n"]
    assert len(world.effects()) == 1


async def test_racing_attempts_run_the_command_once_and_agree(world: BashRig) -> None:
    outputs = await asyncio.gather(*(world.recover(f"{EFFECT}; seq 3") for _ in range(4)))
    assert {output.output for output in outputs} == {"1\n2\n3\n"}
    assert len(world.effects()) == 1


async def test_a_command_without_its_supervisor_is_unknown_and_gone(world: BashRig) -> None:
    running = await world.begin(f"{EFFECT}; echo written; setsid sleep 60 & sleep 61")
    await world.shown.get()
    os.kill(world.supervisor().pid, signal.SIGKILL)
    with pytest.raises(OutcomeUnknown, match=r"(?s)Nothing of the command runs any more.*written"):
        await running
    with pytest.raises(OutcomeUnknown):
        await world.recover(EFFECT)
    assert len(world.effects()) == 1


async def test_a_supervisor_that_dies_before_the_command_is_unknown_too(world: BashRig) -> None:
    configure({VARIABLE: f"supervisor.leased:{CALL}=kill9@1", TEST_VARIABLE: str(world.workspace.data)})
    try:
        with pytest.raises(OutcomeUnknown, match="died before it could record an end"):
            await world.run(EFFECT)
    finally:
        configure({})
    assert world.effects() == []


async def test_the_model_is_told_what_runs_on_and_how_it_ends(world: BashRig) -> None:
    output = await world.run("setsid sleep 67 >/dev/null 2>&1 & echo started")
    started, note = output.output.split("<shell_metadata>")
    (pid, *command) = note.splitlines()[2].split()
    assert started.startswith("started\n") and command == ["sleep", "67"]
    assert "still run after this call: 1." in note and "ended with it" in note
    os.kill(int(pid), signal.SIGTERM)
    assert await asyncio.to_thread(world.supervisor().wait, WAIT_TIMEOUT)


async def test_what_ends_with_its_call_is_no_word(world: BashRig) -> None:
    output = await world.run("echo one | tee >(cat >/dev/null); (sleep 0.01 &)")
    assert output.output == "one\n"


async def test_of_many_processes_the_first_are_named(world: BashRig) -> None:
    output = await world.run("for i in {1..12}; do sleep 68 & done; exec >&- 2>&-; sleep 0.2")
    assert output.output.count("sleep 68") == 10 and "after this call: 12." in output.output


async def test_a_stale_attempt_does_not_touch_what_is_left(world: BashRig) -> None:
    running = await world.begin("sleep 60")
    world.stale = True
    os.kill(world.supervisor().pid, signal.SIGKILL)
    with pytest.raises(StaleFence):
        await running


async def test_giving_up_on_a_call_leaves_its_command_running(world: BashRig) -> None:
    gate = world.pipe("gate")
    await given_up(await world.begin("read < gate; echo done"))
    await asyncio.to_thread(gate.write_text, "go\n")
    assert (await world.recover("read < gate; echo done")).output == "done\n"


async def test_a_stop_ends_the_command_and_gives_what_it_has_written(world: BashRig) -> None:
    gate = world.pipe("gate")
    running = await world.begin("echo never >&3; echo > gate; sleep 60; echo never")
    await asyncio.to_thread(gate.read_text)
    await given_up(running)
    stopped = await world.stop("sleep 60")
    assert stopped is not None
    note = r"The user stopped the turn \d+ s after this command began; it was ended; what it had done stands\."
    assert re.search(rf"descriptor\n\n\n<shell_metadata>\n{note}\n</shell_metadata>$", stopped.output)
    assert stopped.metadata["exit"] is None
    assert not world.supervisor().alive()


async def test_a_call_that_was_stopped_before_its_start_never_runs(world: BashRig) -> None:
    assert await world.stop(EFFECT) is None
    for attempt in (world.run, world.recover):
        with pytest.raises(ToolError, match="stopped before it began"):
            await attempt(EFFECT)
    assert world.effects() == []


async def test_a_stop_of_a_command_that_had_lost_its_supervisor_is_unknown(world: BashRig) -> None:
    await given_up(await world.begin("sleep 60"))
    os.kill(world.supervisor().pid, signal.SIGKILL)
    with pytest.raises(OutcomeUnknown):
        await world.stop("sleep 60")


def kept_bytes(output: Output) -> int:
    """Size of the complete output in the file named to the model."""
    return Path(str(output.metadata["outputPath"])).stat().st_size


async def given_up(task: asyncio.Task[Output]) -> None:
    task.cancel()
    await asyncio.wait([task])


def started_by_a_worker_that_is_killed(workspace: Workspace, command: str) -> None:
    """A process runs the tool, and dies with its group once the command runs."""
    program = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.activities.tools.test_bash import Workspace, BashRig\n"
        "async def main(root, command):\n"
        "    world = BashRig(Workspace(root / 'project', root / 'project', root, root, root))\n"
        "    await world.begin(command)\n"
        "    os.killpg(0, signal.SIGKILL)\n"
        "asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))\n"
    )
    arguments = [sys.executable, "-c", program, str(workspace.data), command]
    died = subprocess.run(arguments, start_new_session=True, check=False)
    assert died.returncode == -signal.SIGKILL


def bare_repository(there: Path, textconv: str) -> Path:
    """A bare repository with a commit, as plain files, whose configuration names a program for each diff."""

    def git(*arguments: str, at: Path = there) -> None:
        author = ["-c", "user.name=ada", "-c", "user.email=ada@example.test"]
        subprocess.run(["git", *author, *arguments], cwd=at, check=True)

    there.mkdir(parents=True)
    git("init", "-q", "--bare", "--initial-branch=master")
    made = there.parent / "made"
    git("clone", "-q", str(there), str(made), at=there.parent)
    (made / "a.txt").write_text("one\n")
    git("add", "a.txt", at=made)
    git("commit", "-q", "-m", "one", at=made)
    git("push", "-q", "origin", "HEAD:master", at=made)
    shutil.rmtree(made)
    git("config", "diff.x.textconv", textconv)
    git("config", "core.fsmonitor", textconv)
    (there / "info/attributes").write_text("* diff=x\n")
    return there
