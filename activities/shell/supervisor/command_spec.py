"""What a supervisor runs. Standard library only."""

import json
import os
import signal


class CommandSpec:
    """Times in seconds. `faults` arms the supervisor's failpoints."""

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
        session: str | None = None,
    ) -> None:
        self.arguments = arguments
        self.directory = directory
        self.environment = environment
        self.timeout = timeout
        self.spool_bytes = spool_bytes
        self.lease_seconds = lease_seconds
        self.faults = faults
        self.session = session

    @classmethod
    def read(cls, text: bytes) -> "CommandSpec":
        return cls(**json.loads(text))

    def text(self) -> bytes:
        return json.dumps(vars(self)).encode()

    def trigger_failpoint(self, point: str) -> None:
        match self.faults.get(point):
            case "kill9":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
