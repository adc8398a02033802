"""Commands that only read start no stack, and make no file."""

import json
import os
from pathlib import Path

from tests.polling import wait_until
from tests.worker.cli.commands.test_stack import shell as with_stack
from tests.worker.cli.conftest import CommandRunner, OpenHarness, files_below
from tests.worker.cli.conftest import shell as outside
from tests.worker.stack.conftest import home as home
from worker.settings import Settings
from worker.stack.processes import ref
from worker.stack.status import status

LISTS = (
    ("sessions",),
    ("sessions", "--here", "--all"),
    ("asks",),
    ("stats",),
    ("schedules",),
    ("schedules", "verify"),
    ("grants",),
    ("projects",),
    ("trust", "--show"),
    ("trust", "--verify"),
)
NAMED = (
    ("log", "last"),
    ("log", "ses_ab", "--verify"),
    ("export", "last"),
    ("sessions", "show", "last"),
    ("asks", "per_ab"),
    ("asks", "-s", "last"),
    ("stats", "-s", "last"),
    ("schedules", "show", "sch_ab"),
    ("schedules", "verify", "sch_ab"),
    ("watch", "last", "--until-idle"),
)
OF_FILES = (("agents",), ("commands",), ("skills",), ("models",), ("config",), ("auth", "list"))
JSON = (("sessions",), ("asks",), ("stats",), ("schedules",), ("grants",), ("projects",))


async def test_before_the_first_start_they_say_that_nothing_is_there_and_make_nothing(bare: CommandRunner) -> None:
    above = bare.directory.parent
    before = files_below(above)
    lists = [await bare.run(*words) for words in LISTS]
    named = [await bare.run(*words) for words in NAMED]
    read = [await bare.run(*words) for words in OF_FILES]
    seen, checked = await bare.run("status"), await bare.run("doctor")
    completed = await bare.with_(_HOLDFAST_COMPLETE="bash_complete", COMP_WORDS="holdfast log ", COMP_CWORD="2").run()

    assert [each.code for each in lists] == [0] * len(LISTS), [each.err for each in lists]
    assert lists[0].err == "There is no session yet: `holdfast run` starts one.\n" and lists[0].out == ""
    assert [each.code for each in named] == [2] * len(NAMED)
    assert {each.err for each in named} == {"holdfast: There is no session yet: `holdfast run` starts one.\n"}
    assert [each.code for each in read] == [0] * len(OF_FILES), [each.err for each in read]
    assert (seen.code, completed.code) == (3, 0) and "last" in completed.out and "does not run" in checked.out
    assert files_below(above) == before


async def test_their_json_is_that_of_an_empty_stack(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        person = outside(harness)
        empty = [await person.run(*words, "--json") for words in JSON]
        servers = ("HOLDFAST_POSTGRES_URL", "TEMPORAL_ADDRESS")
        newcomer = person.with_(HOLDFAST_HOME=str(harness.project.parent / "new"), **dict.fromkeys(servers, ""))
        never = [await newcomer.run(*words, "--json") for words in JSON]

    assert [(each.code, each.err) for each in (*never, *empty)] == [(0, "")] * 2 * len(JSON)
    assert [json.loads(each.out) for each in never] == [json.loads(each.out) for each in empty]


async def test_a_stack_that_was_stopped_stays_so_and_one_that_died_comes_back(home: Settings, tmp_path: Path) -> None:
    person = with_stack(home, tmp_path)
    await person.run("up")
    supervisor = status(home).supervisor
    assert supervisor is not None
    killed = ref(supervisor)
    os.kill(supervisor, 9)
    await wait_until(lambda: not killed.alive)
    back = await person.run("sessions")
    served = status(home).serving
    await person.run("down")
    refused = [await person.run(*words) for words in (("sessions",), ("asks",), ("log", "last"), ("watch", "last"))]
    stopped = status(home)
    renewed = await person.run("up")

    assert (back.code, served, renewed.code) == (0, True, 0) and "Starting the stack." in back.err
    assert [(each.code, each.err) for each in refused] == [
        (3, "holdfast: The stack is down: `holdfast up` starts it.\n")
    ] * len(refused)
    assert stopped.stopped and stopped.supervisor is None
