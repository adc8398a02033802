"""What a new boot of the stack does with sessions that were at work."""

import pytest

from tests.house import House
from worker.parking import park_all
from worker.settings import Resume
from workflows.domain.parking import ParkReason


@pytest.mark.parametrize(
    ("policy", "reason", "said"),
    [(Resume.ASK, ParkReason.RESTART, "`holdfast asks`"), (Resume.NEVER, ParkReason.KEPT, "`holdfast resume SESSION`")],
)
async def test_what_has_something_to_do_is_parked_once_and_the_rest_is_left_alone(
    house: House, policy: Resume, reason: ParkReason, said: str
) -> None:
    busy, idle = await house.say("Go on."), await house.say("Nothing more.")
    await house.client.stop(idle)
    told: list[str] = []
    settings = house.settings.model_copy(update={"resume": policy})
    for _ in range(2):
        await park_all(settings, house.endpoints.postgres_url, told.append)
    (parked,) = await house.client.parked()
    assert (parked.session, parked.reason) == (busy, reason)
    assert len(told) == 1 and "when the stack ended: 1." in told[0] and said in told[0]
