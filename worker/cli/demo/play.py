"""Plays `holdfast demo`: a real task in a repository, with kills on the way."""

import asyncio
import json
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from worker.api.events import EventWithContents
from worker.cli.demo import slug_project
from worker.cli.demo.checks import Evidence, Kill, T, run_checks
from worker.cli.render.event_contents import time_of
from worker.cli.render.event_renderer import EventRenderer
from worker.cli.render.styles import styled
from worker.cli.render.terminal_writer import MarginWriter, TerminalWriter
from worker.cli.render.wrap import wrap_text
from worker.client import Holdfast
from worker.scripted.model_server import serve
from worker.scripted.request_ledger import RequestRecord, read_ledger
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack import child_programs, locks, processes, state_file
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.purge import purge, purge_items
from worker.stack.state_file import Endpoints, PartName, StackState
from worker.stack.up import up
from workflows.domain.actor import Actor
from workflows.domain.errors import DatabaseForeign, DatabaseNewer, HoldfastError, Unavailable
from workflows.domain.events.asks import AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId

HOLDFAST: Final = shlex.quote(str(Path(sys.executable).with_name("holdfast")))
_INTRODUCTION: Final = (
    "An agent fixes a failing test in a fresh repository, and is killed with `kill -9` on its way: the worker twice, "
    "and once everything that runs. It needs no key and asks you nothing: a scripted model answers, behind a real "
    "OpenAI-compatible endpoint, and the demo answers the agent's questions itself."
)
_WORKER_RESTARTS: Final = "Nothing needs to be done: the stack starts another worker, and the engine gives it the work."
_STACK_RESTARTS: Final = "The next command that needs the stack brings it back. The question still waits:"
_TIMEOUT: Final = 480.0  # seconds; a busy machine takes two minutes
_POLL_INTERVAL: Final = 0.02  # seconds, for other processes' files
_SERVERS: Final = ("HOLDFAST_POSTGRES_URL", "TEMPORAL_ADDRESS", "TEMPORAL_PROFILE")  # the user's own
_USERS: Final = re.compile(  # the user's own stack and repository
    r"(?!HOLDFAST_(POSTGRES_BIN|POSTGRES_USER|TEMPORAL_BIN|TEMPORAL_DYNAMIC|START_SECONDS)$)(HOLDFAST|TEMPORAL|GIT)_"
)


