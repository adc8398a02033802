"""Why a session waits for a person to resume it."""

from enum import StrEnum

from workflows.domain.value import Value


class SuspendReason(StrEnum):
    """RESTART: at work when its stack ended, a person is asked; KEPT: the same, without a question; RESTORED: at work
    at the time of its backup; BEHIND: its log lacks what its run has seen; GONE, REPLACED, BRANCH: its directory has
    changed since its last turn; TRUST: what people have accepted of its project's files has changed;
    SILENT: its directory does not answer; BROKEN: our own code keeps failing; STALLED: it
    did not go on although its run was started anew."""

    RESTART = "restart"
    KEPT = "kept"
    RESTORED = "restored"
    BEHIND = "behind"
    GONE = "gone"
    REPLACED = "replaced"
    BRANCH = "branch"
    TRUST = "trust"
    SILENT = "silent"
    BROKEN = "broken"
    STALLED = "stalled"


class DirectoryIdentity(Value):
    """A directory at a turn's end; device and inode are comparable within one boot."""

    boot: str
    device: int
    inode: int
    branch: str | None = None

    def is_replaced_by(self, now: "DirectoryIdentity") -> bool:
        """False for other boots' or mounts' numbers."""
        return (self.boot, self.device) == (now.boot, now.device) and self.inode != now.inode


class SuspendCause(Value):
    """`was`: what the session had before, such as its branch; `now`: what was found instead."""

    reason: SuspendReason
    was: str | None = None
    now: str | None = None


def find_directory_change(
    directory: str, was: DirectoryIdentity | None, now: DirectoryIdentity | None
) -> SuspendCause | None:
    """How it differs from what it `was` after the last turn; `now` is None if it is gone."""
    if now is None:
        return SuspendCause(reason=SuspendReason.GONE, was=directory)
    if was is None:
        return None
    if was.is_replaced_by(now):
        return SuspendCause(reason=SuspendReason.REPLACED, was=directory)
    if was.branch is not None and now.branch is not None and was.branch != now.branch:
        return SuspendCause(reason=SuspendReason.BRANCH, was=was.branch, now=now.branch)
    return None
