"""A process that has imported what a worker needs, and forks workers in milliseconds.

The import takes ten seconds of a core, for each killed worker. A forked worker is like any other: a process with its
own session and environment that runs `worker.serve`. Orders are lines of JSON; the files `<log>.pid` and `<log>.exit`
hold the worker's pid and exit code.
"""

import asyncio
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Final

from activities.model.wires.router import WireRouter
from worker.settings import process_environment
from worker.stack.orphaned_processes import parent_death_signal
from workflows.domain.value import Value

_WORKER: Final = "worker.serve"
OURS: Final = ("workflows", "activities", "prompts", "worker")


class ForkRequest(Value):
    """A wanted worker; `code`: a copy of our packages to run instead."""

    environment: dict[str, str]
    log: Path
    code: Path | None = None


def main() -> None:
    """Fork workers until the orders end."""
    import_module(_WORKER)
    asyncio.run(WireRouter(process_environment()).warm())
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    for line in sys.stdin:
        if fork() == 0:
            supervise_worker(ForkRequest.model_validate_json(line))
            os._exit(0)


def fork() -> int:
    """Fork a child that does not outlive us: a killed test run leaves nothing."""
    ask = parent_death_signal(signal.SIGKILL)
    child = os.fork()
    if child == 0:
        ask()
    return child


def supervise_worker(order: ForkRequest) -> None:
    """Fork the worker, and report its end."""
    worker = fork()
    if worker == 0:
        become_worker(order)
    _tell(order.log.with_suffix(".pid"), worker)
    _, status = os.waitpid(worker, 0)
    _tell(order.log.with_suffix(".exit"), os.waitstatus_to_exitcode(status))


def become_worker(order: ForkRequest) -> None:
    """Never returns: a worker's process ends by itself."""
    os.setsid()
    os.chdir(order.log.parent)
    os.environ.clear()
    os.environ.update(order.environment)
    log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(file, stream)
    if order.code is not None:
        replace_code(order.code)
    import_module(_WORKER).main()


def replace_code(code: Path) -> None:
    """Forget our modules, to import them from a copy."""
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.path.insert(0, os.fspath(code))


def _tell(path: Path, number: int) -> None:
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(str(number))
    draft.replace(path)


if __name__ == "__main__":
    main()
