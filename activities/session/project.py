"""Project.load: what the rows say there is to do, and the configuration under which a turn runs."""

import asyncio
from pathlib import Path
from typing import Final

from temporalio import activity

from activities.giving_up import GivenUp, counting_faults
from activities.heartbeat import beating
from activities.mint import Mint
from activities.project import worktree
from activities.project.load import Role
from activities.project.survey import Survey, Surveyor
from activities.session.describing import Describe, nothing
from activities.session.judging import judge, resumed
from activities.session.parking import park_broken
from activities.store import calls, generations, parks, prompts, retries, sessions, turns
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, journal
from activities.store.sessions import Origin
from activities.store.turns import TurnRow
from workflows.domain.ids import ParkId, Prefix
from workflows.domain.parking import doubt
from workflows.domain.step_flaw import flaw
from workflows.domain.wire import Loaded, LoadRequest, OpenTurn, Step

NO_MODEL: Final = (
    "No model is chosen. Name one with `holdfast run -m provider/model`, or write "
    '`"model": "provider/model"` into opencode.json.'
)


class Project:
    """Looks at the session's rows and its directory. Running twice finds the turn that the first attempt opened."""

    def __init__(self, database: Database, surveyor: Surveyor, describe: Describe) -> None:
        self.database = database
        self.surveyor = surveyor
        self.describe = describe
        self.mint = Mint()

    @activity.defn(name="holdfast.project.load")
    async def load(self, request: LoadRequest) -> Loaded:
        """The open turn as far as it is, else a new one for what waits longest for one, else nothing."""
        of = f"{request.chain}-{request.schedule}"
        async with beating():
            try:
                async with counting_faults(self.database, request, "the beginning of a turn", of):
                    return await self.look(request)
            except GivenUp as given_up:
                if await park_broken(self.database, request, self.mint, given_up.text):
                    return Loaded()
                raise

    async def look(self, request: LoadRequest) -> Loaded:
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            found = await standing(opened, self.describe)
        if found is not None:
            return found
        origin = await sessions.origin(self.database, request.session)
        here = await asyncio.to_thread(worktree.whereabouts, Path(origin.directory))
        why = doubt(origin.directory, origin.place, here)
        role = Role(origin.agent, origin.rules, origin.ancestors)
        survey = await self.surveyor.survey(origin.directory, origin.sources, role)
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            found = await standing(opened, self.describe)
            if found is None and why is not None:
                parks.park(opened, ParkId(self.mint.new(Prefix.PARK)), why)
                return Loaded()
            return found or await begin(opened, request, origin, survey)


async def standing(opened: Journal, describe: Describe) -> Loaded | None:
    """What is there already: an open turn, or nothing that may be taken; None: a prompt or a retry waits."""
    turn = await turns.open_turn(opened)
    if turn is not None:
        return Loaded(turn=await resume(opened, turn, describe), ended=opened.ended)
    if opened.ended or opened.parked is not None or await prompts.oldest(opened) is None:
        return Loaded(ended=opened.ended)
    return None


async def begin(opened: Journal, request: LoadRequest, origin: Origin, survey: Survey) -> Loaded:
    """Open a turn for what waits longest: a prompt, which is seen at its first step, or a retry.

    A subagent begins nothing for a call that is over: whoever ended it may not have known of the prompt.
    """
    due = await prompts.oldest(opened)
    while due is not None and due["forsaken"]:
        prompts.drop(opened, due["id"], "its call is over")
        due = await prompts.oldest(opened)
    if due is None:
        return Loaded(ended=opened.ended)
    named = None if survey.snapshot.model_is_managed else due["model"] or origin.model
    model = named or survey.model
    problem = survey.problem or (None if model else NO_MODEL)
    retry = due["id"] if due["retry"] else None
    turn = await turns.open_new(
        opened, request.turn, survey.snapshot, origin.agent, model or "none", error=problem, retry=retry
    )
    if retry is not None:
        retries.take(opened, retry, turn.id)
    else:
        prompts.take(opened, due["id"], turn.id, step=1)
    return Loaded(turn=await resume(opened, turn))


async def resume(opened: Journal, turn: TurnRow, describe: Describe = nothing) -> OpenTurn:
    """An open turn as its rows tell it: its highest registered step, and that step's calls if it was answered."""
    found, by, rows, snapshot, rejected, recent = await asyncio.gather(
        generations.standing(opened, turn.id, turn.step),
        judge(opened, turn.snapshot),
        calls.of_step(opened, turn.id, turn.step),
        turns.snapshot(opened, turn.snapshot),
        calls.any_rejected(opened, turn.id),
        calls.recent_loops(opened, turn.id, turn.step),
    )
    prepared = await asyncio.gather(*(resumed(opened, row, by, describe) for row in rows))
    limit, answer = snapshot.agent.steps, None
    if found.stored:
        finish, text = found.stored.body.finish, await generations.has_text(opened, found.stored.message)
        alone = limit is not None and turn.step >= limit
        wrong = flaw(finish, text=text, calls=bool(rows))
        answer = Step(finish=finish, calls=tuple(prepared), text=text if alone else None, flaw=wrong)
    return OpenTurn(
        id=turn.id,
        number=turn.number,
        step=turn.step,
        answer=answer,
        stopped=found.standing.stopped,
        rejected=rejected,
        max_steps=limit,
        goes_on_after_reject=snapshot.config.experimental.continue_loop_on_deny,
        recent=recent,
        error=turn.error,
    )
