"""The supervisor's state file counts while the supervisor lives."""

from pathlib import Path

from worker.stack import processes, state_file
from worker.stack.processes import ProcessRef
from worker.stack.state_file import Endpoints, StackPhase, StackState

_ENDPOINTS = Endpoints(postgres_url="postgresql://x", temporal_address="127.0.0.1:1")


def _state(supervisor: ProcessRef) -> StackState:
    return StackState(supervisor=supervisor, phase=StackPhase.SERVING, endpoints=_ENDPOINTS)


def test_a_written_state_is_read_and_private(tmp_path: Path) -> None:
    written = _state(processes.current_process())

    state_file.write(tmp_path / "stack.json", written)

    assert state_file.read(tmp_path / "stack.json") == written
    assert (tmp_path / "stack.json").stat().st_mode & 0o777 == 0o600


def test_what_a_dead_supervisor_said_is_not_serving() -> None:
    assert _state(processes.current_process()).serving
    assert not _state(ProcessRef(pid=processes.current_process().pid, born="before the reboot")).serving


def test_a_missing_or_foreign_file_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "foreign.json").write_text('{"version": 99}')

    assert state_file.read(tmp_path / "foreign.json") is None
    assert state_file.read(tmp_path / "missing.json") is None
