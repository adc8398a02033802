"""People end waits: each once, whoever is first."""

import asyncio

from activities.store import waits
from tests.activities.conftest import database as database
from tests.activities.conftest import rig as rig
from tests.activities.rig import PERSON, ActivityRig
from worker.settings import Settings
from worker.waits_client import WaitsClient
from workflows.domain.errors import Conflict
from workflows.domain.ids import SessionId
from workflows.domain.views.accepted import AcceptedPoke


async def test_a_wait_ends_by_one_poke_of_several_at_once(rig: ActivityRig) -> None:
    async def deliver(_: SessionId) -> bool:
        return True

    await rig.open_turn()
    call = await rig.called("wait", token="go")
    await rig.run(call)
    client = WaitsClient(Settings.read(), rig.database, PERSON, deliver)
    came = await asyncio.gather(*(client.poke("go", f"text {n}") for n in range(3)), return_exceptions=True)

    assert sum(isinstance(each, AcceptedPoke) for each in came) == 1
    late = [str(each) for each in came if isinstance(each, Conflict)]
    assert len(late) == 2 and all("The wait for it was poked by tester@here" in each for each in late)
    ended = await waits.of_call(rig.database, call)
    assert (await rig.types()).count("wait.ended") == 1 and ended is not None and str(ended.text).startswith("text ")
