"""Which changes of its directory suspend a session."""

import pytest

from workflows.domain.suspension import DirectoryIdentity, SuspendCause, SuspendReason, find_directory_change

LEFT = DirectoryIdentity(boot="b1", device=1, inode=10, branch="main")


def changed(**fields: object) -> DirectoryIdentity:
    return LEFT.model_copy(update=fields)


@pytest.mark.parametrize(
    "now", [LEFT, changed(boot="b2", inode=11), changed(device=2, inode=11), changed(branch=None)], ids=str
)
def test_numbers_that_cannot_be_compared_suspend_nothing(now: DirectoryIdentity) -> None:
    assert find_directory_change("/p", LEFT, now) is None


def test_a_directory_without_a_turn_suspends_nothing() -> None:
    assert find_directory_change("/p", None, LEFT) is None


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (None, SuspendCause(reason=SuspendReason.GONE, was="/p")),
        (changed(inode=11), SuspendCause(reason=SuspendReason.REPLACED, was="/p")),
        (changed(branch="other"), SuspendCause(reason=SuspendReason.BRANCH, was="main", now="other")),
    ],
    ids=str,
)
def test_what_has_changed_is_named(now: DirectoryIdentity | None, why: SuspendCause) -> None:
    assert find_directory_change("/p", LEFT, now) == why
