"""The public Python API behind all doors."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from activities.new_ids import new_id
from activities.store import outbox, sessions
from activities.store.journal import session_journal
from worker.api.accepted import (
    AcceptedAnswer,
    AcceptedCompaction,
    AcceptedPrompt,
    AcceptedResume,
    AcceptedRetry,
    AcceptedStop,
    AcceptedWake,
)
from worker.api.mapping import from_row
from worker.inbox_reader import InboxReader, door_database
from worker.length_check import check_length
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.actor import Actor
from workflows.domain.errors import Conflict, Unavailable, UsageError
from workflows.domain.ids import AskId, CompactionId, MessageId, Prefix, RetryId, SessionId, StopId, SuspensionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision

if TYPE_CHECKING:  # start-up time: a command needs few of them, and of the modules that methods import
    from activities.store.stops import StopRequested
    from worker.archives_client import ArchivesClient
    from worker.commands_client import CommandsClient
    from worker.copies_client import CopiesClient
    from worker.deletions_client import DeletionsClient
    from worker.grants_client import GrantsClient
    from worker.outbox import SignalSender
    from worker.record_reader import RecordReader
    from worker.schedules_client import SchedulesClient
    from worker.session_reader import SessionReader
    from worker.summaries_client import SummariesClient
    from worker.titles_client import TitlesClient
    from worker.trust_client import TrustClient
    from worker.waits_client import WaitsClient
    from workflows.domain.budgets import BudgetLimits
    from workflows.domain.config.sources import ConfigSources
    from workflows.domain.config.turn_config import TurnConfig
    from workflows.domain.prompt import Prompt


class Holdfast:
    """One database's sessions, shared by this process's doors.

    With `passes_on`, a listening worker sends the signals of commands, which end before reaching Temporal.
    """

    def __init__(self, settings: Settings, endpoints: Endpoints, *, passes_on: bool = False) -> None:
        self.settings = settings
        self.endpoints = endpoints
        self.passes_on = passes_on
        self.database = door_database(endpoints)
        self._sender: SignalSender | None = None

    async def __aenter__(self) -> Self:
        await self.database.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sender = None
        await self.database.__aexit__()

    def as_(self, actor: Actor) -> "SessionClient":
        """One person's client. Cheap: a server makes one per request."""
        return SessionClient(self, actor)

    async def deliver(self, session: SessionId) -> bool:
        """Send the session's signals if Temporal is reachable, else leave them to the sweeper. True: acknowledged."""
        try:
            if self._sender is None:
                none_left = outbox.pass_on if self.passes_on else outbox.is_empty
                if await none_left(self.database, session):
                    return True
                self._sender = await self._connect()
            await self._sender.send(session)
        except Unavailable:
            return False
        return True

    async def _connect(self) -> "SignalSender":
        # Commands that only read or pass on need not import Temporal's client (0.4 s, 40 MB).
        from worker.connect import connect
        from worker.outbox import SignalSender

        return SignalSender(self.database, await connect(self.settings, self.endpoints), self.settings)


