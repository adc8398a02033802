"""Ctrl-C while a task is being sent: it must not run on unstopped."""

import asyncio
import signal
from typing import Self

import click

from worker.cli.command_support import print_note

_STOPPING = "It is stopped as soon as it is accepted. Ctrl-C again leaves without waiting for that."
_LEFT = "Left before it was known whether the task was accepted; if it was, `holdfast sessions` lists it."


class InterruptGuard:
    """Records Ctrl-C until the follower has a handler. A second one leaves."""

    def __init__(self) -> None:
        self.interrupted = False
        self._left = False
        self._task = asyncio.current_task()

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        if self._left:
            raise click.Abort from None

    def _on_interrupt(self) -> None:
        print_note(_LEFT if self.interrupted else _STOPPING)
        self._left = self.interrupted
        self.interrupted = True
        if self._left and self._task is not None:
            self._task.cancel()
