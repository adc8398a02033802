"""The order that a worker hands to a supervisor: what to run, where, with what, and within which limits.

Standard library only: the supervisor imports it.
"""

import json
import os
import signal


class Order:
    """A command and its limits: times in seconds. `faults` arms the supervisor's own failpoints."""

    def __init__(
        self,
        *,
        arguments: list[str],
        directory: str,
        environment: dict[str, str],
        timeout: float,
        spool_bytes: int,
        lease_seconds: float,
        faults: dict[str, str],
    ) -> None:
        self.arguments = arguments
        self.directory = directory
        self.environment = environment
        self.timeout = timeout
        self.spool_bytes = spool_bytes
        self.lease_seconds = lease_seconds
        self.faults = faults

    @classmethod
    def read(cls, text: bytes) -> "Order":
        return cls(**json.loads(text))

    def text(self) -> bytes:
        return json.dumps(vars(self)).encode()

    def fault(self, point: str) -> None:
        """Have the fault that is armed at `point`, if one is."""
        match self.faults.get(point):
            case "kill9":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "exit":
                os._exit(1)
