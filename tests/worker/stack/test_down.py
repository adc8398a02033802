"""Taking down what runs, or no longer runs."""

from pathlib import Path

from tests.conftest import settings_of
from worker.stack import state
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.state import Endpoints, Phase, StackState
from worker.stack.status import status


async def test_a_stack_that_was_killed_and_taken_down_since_was_stopped_on_purpose(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    gone = ProcessRef(pid=1, born="before the reboot")
    served = Endpoints(postgres_url="postgresql://x", temporal_address="127.0.0.1:1")
    state.write(Layout(home=tmp_path).state, StackState(supervisor=gone, phase=Phase.SERVING, endpoints=served))
    assert not status(settings).stopped

    await down(settings, print)

    assert status(settings).stopped


async def test_a_stack_that_never_ran_leaves_no_trace(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")

    await down(settings, print)

    assert not settings.home.exists()
