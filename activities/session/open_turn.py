"""Project.load: finds or opens the turn to work on, with its configuration."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

from temporalio import activity

from activities.calls.description import CallDescriber, describe_nothing
from activities.calls.permissions import load_evaluator, resume_call
from activities.fault_limit import GivenUp, count_faults
from activities.heartbeat import heartbeats
from activities.mcp.connections import McpConnections
from activities.model.default_model import DefaultModels
from activities.project import worktree
from activities.project.config_loader import Role
from activities.project.project_loader import DirectoryConfig, ProjectLoader
from activities.session.task_results import deliver_held_results
from activities.shell.environment import tool_environment
from activities.store import (
    asides,
    asks,
    budgets,
    calls,
    compaction_requests,
    compactions,
    generations,
    model_answers,
    sessions,
    suspensions,
    trust_records,
    turns,
    work_kinds,
)
from activities.store.database import Database
from activities.store.generations import GenerationStatus
from activities.store.journal import WORKER, Journal, session_journal
from activities.store.sessions import Origin
from activities.store.turns import TurnRow, TurnStatus
from activities.store.work import TurnRequest
from activities.tools.invalid import INVALID
from workflows.domain.agents.built_in import TITLE
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.agent_selection import is_disabled
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId, TurnConfigId
from workflows.domain.open_call import OpenCall
from workflows.domain.step_flaw import find_flaw
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.turn_state import MAX_COMPACTIONS
from workflows.domain.wire import LoadRequest, LoadResult, OpenTurn, StepResult


class ProjectActivities:
    """Opens turns. A second run finds the turn that the first one opened."""

    def __init__(
        self,
        database: Database,
        loader: ProjectLoader,
        describe: CallDescriber,
        default_models: DefaultModels,
        connections: McpConnections | None = None,
    ) -> None:
        self.database = database
        self.loader = loader
        self.describe = describe
        self.default_models = default_models
        self.connections = connections

    @activity.defn(name="holdfast.project.load")
    async def load(self, request: LoadRequest) -> LoadResult:
        """The open turn; else a new one for the oldest untaken work; else nothing. Each result gives out the session's
        next epoch; what earlier ones begin later is refused."""
        async with heartbeats():
            try:
                async with count_faults(self.database, request, "the beginning of a turn", request.turn):
                    loaded = await self.load_or_open(request)
                    if loaded.turn is not None and loaded.turn.asks_models:
                        await deliver_held_results(self.database, request.session)
                    return loaded
            except GivenUp as given_up:
                async with self.journal(request) as journal:
                    if await suspensions.suspend_broken(journal, given_up.text):
                        return LoadResult(epoch=journal.give_out_epoch())
                raise

    async def load_or_open(self, request: LoadRequest) -> LoadResult:
        async with self.journal(request) as journal:
            found = await find_turn(journal, self.describe)
        while isinstance(found, TurnRequest):
            origin = await sessions.origin(self.database, request.session)
            role = Role(found.agent or origin.agent, origin.rules, origin.ancestors)
            find_accepted = partial(find_accepted_trust, self.database, origin)
            loaded = await worktree.find_change(
                origin.directory, origin.directory_identity
            ) or await self.loader.try_load(origin.directory, origin.sources, role, find_accepted)
            if isinstance(loaded, DirectoryConfig) and _needs_model(loaded, found, origin):
                loaded = await self._with_model(request.session, loaded, origin.model)
            if isinstance(loaded, DirectoryConfig) and loaded.turn_config.config.mcp and loaded.problem is None:
                loaded = replace(loaded, turn_config=await self._with_servers(loaded.turn_config, origin))
            async with self.journal(request) as journal:
                found = await find_turn(journal, self.describe)
                if isinstance(found, LoadResult):
                    return found
                if isinstance(loaded, SuspendCause):
                    await suspensions.suspend(journal, loaded)
                    return LoadResult(epoch=journal.give_out_epoch())
                known = await sessions.origin(journal, request.session)
                if (found.agent or known.agent) != role.agent or not _has_model(loaded, found, known):
                    continue  # other work is the oldest now, for another agent or without a model
                if not await still_accepted(journal, origin, loaded.turn_config):
                    continue
                if loaded.problem is None and (cause := await find_trust_change(journal, origin, loaded.turn_config)):
                    await suspensions.suspend(journal, cause)
                    return LoadResult(epoch=journal.give_out_epoch())
                return await open_requested_turn(journal, request, found, known, loaded)
        return found

    async def _with_model(self, session: SessionId, loaded: DirectoryConfig, of_session: str | None) -> DirectoryConfig:
        """With the newest model of the agent's family; else that of the session, of its last turn, or the default one;
        or the reason why there is none."""
        known = of_session or loaded.model or await turns.last_model(self.database, session)
        config, family = loaded.turn_config.config, loaded.turn_config.agent.model_family
        newest = await asyncio.to_thread(self.default_models.newest, family, config, known) if family else None
        if newest or known:
            return replace(loaded, model=newest or known)
        try:
            chosen = await asyncio.to_thread(self.default_models.choose, config)
        except UsageError as error:
            return replace(loaded, problem=str(error))
        return replace(loaded, model=chosen)

    async def _with_servers(self, turn_config: TurnConfig, origin: Origin) -> TurnConfig:
        from activities.mcp.turn_servers import with_servers  # memory: for whom has servers only

        if self.connections is None:
            return turn_config
        workspace = self.loader.turn_workspace(turn_config)
        environment = await asyncio.to_thread(tool_environment, origin.environment, workspace, "")
        return await with_servers(turn_config, environment, self.connections)

    def journal(self, request: LoadRequest) -> AbstractAsyncContextManager[Journal]:
        """Under any epoch: a new run has none yet."""
        return session_journal(self.database, request.session, WORKER, epoch=request.epoch, needs_newest=False)


def _has_model(loaded: DirectoryConfig, found: TurnRequest, origin: Origin) -> bool:
    """Whether a model is named somewhere, or a problem makes that matter no more."""
    return bool(loaded.model or loaded.problem or found.model or origin.model)


def _needs_model(loaded: DirectoryConfig, found: TurnRequest, origin: Origin) -> bool:
    family = loaded.turn_config.agent.model_family is not None and found.model is None and loaded.problem is None
    return family or not _has_model(loaded, found, origin)


async def still_accepted(journal: Journal, origin: Origin, turn_config: TurnConfig) -> bool:
    """Whether what was accepted still is: it may have been revoked while the files were read."""
    if (accepted := turn_config.accepted) is None:
        return True
    return await trust_records.is_current(journal, origin.host, _root(turn_config), accepted)


def _root(turn_config: TurnConfig) -> str:
    return turn_config.worktree or turn_config.directory


async def find_accepted_trust(database: Database, origin: Origin, content: TrustContent) -> AcceptedTrust | None:
    root, directory = content.places.root, origin.directory
    return (await trust_records.read_decided(database, origin.host, root, directory, content)).accepted


async def find_trust_change(journal: Journal, origin: Origin, now: TurnConfig) -> SuspendCause | None:
    """What the session's last turn had of the project's files that people have accepted, and this one would not: with
    other tools, providers or agents it goes on only once a person has said so."""
    last = await trust_records.last_turn(journal, origin.host, _root(now), now.directory)
    if last is None or last[1]:
        return None
    before = (await turns.turn_config(journal, last[0])).accepted
    kept = {each.digest for each in now.accepted.starts} if now.accepted is not None else set()
    lost = [each for each in before.starts if each.digest not in kept] if before is not None else []
    held = {(each.file, each.field) for each in now.held}
    ways = ("has changed" if (each.file, each.field) in held else "is gone" for each in lost)
    changes = (f"{each.field} of {each.file} {way}" for each, way in zip(lost, ways, strict=True))
    return SuspendCause(reason=SuspendReason.TRUST, was="; ".join(changes)) if lost else None


async def find_turn(journal: Journal, describe: CallDescriber) -> LoadResult | TurnRequest:
    """The open turn, why none may be opened, or what the oldest untaken work becomes."""
    turn = await turns.open_turn(journal)
    if turn is not None:
        found, title = await asyncio.gather(
            read_open_turn(journal, turn, describe), asides.title_of_turn(journal, turn.id)
        )
        return LoadResult(epoch=journal.give_out_epoch(), turn=found, ended=journal.ended, title=title)
    if not journal.ended and journal.suspension is None:
        requested = await work_kinds.next_turn(journal)
        if requested is not None:
            return requested
    return LoadResult(epoch=journal.give_out_epoch(), ended=journal.ended)


async def open_requested_turn(
    journal: Journal, request: LoadRequest, requested: TurnRequest, origin: Origin, directory_config: DirectoryConfig
) -> LoadResult:
    turn_config = directory_config.turn_config.of_prompt(requested.format, requested.tools)
    agent = requested.agent or origin.agent
    # a subagent's session has the model of its parent, which counts where there is none of its agent's family
    other_agent = agent != origin.began_as or bool(origin.ancestors and turn_config.agent.model_family)
    named = turn_config.named_model(requested.model, origin.model, other_agent=other_agent)
    variant = turn_config.named_variant(
        (requested.model, requested.variant), (origin.model, origin.variant), other_agent=other_agent
    )
    model = named or directory_config.model
    problem = directory_config.problem
    turn = await turns.open_new(
        journal,
        request.turn,
        turn_config,
        agent,
        model or "none",
        variant=variant,
        error=problem,
        instructed_by=requested.instructed_by,
        retry=requested.retry,
    )
    if problem is None and turn.before not in (None, turn.turn_config):
        await record_change(journal, turn, turn.before, turn_config)
    if problem is None:  # else later prompts without an agent would fail as well
        sessions.switch_agent(journal, agent)
    work_kinds.take(journal, requested.item, turn.id)
    title = None
    if problem is None and not is_disabled(TITLE, turn_config.config):
        title = await asides.request_title_if_due(journal, turn.id)
    opened = await read_open_turn(journal, turn)
    if origin.ancestors == 0 and directory_config.problem is None:  # last: its locks are the last ones
        await budgets.configure(journal, turn.id, turn_config.config.holdfast.budget, requested.limits)
    elif origin.ancestors == 0:
        budgets.keep(journal, turn.id, requested.limits)
    return LoadResult(epoch=journal.give_out_epoch(), turn=opened, title=title)


async def record_change(journal: Journal, turn: TurnRow, before: TurnConfigId, turn_config: TurnConfig) -> None:
    """An event, if what a person has written differs from the configuration of the turn before."""
    from activities.project.config_changes import describe_changes  # start-up time and memory: few turns need it

    changes = describe_changes(await turns.turn_config(journal, before), turn_config)
    if changes is not None:
        turns.record_change(journal, turn, before, changes)


async def read_open_turn(journal: Journal, turn: TurnRow, describe: CallDescriber = describe_nothing) -> OpenTurn:
    """Its latest registered step, with that step's calls if it was answered."""
    found, evaluator, rows, turn_config, rejected, recent_digests = await asyncio.gather(
        generations.step_status(journal, turn.id, turn.step),
        load_evaluator(journal, turn.turn_config),
        calls.of_step(journal, turn.id, turn.step),
        turns.turn_config(journal, turn.turn_config),
        asks.any_rejected(journal, turn.id),
        calls.recent_loops(journal, turn.id, turn.step),
    )
    tries, compacting, asked, only_compacts, before = await asyncio.gather(
        compactions.tries_of_step(journal, turn.id, turn.step),
        compactions.paused(journal, turn.id),
        compaction_requests.undone(journal, journal.session, turn.id),
        compaction_requests.opened(journal, turn.id),
        model_answers.unfinished_before(journal, turn.id, turn.step, INVALID),
    )
    opened = zip(rows, evaluator.open_calls(rows, describe), strict=True)
    prepared = await asyncio.gather(*(resume_call(journal, row, call) for row, call in opened))
    limit = await step_limit(journal, turn, turn_config, found.turn_status)
    ordered = calls.is_ordered(rows)
    text_only = limit is not None and turn.step >= limit and not ordered
    answer = await read_answer(journal, found, prepared, text_only=text_only, ordered=ordered)
    return OpenTurn(
        id=turn.id,
        number=turn.number,
        step=turn.step,
        answer=answer,
        stopped=found.turn_status is not None and found.turn_status.stopped,
        rejected=rejected,
        max_steps=limit,
        continue_after_reject=turn_config.config.experimental.continue_loop_on_deny,
        recent_digests=recent_digests,
        compacts=any(each.taken for each in asked),
        only_compacts=only_compacts,
        compactions=MAX_COMPACTIONS if any(each.final for each in tries) else len(tries),
        compacting=compacting,
        cuts=before.cuts,
        cut_call=before.in_call,
        pauses=before.pauses,
        corrections=turn_config.format.corrections if turn_config.format else None,
        corrected=await calls.count_without_result(journal, turn.id, turn.step) if turn_config.format else 0,
        error=turn.error,
    )


async def step_limit(journal: Journal, turn: TurnRow, turn_config: TurnConfig, status: TurnStatus | None) -> int | None:
    """The agent's steps besides those that prompts have asked for, or the one that a spent budget has made the last."""
    steps, last = turn_config.agent.steps, status.last_step if status is not None else None
    if steps is not None:
        steps += await calls.count_ordered_steps(journal, turn.id, turn.step)
    return min(filter(None, (steps, last)), default=None)


async def read_answer(
    journal: Journal, found: GenerationStatus, open_calls: Sequence[OpenCall], *, text_only: bool, ordered: bool
) -> StepResult | None:
    """The step's answer, if it is stored."""
    if not found.id or not found.answer:
        return None
    finish, text = found.answer.finish, bool((await model_answers.read_text(journal, found.id)).strip())
    flaw = find_flaw(finish, text=text, calls=bool(open_calls))
    return StepResult(
        finish=finish,
        calls=tuple(open_calls),
        has_text=text if text_only else None,
        flaw=flaw,
        ordered=ordered,
        cut=found.answer.is_cut and text and not open_calls,
        explanation=found.answer.explanation if flaw else "",
    )
