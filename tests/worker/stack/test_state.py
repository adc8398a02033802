"""The supervisor's word is believed as long as the supervisor lives."""

from pathlib import Path

from worker.stack import processes, state
from worker.stack.processes import ProcessRef
from worker.stack.state import Endpoints, Phase, StackState

_ENDPOINTS = Endpoints(postgres_url="postgresql://x", temporal_address="127.0.0.1:1")


def _state(supervisor: ProcessRef) -> StackState:
    return StackState(supervisor=supervisor, phase=Phase.SERVING, endpoints=_ENDPOINTS)


def test_a_written_state_is_read_and_private(tmp_path: Path) -> None:
    written = _state(processes.me())

    state.write(tmp_path / "stack.json", written)

    assert state.read(tmp_path / "stack.json") == written
    assert (tmp_path / "stack.json").stat().st_mode & 0o777 == 0o600


def test_what_a_dead_supervisor_said_is_not_serving() -> None:
    assert _state(processes.me()).serving
    assert not _state(ProcessRef(pid=processes.me().pid, born="before the reboot")).serving


def test_a_missing_or_foreign_file_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "foreign.json").write_text('{"version": 99}')

    assert state.read(tmp_path / "foreign.json") is None
    assert state.read(tmp_path / "missing.json") is None
