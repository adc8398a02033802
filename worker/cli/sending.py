"""Sending: a task is handed over, and Ctrl-C must not leave it behind unstopped."""

import asyncio
import signal
from typing import Self

import click

from worker.cli import door

_STOPPING = "It is stopped as soon as it is accepted. Ctrl-C again leaves without waiting for that."
_LEFT = "Left before it was known whether the task is accepted; if it is, `holdfast sessions` lists it."


class Sending:
    """From the beginning of the `with` on, Ctrl-C does not end the command: whoever follows what was sent stops it, and
    hears Ctrl-C by a handler of their own. A second one before that leaves."""

    def __init__(self) -> None:
        self.interrupted = False
        self._left = False
        self._task = asyncio.current_task()

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        if self._left:
            raise click.Abort from None

    def _press(self) -> None:
        door.say(_LEFT if self.interrupted else _STOPPING)
        self._left = self.interrupted
        self.interrupted = True
        if self._left and self._task is not None:
            self._task.cancel()