class Demo:
    """One demo, killed at observed moments."""

    def __init__(self, user: Settings, writer: TerminalWriter, now: datetime) -> None:
        self.user, self.writer = user, writer
        self.timed = MarginWriter(writer, "")
        self.renderer = EventRenderer(self.timed, subagent=True)  # no hint to retry: the stack ends with its demo
        self.root = user.home.with_name(f"{user.home.name}-demo")
        self.folder = self.root / "plays" / f"{now:%Y%m%d-%H%M%S}"
        self.repository = self.folder / "slugs"
        self.requests = self.folder / "model.jsonl"
        self.hold = self.folder / "hold"  # until it exists, one answer stays cut in half
        self.effects = self.folder / "effects.log"
        self.gate = self.folder / "gate"  # the command waits for it
        self.settings = Settings.read(
            {name: value for name, value in user.environment.items() if not _USERS.match(name)}
            | {"HOLDFAST_HOME": str(self.root / "stack"), "XDG_CONFIG_HOME": str(self.folder / "config")}
            | {"PATH": f"{self.folder / 'bin'}:{user.environment.get('PATH', '')}"}
            | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
            | dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), "/dev/null")  # no signature, no hook
            | dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Holdfast demo")
            | dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "demo@localhost")
        )
        self.session = SessionId("")
        self.evidence = Evidence(slug_project.script(self.hold))

    async def play(self) -> bool:
        """Returns whether every check holds. Raises HoldfastError if it cannot go on."""
        self.title("Holdfast demo")
        self.write(f"  {_INTRODUCTION}")
        async with locks.hold(self.root / "demo.lock", lambda: self.progress("Waiting for another demo.")):
            await down(self.settings, self.progress)  # of a demo that was itself killed
            self.folder.mkdir(mode=0o700, parents=True)
            try:
                async with serve(self.evidence.script, self.requests) as model:
                    served = await self.prepare(model.url)
                    async with asyncio.timeout(_TIMEOUT), Holdfast(self.settings, served) as holdfast:
                        await self.run_session(holdfast.as_(Actor(subject="demo", method="demo")))
            except TimeoutError:
                raise Unavailable(f"The session has not ended within {_TIMEOUT:.0f} s: see {self.folder}.") from None
            except HoldfastError:
                self.line("FAILED", f"Files are in {self.folder}, logs in {self.settings.home / 'logs'}.", style="red")
                raise
            finally:
                self.gate.touch()  # an interrupted demo's command waits for it
                await down(self.settings, self.progress)
        return self.show_results()

    async def prepare(self, url: str) -> Endpoints:
        self.title("Preparation")
        self.write_files(url)
        await self.run("git init --quiet && git add . && git commit --quiet --message=Slugs")
        self.evidence.tests_before = await self.run_tests()
        self.line("project", f"under git, in {self.repository}")
        self.line("tests", self.evidence.tests_before)
        self.line("model", f"scripted, at {url}, an OpenAI-compatible endpoint like any other")
        try:
            served = await up(self.settings, self.progress)
        except (DatabaseForeign, DatabaseNewer):
            self.progress("The stack of an earlier demo is another Holdfast's: it is replaced.")
            await down(self.settings, self.progress)
            await purge(self.settings, purge_items(self.settings))
            served = await up(self.settings, self.progress)
        self.line("stack", "PostgreSQL, Temporal and worker of the demo's own are up")
        self.line("Temporal", f"{served.ui_url} shows its view of the session while the demo plays")
        return served

    def write_files(self, url: str) -> None:
        model = {"name": "Scripted", "cost": slug_project.PRICES, "limit": {"context": 200_000, "output": 8_000}}
        options = {"baseURL": url, "apiKey": "the-scripted-model-needs-none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": model}}
        config = {"model": "demo/scripted", "provider": {"demo": provider}}
        ledger, gate = shlex.quote(str(self.effects)), shlex.quote(str(self.gate))
        files = {self.repository / name: text for name, text in slug_project.FILES.items()}
        files[self.settings.config / "opencode.json"] = json.dumps(config, indent=2)
        files[self.folder / "bin/recorded"] = slug_project.RECORDED.format(ledger=ledger, gate=gate)
        for path, text in files.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(text)
        (self.folder / "bin/recorded").chmod(0o755)

    async def run_session(self, client: SessionClient) -> None:
        """One watcher outlives all that is killed."""
        printed = await self.run(f"{HOLDFAST} run --detach {shlex.quote(slug_project.PROMPT)}")
        self.session = SessionId(re.findall(r"\bses_\w+", printed)[0])
        self.title(f"The session {self.session}")
        async with aclosing(client.records.watch(self.session)) as self.watched:
            await self.play_turn()
        await self.collect_evidence(client)

    def repeated_requests(self) -> list[RequestRecord]:
        """The steps' requests that were sent again."""
        return [each for each in read_ledger(self.requests) if each.attempt > 1 and each.step >= 0]

    async def play_turn(self) -> None:
        await self.until(MessageCompleted, step=slug_project.INTERRUPTED_STEP - 1)
        for _ in range(2):
            await self.until(CallFinished)
        await _found(self.hold.with_name("hold.reached").exists)
        async with self.kill("the worker, in the middle of a streamed answer", "it asks for the answer again") as kill:
            again = await _found(self.repeated_requests)
            kill.resumed = again[0].began
        await self.until(AskRaised)
        what = "worker, Temporal, PostgreSQL and their supervisor, while a question waits"
        async with self.kill(what, "it has the answer and begins the edit", everything=True) as kill:
            await self.type("asks")
            await self.type("answer once")
            _, kill.resumed = await self.until(CallClaimed)
        await self.until(AskRaised)
        await self.type("answer once")
        await self.until(CallClaimed)
        started = await _found(self.read_effects)
        process = processes.ref(int(started[0].removeprefix("start ")))
        async with self.kill("the worker, while the command runs", "it attaches to the running command") as kill:
            _, kill.resumed = await self.until(CallClaimed, recovered=True)
        self.evidence.survivor = process.pid if process.alive else None
        self.gate.touch()
        end, at = await self.until(TurnEnded)
        self.line("end", end.reason, at)

    @asynccontextmanager
    async def kill(self, what: str, how: str, *, everything: bool = False) -> AsyncIterator[Kill]:
        """`kill -9`. The body waits for the session to go on, and records when."""
        victims = self.workers()
        if everything:
            supervisor = self.read_stack().supervisor
            below = psutil.Process(supervisor.pid).children(recursive=True)
            victims = [supervisor, *(processes.ref(each.pid) for each in below)]
        kill = Kill(how, [each.pid for each in victims], datetime.now(UTC))
        for victim in victims:
            victim.kill(signal.SIGKILL)
        await _found(lambda: not any(victim.alive for victim in victims))
        hit = f"{len(victims)} processes" if everything else ", ".join(f"process {pid}" for pid in kill.hit)
        self.line("kill -9", f"{what} ({hit})", kill.at, style="red")
        self.progress(_STACK_RESTARTS if everything else _WORKER_RESTARTS)
        next_worker = asyncio.create_task(self.find_next_worker(kill))
        yield kill
        await next_worker
        self.line("goes on", str(kill), kill.resumed, style="green")
        self.evidence.kills.append(kill)

    async def find_next_worker(self, kill: Kill) -> None:
        kill.worker, kill.started = (await _found(self.workers))[0].pid, datetime.now(UTC)

    def workers(self) -> list[ProcessRef]:
        worker = self.read_stack().part(PartName.WORKER)
        return [worker.process] if worker and worker.process and worker.alive else []

    async def until(self, kind: type[T], **fields: object) -> tuple[T, datetime]:
        """Show events up to the next of this kind with these fields."""
        async for seen in self.watched:
            if isinstance(seen, EventWithContents):
                event, at = seen.record.event, time_of(seen)
                self.evidence.records.append(seen.record)
                self.timed.margin = f"  {at.astimezone():%H:%M:%S}"
                self.renderer.on_event(seen)
                if isinstance(event, kind) and fields.items() <= vars(event).items():
                    return event, at
                if isinstance(event, TurnEnded):
                    break
        raise Unavailable(f"The session's turn has ended without {kind.__name__}.")

    async def collect_evidence(self, client: SessionClient) -> None:
        evidence = self.evidence
        evidence.totals = await client.sessions.totals(self.session)
        evidence.verified = await client.records.verify(self.session)
        evidence.printed = await self.run(f"{HOLDFAST} log {self.session} --verify")
        evidence.git_status = await self.run("git status --short")
        evidence.module = (self.repository / slug_project.MODULE).read_text()
        evidence.tests_after = await self.run_tests()
        evidence.requests = read_ledger(self.requests)
        evidence.effects = self.read_effects()

    def show_results(self) -> bool:
        """Returns whether every check holds."""
        totals, used = self.evidence.totals, self.evidence.totals.tokens
        sent = f"{used.prompt:,} tokens in ({used.cache_read:,} of them cached), {used.output:,} out"
        self.line("model", f"{totals.steps} answers, {sent}, ${totals.cost.dollars:.4f} at made-up prices")
        self.title("Checks, counted from outside")
        checks = run_checks(self.evidence)
        for claim, holds, figures in checks:
            self.line("ok" if holds else "FAILED", claim, style="green" if holds else "red")
            self.line("", figures, style="dim")
        variables = [f"HOLDFAST_HOME={shlex.quote(str(self.settings.home))}"]
        variables += [f"{name}=" for name in _SERVERS if name in self.user.environment]
        self.title("Try next (the demo's stack is stopped; the first line starts it, the last one stops it)")
        for arguments in ("up", f"log {self.session} --verify", f"export {self.session}", "down"):
            self.writer.write_line(f"  {' '.join(variables)} {HOLDFAST} {arguments}")  # whole, for copying
        return all(holds for _, holds, _ in checks)

    def title(self, text: str) -> None:
        self.write(f"\n{text}", style="bold")

    def progress(self, text: str) -> None:
        self.write(f"  {text}", style="dim")

    def line(self, label: str, text: str, at: datetime | None = None, style: str | None = None) -> None:
        start = f"{at.astimezone():%H:%M:%S}  " if at else ""
        self.write(f"  {start}{label:<9} {text}", len(start) + 10, style)

    def write(self, text: str, indent: int = 0, style: str | None = None) -> None:
        for row in wrap_text(text, self.writer.columns, indent):
            self.writer.write_line(styled(row, style) if style else row)

    def read_effects(self) -> list[str]:
        return self.effects.read_text().splitlines() if self.effects.exists() else []

    def read_stack(self) -> StackState:
        if (seen := state_file.read(Layout(home=self.settings.home).state)) is None:
            raise Unavailable("The demo's stack does not serve: see its logs.")
        return seen

    async def type(self, arguments: str) -> None:
        for line in (f"$ holdfast {arguments}", *(await self.run(f"{HOLDFAST} {arguments}")).splitlines()):
            self.write(f"      {line}".rstrip(), 2, "dim")

    async def run_tests(self) -> str:
        """OK or FAILED (...)."""
        return (await self.run(f"{slug_project.TEST_COMMAND}; true")).splitlines()[-1]

    async def run(self, line: str) -> str:
        """Raises HoldfastError if it fails."""
        code, output = await child_programs.run(
            "/bin/sh", "-c", line, environment=self.settings.environment, cwd=self.repository
        )
        if code != 0:
            raise HoldfastError(f"`{line}` ended with {code}:\n{output}")
        return output


async def _found(find: Callable[[], T | None]) -> T:
    while not (found := find()):
        await asyncio.sleep(_POLL_INTERVAL)
    return found
