"""Ports for what must be told one: of those that nobody is given for outgoing connections meanwhile."""

import random

from worker.stack.ports import free


def neighbours() -> tuple[int, int]:
    """Two free ports side by side."""
    while True:
        port = random.randrange(10_000, 20_000)  # the servers of stacks are above
        if free(port) and free(port + 1):
            return port, port + 1
