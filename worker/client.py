"""SessionClient: start, prompt, answer, stop, watch, list. The public Python API; every door is a face of it."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from activities.mint import Mint
from activities.session import answers
from activities.session.answers import Decided as Decided
from activities.session.answers import Settled as Settled
from activities.store import bells, grants, parks, prompts, retries, sessions, stops
from activities.store.bells import Bell, BellKind
from activities.store.deltas import Delta as Delta
from activities.store.events import Verified as Verified
from activities.store.grants import GrantRow as GrantRow
from activities.store.journal import journal
from activities.store.parks import Resumed as Resumed
from activities.store.prompts import Mode as Mode
from activities.store.prompts import NewPrompt
from activities.store.retries import Retried
from activities.store.sessions import NewSession
from activities.store.sessions import Overview as Overview
from activities.store.sessions import Totals as Totals
from activities.store.stops import Stopped as Stopped
from activities.store.transcript import Ran as Ran
from activities.store.transcript import Told as Told
from activities.store.turns import CutShort as CutShort
from worker.inbox import InboxEntry as InboxEntry
from worker.inbox import Parked as Parked
from worker.reading import Reading
from worker.settings import Settings
from worker.stack.state import Endpoints
from worker.watching import Seen as Seen
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, Unavailable, UsageError
from workflows.domain.events import Actor
from workflows.domain.ids import AskId, GrantId, MessageId, ParkId, Prefix, RetryId, SessionId, StopId
from workflows.domain.permissions.grants import Scope
from workflows.domain.value import Value

if TYPE_CHECKING:
    from activities.archive.archiving import Archivist
    from worker.bells import Bells

LONGEST_PROMPT: Final = 1_000_000  # characters
_TITLE: Final = 100  # characters (opencode.md 6.6)
_LAST_WORD: Final = re.compile(r"[!-~]{8,}$")  # a shorter rest of a secret tells nothing


class Accepted(Value):
    """A prompt whose row is committed; `rung`: the engine knows already, else the sweeper will tell it."""

    session: SessionId
    prompt: MessageId
    rung: bool


class Retrying(Retried):
    """A retry whose row is committed; `rung` as above."""

    session: SessionId
    rung: bool


class SessionClient(Reading):
    """What a person can do with sessions. PostgreSQL first of all: the engine is reached when a bell is rung.

    With `passes_on` a worker rings, if one listens: for a command that lives shorter than it takes to reach the engine.
    """

    def __init__(self, settings: Settings, endpoints: Endpoints, actor: Actor, *, passes_on: bool = False) -> None:
        super().__init__(settings, endpoints)
        self.actor = actor
        self.passes_on = passes_on
        self._mint = Mint()
        self._bells: Bells | None = None

    async def __aexit__(self, *_: object) -> None:
        self._bells = None
        await super().__aexit__()

    async def start(
        self,
        directory: str,
        text: str,
        *,
        model: str | None = None,
        agent: str | None = None,
        environment: Mapping[str, str] | None = None,
        sources: ConfigSources | None = None,
        snapshot: ProjectSnapshot | None = None,
        session: SessionId | None = None,
        prompt: MessageId | None = None,
    ) -> Accepted:
        """Make a session and accept its first prompt; ids given by the caller make a repeated start the same one.

        Without `agent`, the default one of the directory's configuration works. All turns of the session look for their
        configuration where `sources` say: by default, as this process's variables do now. With a `snapshot`, which the
        caller has read for these sources, the directory is not read again, and its agent works. Raises UsageError: also
        for an agent that cannot work, for a model that cannot be asked, and where our host is another machine's, by
        which the session would be taken.
        """
        # commands that start nothing read no configuration
        from worker.survey import Role, model_of, sources_of, survey

        checked(text)
        sources = sources or sources_of(self.settings)
        snapshot = snapshot or await survey(self.settings, Path(directory), Role(agent), sources)
        model_of(snapshot, model)  # raises for one that cannot be asked
        if self.settings.host is not None and self.settings.worker:
            from activities.store import hosts  # where all is on one machine, no host has a name
            from worker import machine

            await hosts.must_not_be_taken(self.database, self.settings.host, machine.known(self.settings.home))
        new = NewSession(
            id=session or SessionId(self._mint.new(Prefix.SESSION)),
            host=self.settings.host,
            directory=directory,
            title=title(text),
            agent=snapshot.agent.name,
            model=model,
            environment=dict(environment or {}),
            sources=sources,
        )
        await sessions.create(self.database, new, self.actor)
        return await self.prompt(new.id, text, prompt=prompt)

    async def prompt(
        self,
        session: SessionId,
        text: str,
        *,
        mode: Mode = Mode.STEER,
        model: str | None = None,
        prompt: MessageId | None = None,
        sources: ConfigSources | None = None,
    ) -> Accepted:
        """Accept a prompt: it joins the running turn at its next step, or (queued) gets a turn of its own.

        With `sources`, the session looks for its configuration there from its next turn on. Raises UsageError,
        NotFound, Conflict.
        """
        new = NewPrompt(
            id=prompt or MessageId(self._mint.new(Prefix.MESSAGE)), text=checked(text), mode=mode, model=model
        )
        async with journal(self.database, session, self.actor) as opened:
            if sources is not None:
                await sessions.configure(opened, sources)
            await prompts.accept(opened, new)
        rung = await self.ring(Bell(kind=BellKind.PROMPT, id=new.id, session=session))
        return Accepted(session=session, prompt=new.id, rung=rung)

    async def configure(self, session: SessionId, sources: ConfigSources) -> tuple[str, ...]:
        """Have a session look for its configuration where `sources` say, from its next turn on; the variables whose
        values are new. Raises NotFound, Conflict."""
        async with journal(self.database, session, self.actor) as opened:
            return await sessions.configure(opened, sources)

    async def answer(self, ask: AskId, decided: Decided) -> Settled:
        """Answer an ask, once. Raises UsageError, NotFound, Conflict."""
        _short_enough("The message", decided.feedback or "")
        settled = await answers.answer(self.database, ask, decided, self.actor)
        for each in settled.asks:
            await self.ring(Bell(kind=BellKind.ANSWER, id=each, session=settled.ask.session))
        if settled.grant is not None and settled.grant.scope is Scope.PROJECT:
            with suppress(Unavailable):  # the answer is recorded; the sweeper goes on
                for session, other in await answers.spread(self.database, settled.grant.id):
                    await self.ring(Bell(kind=BellKind.ANSWER, id=other, session=session))
        return settled

    async def retry(
        self,
        session: SessionId,
        *,
        model: str | None = None,
        retry: RetryId | None = None,
        sources: ConfigSources | None = None,
    ) -> Retrying:
        """Retry the newest turn, which failed, with this model if one is named, and with `sources` as for a prompt.

        Raises NotFound, Conflict.
        """
        async with journal(self.database, session, self.actor) as opened:
            if sources is not None:
                await sessions.configure(opened, sources)
            retried = await retries.accept(opened, retry or RetryId(self._mint.new(Prefix.RETRY)), model)
        rung = await self.ring(Bell(kind=BellKind.RETRY, id=retried.retry, session=session))
        return Retrying(**retried.model_dump(), session=session, rung=rung)

    async def resume(self, session: SessionId, *, park: ParkId | None = None) -> Resumed:
        """Let a parked session go on, as things are now, and its subagents with it. Raises NotFound, Conflict."""
        async with journal(self.database, session, self.actor) as opened:
            resumed = await parks.resume(opened, park)
        await self.ring(Bell(kind=BellKind.RESUME, id=resumed.park, session=session))
        for child in (await sessions.tree(self.database, session))[1:]:
            with suppress(Conflict):  # it is not parked
                await self.resume(child)
        return resumed

    async def stop(self, session: SessionId, *, keep_queued: bool = False, stop: StopId | None = None) -> Stopped:
        """Stop the open turn and withdraw what no turn has taken."""
        async with journal(self.database, session, self.actor) as opened:
            stopped = await stops.accept(opened, stop or self._stop_id(), keep_queued=keep_queued)
        await self._ring_stop(session, stopped)
        return stopped

    async def end(self, session: SessionId) -> Stopped:
        """End the session and its subagents' for good: open turns are stopped, untaken prompts are withdrawn, nothing
        revives it."""
        stopped, ended = await self._end(session), {session}
        while left := [each for each in await sessions.tree(self.database, session) if each not in ended]:
            for child in left:  # which may have begun another one meanwhile
                await self._end(child)
            ended.update(left)
        return stopped

    async def _end(self, session: SessionId) -> Stopped:
        async with journal(self.database, session, self.actor) as opened:
            stopped = await stops.accept(opened, self._stop_id())
            await sessions.end(opened, "ended by a person")
        await self._ring_stop(session, stopped)
        return stopped

    async def revoke(self, grant: GrantId) -> None:
        """Revoke a grant. Raises NotFound, Conflict."""
        await grants.revoke(self.database, grant, self.actor)

    async def archive(self, session: SessionId) -> Path:
        """Move a session that rests into a file, with its subagents'. Raises NotFound, Conflict."""
        return await self._archivist().one((await self.here(session)).id)

    async def restore(self, archive: Path) -> SessionId:
        """Bring the sessions of an archive back; the first of them. Raises UsageError, Conflict."""
        return (await self._archivist().restore(archive)).session

    async def ring(self, bell: Bell) -> bool:
        """Ring now, if the engine can be reached; else the row waits for the sweeper. True: the engine knows."""
        try:
            if self.passes_on and self._bells is None and await bells.pass_on(self.database, bell):
                return True
            if self._bells is None:
                self._bells = await self._connect()
            await self._bells.ring(bell)
        except Unavailable:
            return False
        return True

    def _archivist(self) -> "Archivist":
        from activities.archive.archiving import Archivist  # commands that archive nothing need not load it

        return Archivist(self.database, self.settings.home, self.settings.host)

    async def _connect(self) -> "Bells":
        # Commands that only read, or pass on, never pay for importing what reaches the engine (0.4 s, 40 MB).
        from worker.bells import Bells
        from worker.connect import connect

        return Bells(self.database, await connect(self.settings, self.endpoints), self.settings)

    async def _ring_stop(self, session: SessionId, stopped: Stopped) -> None:
        if stopped.turn is not None:
            await self.ring(Bell(kind=BellKind.STOP, id=stopped.stop, session=session, turn=stopped.turn))
        for bell in await bells.unheard(self.database, session):  # of calls whose prompt was withdrawn
            await self.ring(bell)

    def _stop_id(self) -> StopId:
        return StopId(self._mint.new(Prefix.STOP))


def checked(text: str) -> str:
    """A prompt that can be worked on. Raises UsageError."""
    if not text.strip():
        raise UsageError("The prompt is empty: say what is to be done.")
    _short_enough("The prompt", text)
    return text


def _short_enough(what: str, text: str) -> None:
    if len(text) > LONGEST_PROMPT:
        raise UsageError(
            f"{what} has {len(text):,} characters, {LONGEST_PROMPT:,} are the most: "
            "write it into a file of the project and name that file."
        )


def title(text: str) -> str:
    """A session's title: the first line of its first prompt, which is not cut within a long word: it may be a key, and
    half of one would not be redacted where the title is shown."""
    first = sessions.printable(text.strip().splitlines()[0])
    if len(first) <= _TITLE:
        return first
    kept, cut = first[: _TITLE - 3], not first[_TITLE - 3].isspace()
    return (_LAST_WORD.sub("", kept) if cut else kept) + "..."
