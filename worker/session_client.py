"""What one person may do with the sessions of a database."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

from activities.new_ids import is_ahead, new_id
from activities.store import budgets, compaction_requests, outbox, retries, sessions, suspensions, waits
from activities.store.journal import session_journal
from worker.client_part import ClientPart
from worker.inbox_reader import InboxReader
from worker.length_check import check_length
from workflows.domain import titles
from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import AskId, CompactionId, MessageId, Prefix, RetryId, SessionId, StopId, SuspensionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import AskDecision
from workflows.domain.views.accepted import (
    AcceptedAnswer,
    AcceptedCompaction,
    AcceptedPrompt,
    AcceptedResume,
    AcceptedRetry,
    AcceptedStop,
    AcceptedWake,
)

if TYPE_CHECKING:
    from worker.archives_client import ArchivesClient
    from worker.asides_client import AsidesClient
    from worker.commands_client import CommandsClient
    from worker.copies_client import CopiesClient
    from worker.deletions_client import DeletionsClient
    from worker.grants_client import GrantsClient
    from worker.record_reader import RecordReader
    from worker.schedules_client import SchedulesClient
    from worker.session_reader import SessionReader
    from worker.trust_client import TrustClient
    from worker.waits_client import WaitsClient
    from workflows.domain.config.sources import ConfigSources
    from workflows.domain.config.turn_config import TurnConfig
    from workflows.domain.prompt import Prompt

_MODULES: Final = {"sessions": "session_reader", "records": "record_reader"}


class SessionClient(ClientPart):
    """What a person does, as `actor`; what is about one noun only is a part. Methods, too, import what they alone
    need: a command calls one or two."""

    sessions: "SessionReader"
    records: "RecordReader"
    copies: "CopiesClient"
    commands: "CommandsClient"
    archives: "ArchivesClient"
    asides: "AsidesClient"
    schedules: "SchedulesClient"
    grants: "GrantsClient"
    deletions: "DeletionsClient"
    trust: "TrustClient"
    waits: "WaitsClient"

    def __getattr__(self, noun: str) -> object:
        """Import a part at its first use: a command needs few of them."""
        kind = SessionClient.__annotations__.get(noun)
        if kind is None:
            raise AttributeError(noun)
        module = import_module(f"worker.{_MODULES.get(noun, f'{noun}_client')}")
        part: ClientPart = self.as_part(getattr(module, kind))
        self.__dict__[noun] = part
        return part

    @cached_property
    def inbox(self) -> InboxReader:
        return InboxReader(self.database)

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
        limits: BudgetLimits | None = None,
    ) -> AcceptedPrompt:
        """Create a session with its first prompt, as `create` does; idempotent with the caller's ids. A variant that
        the model lacks fails the turn."""
        from worker.prompt_check import validate_prompt  # start-up time

        message = await asyncio.to_thread(validate_prompt, message, prompt)
        created = await self.create(
            directory,
            message,
            title=title,
            environment=environment,
            sources=sources,
            turn_config=turn_config,
            session=session,
        )
        return await self._accept(created, message, prompt, limits=limits)

    async def create(
        self,
        directory: str,
        first: "Prompt",
        *,
        title: str | None = None,
        environment: Mapping[str, str] | None = None,
        sources: "ConfigSources | None" = None,
        turn_config: "TurnConfig | None" = None,
        session: SessionId | None = None,
    ) -> SessionId:
        """Create a session that is idle until its first prompt; idempotent with the caller's id. `first`: that prompt,
        or one without text, which only says agent, model and variant; it is not sent.

        Turns read their configuration from `sources` (default: this process's variables); a `turn_config` read from
        them saves a read. Raises UsageError for an unusable agent or model, and if another machine has our host's name.
        """
        from worker.session_template import prepare_template  # start-up time: only starting needs configuration

        template = await prepare_template(
            self.settings, self.database, directory, first, title, environment, sources, turn_config
        )
        untitled = titles.default_title(datetime.now(UTC))
        new = sessions.NewSession(
            id=session or SessionId(new_id(Prefix.SESSION)),
            host=self.settings.host,
            title=titles.first_line(words) if (words := first.title.strip()) else untitled,
            default_title=untitled,
            **dict(template),
        )
        await sessions.create(self.database, new, self.actor)
        return new.id

    async def prompt(
        self,
        session: SessionId,
        message: "Prompt | str",
        *,
        prompt: MessageId | None = None,
        sources: "ConfigSources | None" = None,
        turn_config: "TurnConfig | None" = None,
        limits: BudgetLimits | None = None,
    ) -> AcceptedPrompt:
        """Accept a prompt: it joins the running turn at its next step, or (queued) gets its own turn.

        Its agent, model and variant apply only to a turn that it opens, `sources` from the next turn on. `prompt`: its
        id, if it is sent again. `turn_config` as in `start`. Raises UsageError, NotFound, Conflict. A model that cannot
        be asked, and a variant that it lacks, fail the turn.
        """
        from worker.prompt_check import validate_prompt  # start-up time

        message = await asyncio.to_thread(validate_prompt, message, prompt)
        if message.agent is not None or message.subagents:
            from worker.agent_check import check_agents  # as above: it loads the configuration

            await check_agents(self.settings, self.database, session, message, sources, turn_config)
        return await self._accept(session, message, prompt, sources, limits)

    async def new_prompt_id(self, session: SessionId) -> MessageId | None:
        """An id for a prompt that may have to be sent again, behind the session's newest message. None where that is of
        a time to come: the prompt gets its id as it is accepted."""
        from activities.store import prompts  # as above

        minted = await prompts.mint(self.database, session)
        return None if is_ahead(minted) else minted

    async def _accept(
        self,
        session: SessionId,
        message: "Prompt",
        prompt: MessageId | None,
        sources: "ConfigSources | None" = None,
        limits: BudgetLimits | None = None,
    ) -> AcceptedPrompt:
        from activities.store import prompts  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            if message.limits is not None:
                await budgets.require_top(journal)
            if sources is not None:
                await sessions.configure(journal, sources)
            identity = prompt or await prompts.mint(journal, session)
            if await prompts.accept(journal, identity, message) and limits is not None:
                await budgets.set_limits(journal, limits)
        return AcceptedPrompt(session=session, prompt=identity, delivered=await self.deliver(session))

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
        await self.deliver(settled.ask.session)
        for grant in (each for each in settled.grants if each.scope is GrantScope.PROJECT):
            with suppress(Unavailable):  # the sweeper goes on
                for session in await answers.apply_project_grant(self.database, grant.id):
                    await self.deliver(session)
        return settled

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
        async with session_journal(self.database, session, self.actor) as journal:
            if sources is not None:
                await sessions.configure(journal, sources)
            retried = await retries.accept(journal, retry or RetryId(new_id(Prefix.RETRY)), model, variant)
        return AcceptedRetry(**retried.model_dump(), session=session, delivered=await self.deliver(session))

    async def compact(
        self, session: SessionId, focus: str | None = None, *, compaction: CompactionId | None = None
    ) -> AcceptedCompaction:
        """Replace the beginning of the conversation with a summary, before the open turn's next step or in a turn of
        its own; `focus`: what it is to keep above all. Raises UsageError, NotFound, Conflict."""
        check_length("The message", focus or "")
        identity = compaction or CompactionId(new_id(Prefix.COMPACTION))
        async with session_journal(self.database, session, self.actor) as journal:
            await compaction_requests.accept(journal, identity, focus)
        return AcceptedCompaction(session=session, compaction=identity, delivered=await self.deliver(session))

    async def resume(self, session: SessionId, *, suspension: SuspensionId | None = None) -> AcceptedResume:
        """Resume a suspended session and its subagents. Raises NotFound, Conflict."""
        async with session_journal(self.database, session, self.actor) as journal:
            resumed = await suspensions.resume(journal, suspension)
        await self.deliver(session)
        for child in (await sessions.tree(self.database, session))[1:]:
            with suppress(Conflict):  # it is not suspended
                await self.resume(child)
        return AcceptedResume(session=session, suspension=resumed)

    async def wake(self, session: SessionId) -> AcceptedWake:
        """End the pauses of providers and the waits on purpose, of the session and its subagents. Raises NotFound,
        Conflict."""
        from activities.store import generations  # start-up time

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
            await self.deliver(each)
        return AcceptedWake(session=session, woken=tuple(woken))

    async def stop(self, session: SessionId, *, keep_queued: bool = False, stop: StopId | None = None) -> AcceptedStop:
        """Stop the open turn and the tasks in the background, and withdraw untaken prompts."""
        return await self._stop(session, keep_queued=keep_queued, stop=stop)

    async def end(self, session: SessionId) -> AcceptedStop:
        """End the session and its subagents: stops turns, withdraws untaken prompts."""
        stopped, ended = await self._stop(session, ends=True), {session}
        while left := [each for each in await sessions.tree(self.database, session) if each not in ended]:
            for child in left:  # which may have started another one meanwhile
                await self._stop(child, ends=True)
            ended.update(left)
        return stopped

    async def _stop(
        self, session: SessionId, *, keep_queued: bool = False, stop: StopId | None = None, ends: bool = False
    ) -> AcceptedStop:
        from activities.store import stops  # start-up time

        async with session_journal(self.database, session, self.actor) as journal:
            stopped = await stops.accept(journal, stop or StopId(new_id(Prefix.STOP)), keep_queued=keep_queued)
            if ends:
                await sessions.end(journal, "ended by a person")
        callers = await outbox.callers(self.database, session)  # of withdrawn prompts
        for each in (session, *stopped.background, *callers):
            await self.deliver(each)
        return stopped
