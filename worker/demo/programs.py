"""The programs that a demo starts: `holdfast` as a person would, git, the tests, and the model server."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from worker.demo import task
from worker.demo.stage import Stage
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.value import Value

_POLL: Final = 0.02  # seconds; the model server says by a file that it serves
_PATIENCE: Final = 30.0  # seconds until it must
_NOBODY: Final = {  # the history of the demo's repository has no person's name, signature or hooks
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_NAME": "Holdfast demo" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "demo@localhost" for role in ("AUTHOR", "COMMITTER")},
}


class Ended(Value):
    """How a program ended, and what it printed."""

    code: int
    output: str


def holdfast_program() -> Path:
    """The console command of this very installation."""
    return Path(sys.executable).with_name("holdfast")


async def holdfast(stage: Stage, *arguments: str) -> Ended:
    """Run a command as a person in the repository would. Raises HoldfastError with what it said when it fails."""
    ended = await _run(stage, str(holdfast_program()), *arguments)
    if ended.code != 0:
        raise HoldfastError(f"`holdfast {' '.join(arguments)}` ended with {ended.code}:\n{ended.output}")
    return ended


async def git(stage: Stage, *arguments: str) -> str:
    """What git prints in the repository. Raises HoldfastError when it fails."""
    ended = await _run(stage, "git", *arguments, **_NOBODY)
    if ended.code != 0:
        raise HoldfastError(f"`git {' '.join(arguments)}` failed in {str(stage.repository)!r}:\n{ended.output}")
    return ended.output


async def tests(stage: Stage) -> Ended:
    """Run the tests of the repository from outside."""
    return await _run(stage, *task.TESTS)


@asynccontextmanager
async def model_server(stage: Stage) -> AsyncIterator[str]:
    """Serve the scripted model while the context lasts, as a process that no kill of the demo hits. Yields its URL."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "worker.scripted.server", "--script", str(stage.script)),
        *("--ledger", str(stage.requests), "--port-file", str(stage.port)),
        stdin=DEVNULL,
        env=stage.settings.environment,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            while not stage.port.exists():
                if process.returncode is not None:
                    raise Unavailable(f"The scripted model server has ended with {process.returncode}.")
                await asyncio.sleep(_POLL)
        yield f"http://127.0.0.1:{stage.port.read_text()}/v1"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _run(stage: Stage, *argv: str, **variables: str) -> Ended:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            cwd=stage.repository,
            env={**stage.settings.environment, **variables},
        )
    except FileNotFoundError as error:
        raise Unavailable(f"The demo needs {argv[0]!r}, which is not on the PATH: install it.") from error
    output, _ = await process.communicate()
    return Ended(code=process.returncode or 0, output=output.decode(errors="replace").strip())
