"""A known fact is written again while the database is away for a moment."""

import pytest

from activities.store.persistence import persistently
from workflows.domain.errors import StaleFence, Unavailable


class Flapping:
    """A write that fails a few times before it succeeds."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return "written"


async def test_an_outage_is_waited_out() -> None:
    write = Flapping(Unavailable("gone"), Unavailable("still gone"))
    assert await persistently(write) == "written" and write.tries == 3


async def test_any_other_failure_is_final() -> None:
    write = Flapping(StaleFence("overtaken"))
    with pytest.raises(StaleFence, match="overtaken"):
        await persistently(write)
    assert write.tries == 1
