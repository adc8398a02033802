"""All parts of a stack are killed, alone and together."""

import os
import signal
from pathlib import Path

import psycopg

from tests.polling import WAIT_TIMEOUT, wait_until
from tests.worker.stack.conftest import part, pid
from worker.connect import connect
from worker.settings import Settings
from worker.stack import processes
from worker.stack.down import down
from worker.stack.processes import ProcessRef
from worker.stack.state_file import PartName
from worker.stack.status import endpoints, status
from worker.stack.up import up


async def test_a_killed_postgres_comes_back_with_its_data_and_leaves_no_zombies(running: Settings) -> None:
    url, killed = _url(running), pid(running, PartName.POSTGRES)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept ()")

    os.kill(killed, signal.SIGKILL)  # its own children have no parent now but the supervisor
    await _replaced(running, PartName.POSTGRES, killed)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regclass('kept')").fetchone() == ("kept",)
    assert part(running, PartName.POSTGRES).trouble == "killed by SIGKILL"
    await wait_until(lambda: not _zombie_children(_supervisor(running).pid))


async def test_a_killed_temporal_comes_back_at_its_address(running: Settings) -> None:
    before, killed = endpoints(running), pid(running, PartName.TEMPORAL)

    os.kill(killed, signal.SIGKILL)
    await _replaced(running, PartName.TEMPORAL, killed)

    assert endpoints(running) == before
    assert before is not None
    client = await connect(running, before)
    assert await client.service_client.check_health()


async def test_a_killed_supervisor_takes_everything_with_it_and_a_killed_stack_comes_back_with_its_data(
    running: Settings,
) -> None:
    former = _pids(running)
    children = [processes.ref(pid) for pid in former]

    await _kill(_supervisor(running))

    for child in children:
        assert await processes.wait_until_gone(child, WAIT_TIMEOUT)
    assert not status(running).serving
    assert not status(running).stopped
    await up(running, print, worker=False)
    assert former.isdisjoint(_pids(running))
    with psycopg.connect(_url(running)) as connection:
        connection.execute("CREATE TABLE kept ()")

    await _kill(_supervisor(running), *map(processes.ref, _pids(running)))
    await up(running, print, worker=False)

    with psycopg.connect(_url(running)) as connection:
        assert connection.execute("SELECT to_regclass('kept')").fetchone() == ("kept",)


async def test_down_stops_all_parts_says_that_it_was_wanted_and_up_finds_the_same_addresses(running: Settings) -> None:
    before, children = endpoints(running), [processes.ref(pid) for pid in _pids(running)]

    await down(running, print)

    assert not any(child.alive for child in children)
    assert status(running).stopped
    assert status(running).supervisor is None
    assert {part.exits for part in status(running).parts} == {0}
    assert await up(running, print, worker=False) == before


def _url(settings: Settings) -> str:
    found = endpoints(settings)
    assert found is not None
    return found.postgres_url


def _supervisor(settings: Settings) -> ProcessRef:
    found = status(settings).supervisor
    assert found is not None
    return processes.ref(found)


async def _kill(*victims: ProcessRef) -> None:
    """Kill all, and wait until they are dead: that takes a moment."""
    for victim in victims:
        victim.kill(signal.SIGKILL)
    for victim in victims:
        assert await processes.wait_until_gone(victim, WAIT_TIMEOUT)


def _pids(settings: Settings) -> set[int]:
    return {part.pid for part in status(settings).parts if part.pid is not None}


async def _replaced(settings: Settings, name: PartName, killed: int) -> None:
    """Wait for the killed part's successor."""

    def came() -> bool:
        seen = part(settings, name)  # one look: between two of them the killed one dies
        return seen.serving and seen.pid != killed

    await wait_until(came)


def _zombie_children(supervisor: int) -> list[str]:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return [child for child in children if processes.born(int(child)) is None]
