"""The layout of a stack's files in its home."""

import hashlib
from pathlib import Path

from workflows.domain.value import Value


class Layout(Value):
    """A stack's paths; `key` identifies it outside of its home."""

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
        """The note of the worker last started here."""
        return self.home / "run" / "worker.json"

    @property
    def up_lock(self) -> Path:
        """Held while the stack is started or stopped."""
        return self.home / "up.lock"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor from before its start to its death."""
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
        for directory in (self.home, self.temporal, self.logs):
            make_directory(directory, 0o700)


def make_directory(directory: Path, mode: int = 0o755) -> None:
    """With its parents, which others cannot write to whatever the umask: who could would replace what is below."""
    for each in (*reversed(directory.parents), directory):
        if not each.exists():
            each.mkdir(mode=mode if each == directory else 0o755, exist_ok=True)
