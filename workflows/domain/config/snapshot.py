"""ProjectSnapshot: what a project says, frozen for a turn."""

import hashlib

from workflows.domain.agents import BUILD, Agent, Delegation
from workflows.domain.config.config import Config
from workflows.domain.config.trust import HeldBack
from workflows.domain.ids import Prefix, SnapshotId
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value


class Instruction(Value):
    """A file of instructions for the model; not `complete` when only its begin is here."""

    path: str
    text: str
    complete: bool = True


class NotHonoured(Value):
    """A field that OpenCode knows and Holdfast does not act on yet."""

    file: str
    field: str


class IgnoredFiles(Value):
    """Files of one folder that OpenCode reads and Holdfast does not act on yet: how many, and the first `names`.

    `ruled` are those that say what an agent may do: what they deny is not denied.
    """

    kind: str
    folder: str
    names: tuple[str, ...]
    count: int
    ruled: tuple[str, ...] = ()


class ProjectSnapshot(Value):
    """Configuration, rules and instructions of a directory, as they hold for one turn.

    `config` keeps its references: no value of a variable or of a key file is in here. `rules` are those of the turn's
    `agent`, and of its session where that has some of its own. `home` is the home directory of the person who started
    the session, `model_is_managed` says that an administrator has set the model: no flag changes it. `held_back`,
    `not_honoured`, `ignored` and `warnings` are for that person.
    """

    directory: str
    worktree: str | None
    home: str | None = None  # None in what an earlier release has frozen: the worker's own
    model_is_managed: bool = False
    config: Config
    rules: Ruleset
    agent: Agent = BUILD
    delegation: Delegation = Delegation()
    instructions: tuple[Instruction, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    not_honoured: tuple[NotHonoured, ...] = ()
    ignored: tuple[IgnoredFiles, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the snapshot, in hex; equal for equal content."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def id(self) -> SnapshotId:
        """What the snapshot is stored under, and named by in the event of each turn that it is frozen for."""
        return SnapshotId(f"{Prefix.SNAPSHOT}_{self.digest[:32]}")
