"""Parking: why a session does not go on before a person says so."""

from enum import StrEnum

from workflows.domain.value import Value


class ParkReason(StrEnum):
    """RESTART: it was at work when its stack ended, and a person is asked; KEPT: the same, and nobody is asked;
    RESTORED: it was at work when the backup was made that it comes from; GONE, REPLACED, BRANCH: what has become of its
    directory since its last turn; BROKEN: our own code keeps failing for it."""

    RESTART = "restart"
    KEPT = "kept"
    RESTORED = "restored"
    GONE = "gone"
    REPLACED = "replaced"
    BRANCH = "branch"
    BROKEN = "broken"


class Whereabouts(Value):
    """A directory as a turn has left it: which one it was, as far as one boot can tell, and its branch."""

    boot: str
    device: int
    inode: int
    branch: str | None = None

    def replaced(self, now: "Whereabouts") -> bool:
        """Whether another directory is there now. Numbers of another boot, or of another mount, say nothing."""
        return (self.boot, self.device) == (now.boot, now.device) and self.inode != now.inode


class Doubt(Value):
    """What speaks against going on: what was, and what is now."""

    reason: ParkReason
    was: str | None = None
    now: str | None = None


def doubt(directory: str, was: Whereabouts | None, now: Whereabouts | None) -> Doubt | None:
    """What has become of a directory since it `was` looked at last (None: never); `now` is None where there is none."""
    if now is None:
        return Doubt(reason=ParkReason.GONE, was=directory)
    if was is None:
        return None
    if was.replaced(now):
        return Doubt(reason=ParkReason.REPLACED, was=directory)
    if was.branch is not None and now.branch is not None and was.branch != now.branch:
        return Doubt(reason=ParkReason.BRANCH, was=was.branch, now=now.branch)
    return None
