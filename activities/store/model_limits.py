"""Models that are over their provider's limit: one generation tries again, the others follow it in turn."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.generations import BEHIND_LIMIT, ModelRetry
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation
from workflows.domain.ids import NoteId

_OVER_LIMIT: Final = ("429", "529")  # kinds of failures
_LONGEST_HOLD: Final = 86_400.0  # seconds, from a generation's first registration on
_REASON: Final = "Another request has met the limit of this model: it is asked again in turn."
_QUERIES: Final = Queries("model_limits")


def note_failure(journal: Journal, model: str, kind: str, pause: float) -> None:
    """After a failure, when the model may be asked again in `pause` seconds."""
    if kind in _OVER_LIMIT:
        journal.write(_QUERIES.note, model=model, pause=pause)


async def admit(journal: Journal, generation: Generation, fence: Fence, model: str, failures: int) -> float | None:
    """How many seconds a registered generation waits, as its model is over a limit; None: it may ask.

    It waits until the limit ends, or 5 s while another generation tries, and a second more for each that came before
    it. One that tries and is lost, or begins again and again, delays the others for a minute at most. After a day it
    waits no more.
    """
    asked = {"generation": generation.id, "model": model}
    (row,) = await journal.rows(_QUERIES.admit, **asked, over_limit=list(_OVER_LIMIT), longest=_LONGEST_HOLD)
    if row["pause"] is None:
        return None
    (paused,) = await journal.rows(_QUERIES.pause, generation=generation.id, kind=BEHIND_LIMIT, pause=row["pause"])
    if row["announced"]:
        note = NoteId(f"{generation.id}/held/{fence.epoch}-{fence.sequence}-{fence.attempt}")
        journal.record(
            ModelRetry(
                **generation.model_dump(exclude={"id"}),
                generation=generation.id,
                attempt=failures,
                kind=BEHIND_LIMIT,
                note=note,
                seal=journal.store_note(note, _REASON),
                next_at=paused["next_at"].isoformat(timespec="milliseconds"),
            )
        )
    return float(row["pause"])


async def lift(reader: RowReader, generation: Generation) -> None:
    """Lift the limit: the provider has accepted the request that tried again."""
    await reader.rows(_QUERIES.lift, generation=generation.id)


async def yield_turn(reader: RowReader, generation: Generation) -> None:
    """Let another generation try the model, if it was this one's turn and it has ended without asking."""
    await reader.rows(_QUERIES.yield_turn, generation=generation.id)
