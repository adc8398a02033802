"""When a session is parked: what has become of its directory."""

import pytest

from workflows.domain.parking import Doubt, ParkReason, Whereabouts, doubt

LEFT = Whereabouts(boot="b1", device=1, inode=10, branch="main")


def changed(**fields: object) -> Whereabouts:
    return LEFT.model_copy(update=fields)


@pytest.mark.parametrize(
    "now", [LEFT, changed(boot="b2", inode=11), changed(device=2, inode=11), changed(branch=None)], ids=str
)
def test_what_says_nothing_is_no_doubt(now: Whereabouts) -> None:
    assert doubt("/p", LEFT, now) is None


def test_a_directory_that_nobody_has_worked_in_raises_no_doubt() -> None:
    assert doubt("/p", None, LEFT) is None


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (None, Doubt(reason=ParkReason.GONE, was="/p")),
        (changed(inode=11), Doubt(reason=ParkReason.REPLACED, was="/p")),
        (changed(branch="other"), Doubt(reason=ParkReason.BRANCH, was="main", now="other")),
    ],
    ids=str,
)
def test_what_has_changed_is_named(now: Whereabouts | None, why: Doubt) -> None:
    assert doubt("/p", LEFT, now) == why
