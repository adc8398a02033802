"""Where the files of a stack lie below its home."""

import hashlib
from pathlib import Path

from workflows.domain.value import Value


class Layout(Value):
    """The paths of one stack; `key` tells stacks apart outside their homes."""

    home: Path

    @property
    def key(self) -> str:
        return hashlib.sha256(bytes(self.home)).hexdigest()[:12]

    @property
    def state(self) -> Path:
        return self.home / "stack.json"

    @property
    def ports(self) -> Path:
        return self.home / "ports.json"

    @property
    def worker(self) -> Path:
        """Which worker was started here last, in its own words."""
        return self.home / "run" / "worker.json"

    @property
    def up_lock(self) -> Path:
        """Held while somebody starts or stops the stack."""
        return self.home / "up.lock"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor as long as it lives, from whoever starts it on."""
        return self.home / "supervisor.lock"

    @property
    def temporal(self) -> Path:
        return self.home / "temporal"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def create(self) -> None:
        """Make the directories; what we make is for the owner only."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (self.temporal, self.logs):
            directory.mkdir(mode=0o700, exist_ok=True)