class SessionClient:
    """What a person does, as `actor`."""

    def __init__(self, holdfast: Holdfast, actor: Actor) -> None:
        self.holdfast = holdfast
        self.settings = holdfast.settings
        self.database = holdfast.database
        self.actor = actor
        self.inbox = InboxReader(holdfast.database)

    @cached_property
    def sessions(self) -> "SessionReader":
        from worker.session_reader import SessionReader  # start-up time

        return SessionReader(self.database, self.settings.host)

    @cached_property
    def records(self) -> "RecordReader":
        from worker.record_reader import RecordReader  # as above

        return RecordReader(self.sessions)

    @cached_property
    def copies(self) -> "CopiesClient":
        from worker.copies_client import CopiesClient  # as above

        return CopiesClient(self.database, self.settings, self.actor)

    @cached_property
    def commands(self) -> "CommandsClient":
        from worker.commands_client import CommandsClient  # as above

        return CommandsClient(self.database, self.settings)

    @cached_property
    def archives(self) -> "ArchivesClient":
        from worker.archives_client import ArchivesClient  # as above

        return ArchivesClient(self.sessions, self.settings)

    @cached_property
    def summaries(self) -> "SummariesClient":
        from worker.summaries_client import SummariesClient  # as above

        return SummariesClient(self.database, self.actor, self.holdfast.deliver)

    @cached_property
    def trust(self) -> "TrustClient":
        from worker.trust_client import TrustClient  # as above

        return TrustClient(self.database, self.settings.host, self.actor)

    @cached_property
    def schedules(self) -> "SchedulesClient":
        from worker.schedules_client import SchedulesClient  # as above

        return SchedulesClient(self.database, self.settings, self.actor, self.holdfast.deliver)

    @cached_property
    def grants(self) -> "GrantsClient":
        from worker.grants_client import GrantsClient  # as above

        return GrantsClient(self.database, self.actor)

    @cached_property
    def deletions(self) -> "DeletionsClient":
        from worker.deletions_client import DeletionsClient  # as above

        return DeletionsClient(self.database, self.settings, self.actor)

    @cached_property
    def titles(self) -> "TitlesClient":
        from worker.titles_client import TitlesClient  # as above

        return TitlesClient(self.database, self.actor, self.holdfast.deliver)

    @cached_property
    def waits(self) -> "WaitsClient":
        from worker.waits_client import WaitsClient  # as above

        return WaitsClient(self.database, self.actor, self.holdfast.deliver)

    async def start(
        self,
        directory: str,
        message: "Prompt | str",
        *,
        title: str | None = None,
        environment: Mapping[str, str] | None = None,
        sources: "ConfigSources | None" = None,
        turn_config: "TurnConfig | None" = None,
        session: SessionId | None = None,
        prompt: MessageId | None = None,
        limits: "BudgetLimits | None" = None,
    ) -> AcceptedPrompt:
        """Create a session with its first prompt; idempotent with the caller's ids.

        Turns read their configuration from `sources` (default: this process's variables); a `turn_config` read from
        them saves a read. Raises UsageError for an unusable agent or model, and if another machine has our host's name.
        A variant that the model lacks fails the turn.
        """
        # Start-up time: only starting needs configuration.
        from worker.prompt_check import validate_prompt
        from worker.session_template import prepare_template
        from workflows.domain import titles

        message = validate_prompt(message, prompt)
        template = await prepare_template(
            self.settings, self.database, directory, message, title, environment, sources, turn_config
        )
        new = sessions.NewSession(
            id=session or SessionId(new_id(Prefix.SESSION)),
            host=self.settings.host,
            title=titles.first_line(message.title),
            default_title=titles.default_title(datetime.now(UTC)),
            **dict(template),
        )
        await sessions.create(self.database, new, self.actor)
        return await self._accept(new.id, message, prompt, limits=limits)

    async def prompt(
        self,
        session: SessionId,
        message: "Prompt | str",
        *,
        prompt: MessageId | None = None,
        sources: "ConfigSources | None" = None,
        turn_config: "TurnConfig | None" = None,
        limits: "BudgetLimits | None" = None,
    ) -> AcceptedPrompt:
        """Accept a prompt: it joins the running turn at its next step, or (queued) gets its own turn.

        Its agent, model and variant apply only to a turn that it opens, `sources` from the next turn on. `prompt`: its
        id, if it is sent again. `turn_config` as in `start`. Raises UsageError, NotFound, Conflict. A model that cannot
        be asked, and a variant that it lacks, fail the turn.
        """
        from worker.prompt_check import validate_prompt  # start-up time

        message = validate_prompt(message, prompt)
        if message.agent is not None or message.subagents:
            await self._check_agents(session, message, sources, turn_config)
        return await self._accept(session, message, prompt, sources, limits)

    async def _check_agents(
        self, session: SessionId, message: "Prompt", sources: "ConfigSources | None", turn_config: "TurnConfig | None"
    ) -> None:
        """Raises UsageError for agents that cannot work in the session; on another host, turn or call fails."""
        # Start-up time: only if an agent is named.
        from worker.project_config import Role, load_project_config
        from worker.prompt_check import check_subagents

        origin = await sessions.origin(self.database, session)
        agent = message.agent or origin.agent
        if origin.ancestors and agent != origin.agent:
            raise UsageError(f"Session {session!r} is a subagent's: it works as {origin.agent!r} only.")
        if origin.host != self.settings.host:
            return
        if turn_config is None or turn_config.agent.name != agent:
            role = Role(agent, origin.rules, origin.ancestors)
            where = Path(origin.directory)
            turn_config = await load_project_config(self.settings, where, role, sources or origin.sources)
        check_subagents(message, turn_config)

    async def _accept(
        self,
        session: SessionId,
        message: "Prompt",
        prompt: MessageId | None,
        sources: "ConfigSources | None" = None,
        limits: "BudgetLimits | None" = None,
    ) -> AcceptedPrompt:
        from activities.store import budgets, prompts  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            if message.limits is not None:
                await budgets.require_top(journal)
            if sources is not None:
                await sessions.configure(journal, sources)
            identity = prompt or await prompts.mint(journal)
            if await prompts.accept(journal, identity, message) and limits is not None:
                await budgets.set_limits(journal, limits)
        return AcceptedPrompt(session=session, prompt=identity, delivered=await self.holdfast.deliver(session))

    async def configure(self, session: SessionId, sources: "ConfigSources") -> tuple[str, ...]:
        """Replace the sources from the next turn on; returns the changed variables. Raises NotFound, Conflict."""
        async with session_journal(self.database, session, self.actor) as journal:
            return await sessions.configure(journal, sources)

    async def answer(self, ask: AskId, decision: AskDecision) -> AcceptedAnswer:
        """Answer an ask, once. Raises UsageError, NotFound, Conflict."""
        from activities.session import answers  # start-up time

        check_length("The message", decision.feedback or "")
        check_length("The answer", "".join(each for answer in decision.answers or () for each in answer))
        settled = await answers.answer_ask(self.database, ask, decision, self.actor)
        await self.holdfast.deliver(settled.ask.session)
        if settled.grant is not None and settled.grant.scope is GrantScope.PROJECT:
            with suppress(Unavailable):  # the sweeper goes on
                for session in await answers.apply_project_grant(self.database, settled.grant.id):
                    await self.holdfast.deliver(session)
        return from_row(AcceptedAnswer, settled)

    async def retry(
        self,
        session: SessionId,
        *,
        model: str | None = None,
        variant: str | None = None,
        retry: RetryId | None = None,
        sources: "ConfigSources | None" = None,
    ) -> AcceptedRetry:
        """Retry the newest, failed turn. A `variant` that the model lacks fails it again. Raises NotFound, Conflict."""
        from activities.store import retries  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            if sources is not None:
                await sessions.configure(journal, sources)
            retried = await retries.accept(journal, retry or RetryId(new_id(Prefix.RETRY)), model, variant)
        delivered = await self.holdfast.deliver(session)
        return AcceptedRetry(**retried.model_dump(), session=session, delivered=delivered)

    async def compact(
        self, session: SessionId, focus: str | None = None, *, compaction: CompactionId | None = None
    ) -> AcceptedCompaction:
        """Replace the beginning of the conversation with a summary, before the open turn's next step or in a turn of
        its own; `focus`: what it is to keep above all. Raises UsageError, NotFound, Conflict."""
        from activities.store import compaction_requests  # start-up time

        check_length("The message", focus or "")
        identity = compaction or CompactionId(new_id(Prefix.COMPACTION))
        async with session_journal(self.database, session, self.actor) as journal:
            await compaction_requests.accept(journal, identity, focus)
        delivered = await self.holdfast.deliver(session)
        return AcceptedCompaction(session=session, compaction=identity, delivered=delivered)

    async def resume(self, session: SessionId, *, suspension: SuspensionId | None = None) -> AcceptedResume:
        """Resume a suspended session and its subagents. Raises NotFound, Conflict."""
        from activities.store import suspensions  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            resumed = await suspensions.resume(journal, suspension)
        await self.holdfast.deliver(session)
        for child in (await sessions.tree(self.database, session))[1:]:
            with suppress(Conflict):  # it is not suspended
                await self.resume(child)
        return AcceptedResume(session=session, suspension=resumed)

    async def wake(self, session: SessionId) -> AcceptedWake:
        """End the pauses of providers and the waits on purpose, of the session and its subagents. Raises NotFound,
        Conflict."""
        from activities.store import generations, waits  # start-up time

        woken = []
        for each in await sessions.tree(self.database, session):
            async with session_journal(self.database, each, self.actor) as journal:
                paused, waited = await generations.end_pauses(journal), await waits.end_all(journal)
                woken += [each] if paused or waited else []
        if not woken:
            raise Conflict(
                f"Session {session!r} waits neither for a provider nor on purpose: `holdfast sessions show {session}` "
                "says what it does."
            )
        for each in woken:
            await self.holdfast.deliver(each)
        return AcceptedWake(session=session, woken=tuple(woken))

    async def stop(self, session: SessionId, *, keep_queued: bool = False, stop: StopId | None = None) -> AcceptedStop:
        """Stop the open turn and the tasks in the background, and withdraw untaken prompts."""
        from activities.store import stops  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            stopped = await stops.accept(journal, stop or self._stop_id(), keep_queued=keep_queued)
        await self._deliver_stop(session, stopped)
        return from_row(AcceptedStop, stopped)

    async def end(self, session: SessionId) -> AcceptedStop:
        """End the session and its subagents: stops turns, withdraws untaken prompts."""
        stopped, ended = await self._end(session), {session}
        while left := [each for each in await sessions.tree(self.database, session) if each not in ended]:
            for child in left:  # which may have started another one meanwhile
                await self._end(child)
            ended.update(left)
        return from_row(AcceptedStop, stopped)

    async def _end(self, session: SessionId) -> "StopRequested":
        from activities.store import stops  # as above

        async with session_journal(self.database, session, self.actor) as journal:
            stopped = await stops.accept(journal, self._stop_id())
            await sessions.end(journal, "ended by a person")
        await self._deliver_stop(session, stopped)
        return stopped

    async def _deliver_stop(self, session: SessionId, stopped: "StopRequested") -> None:
        callers = await outbox.callers(self.database, session)  # of withdrawn prompts
        for each in (session, *stopped.background, *callers):
            await self.holdfast.deliver(each)

    def _stop_id(self) -> StopId:
        return StopId(new_id(Prefix.STOP))
