"""Ports outside of the range for outgoing connections, which could take them meanwhile."""

import random

from worker.stack.ports import is_free


def adjacent_free_ports() -> tuple[int, int]:
    """Two free ports side by side."""
    while True:
        port = random.randrange(10_000, 20_000)  # the servers of stacks are above
        if is_free(port) and is_free(port + 1):
            return port, port + 1
