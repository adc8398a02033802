"""Plays `holdfast demo`: a real task in a real repository, with kills on the way."""

import asyncio
import json
import re
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeVar

import psutil

from activities.store.migrate import DatabaseForeign, DatabaseNewer
from worker.api.events import EventWithContents
from worker.cli.render.event_contents import actor_of, call_of, time_of
from worker.cli.render.formatting import escape_exact, one_line
from worker.client import Holdfast, SessionClient
from worker.demo import slug_project
from worker.demo.checks import E, Evidence, Kill, run_checks
from worker.scripted.model_server import serve
from worker.scripted.request_ledger import read_ledger
from worker.settings import Settings
from worker.stack import locks, processes, state_file
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.purge import purge, purge_items
from worker.stack.state_file import PartName, StackState
from worker.stack.up import up
from worker.stored_contents import note_of, part_of
from workflows.domain.actor import Actor
from workflows.domain.call_display import DisplayKind
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, TextPart
from workflows.domain.permissions.permission_keys import BASH

T = TypeVar("T")

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
# A line, its style, the indent of wrapped rows (None: never wrapped).
LineStyle = Literal["plain", "title", "quiet", "good", "bad"]
WriteLine = Callable[[str, LineStyle, int | None], None]


class Demo:
    """One demo: its files, stack and session, killed at observed moments."""

    def __init__(self, user: Settings, write: WriteLine, now: datetime) -> None:
        self.user, self.write = user, write
        self.root = user.home.with_name(f"{user.home.name}-demo")
        self.folder = self.root / "plays" / f"{now:%Y%m%d-%H%M%S}"
        self.repository = self.folder / "slugs"
        self.requests = self.folder / "model.jsonl"
        self.hold = self.folder / "hold"  # until it exists, one answer stays cut in half
        self.effects = self.folder / "effects.log"
        self.gate = self.folder / "gate"  # the command waits for it
        self.settings = Settings.read(
            {name: value for name, value in user.environment.items() if not _USERS.match(name)}
            | {"HOLDFAST_HOME": str(self.root / "stack"), "HOLDFAST_CACHE": str(user.cache)}
            | {"XDG_CONFIG_HOME": str(self.folder / "config")}
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
        self.write(f"  {_INTRODUCTION}", "plain", 0)
        async with locks.hold(self.root / "demo.lock", lambda: self.progress("Waiting for another demo.")):
            await down(self.settings, self.progress)  # of a demo that was itself killed
            self.folder.mkdir(mode=0o700, parents=True)
            try:
                async with serve(self.evidence.script, self.requests) as model:
                    await self.prepare(model.url)
                    await asyncio.wait_for(self.run_session(), _TIMEOUT)
                    await self.collect_evidence()
            except TimeoutError:
                raise Unavailable(f"The session has not ended within {_TIMEOUT:.0f} s: see {self.folder}.") from None
            except HoldfastError:
                self.line("FAILED", f"Files are in {self.folder}, logs in {self.settings.home / 'logs'}.", "bad")
                raise
            finally:
                self.gate.touch()  # an interrupted demo's command waits for it
                await down(self.settings, self.progress)
        return self.show_results()

    async def prepare(self, url: str) -> None:
        """Write the project; start the stack with the model at `url`."""
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

    async def run_session(self) -> None:
        printed = await self.run(f"{HOLDFAST} run --detach {shlex.quote(slug_project.PROMPT)}")
        self.session = SessionId(re.findall(r"\bses_\w+", printed)[0])
        self.title(f"The session {self.session}")
        self.progress("(A new worker loads its model library for some seconds before its first step.)")
        await self.until(MessageCompleted, step=slug_project.INTERRUPTED_STEP - 1)
        for _ in range(2):
            await self.until(CallFinished)
        await _found(self.hold.with_name("hold.reached").exists)
        async with self.kill("the worker, in the middle of a streamed answer", "it asks for the answer again") as kill:
            again = await _found(lambda: [each for each in read_ledger(self.requests) if each.attempt > 1])
            kill.resumed = again[0].began
        edit, _ = await self.until(AskRaised)
        what = "worker, Temporal, PostgreSQL and their supervisor, while a question waits"
        async with self.kill(what, "it has the answer and begins the edit", everything=True) as kill:
            await self.type("asks")
            await self.type(f"answer {edit.ask} once")
            _, kill.resumed = await self.until(CallClaimed)
        command, _ = await self.until(AskRaised)
        await self.type(f"answer {command.ask} once")
        await self.until(CallClaimed)
        started = await _found(self.read_effects)
        process = processes.ref(int(started[0].removeprefix("start ")))
        async with self.kill("the worker, while the command runs", "it attaches to the running command") as kill:
            _, kill.resumed = await self.until(CallClaimed, recovered=True)
        self.evidence.survivor = process.pid if process.alive else None
        self.gate.touch()
        await self.until(TurnEnded)

    @asynccontextmanager
    async def kill(self, what: str, how: str, *, everything: bool = False) -> AsyncIterator[Kill]:
        """`kill -9` the worker, or everything. The body waits for the session to go on, and records when."""
        victims = self.workers()
        if everything:
            supervisor = self.stack().supervisor
            below = psutil.Process(supervisor.pid).children(recursive=True)
            victims = [supervisor, *(processes.ref(each.pid) for each in below)]
        kill = Kill(what, how, [each.pid for each in victims], datetime.now(UTC))
        for victim in victims:
            victim.kill(signal.SIGKILL)
        await _found(lambda: not any(victim.alive for victim in victims))
        hit = f"{len(victims)} processes" if everything else ", ".join(f"process {pid}" for pid in kill.hit)
        self.line("kill -9", f"{what} ({hit})", "bad", kill.at)
        self.progress(_STACK_RESTARTS if everything else _WORKER_RESTARTS)
        next_worker = asyncio.create_task(self.find_next_worker(kill))
        yield kill
        await next_worker
        self.line("goes on", str(kill), "good", kill.resumed)
        self.evidence.kills.append(kill)

    async def find_next_worker(self, kill: Kill) -> None:
        found = await _found(lambda: [worker.pid for worker in self.workers() if worker.pid not in kill.hit])
        kill.worker, kill.started = found[0], datetime.now(UTC)

    def workers(self) -> list[ProcessRef]:
        """The running worker's process, if any."""
        seen = state_file.read(Layout(home=self.settings.home).state)
        parts = seen.parts if seen else ()
        return [part.process for part in parts if part.name is PartName.WORKER and part.process and part.alive]

    async def until(self, kind: type[E], **fields: object) -> tuple[E, datetime]:
        """Show events up to the next of this kind with these fields."""
        after = len(self.evidence.records)
        async with self.client() as client, aclosing(client.records.watch(self.session, after)) as watched:
            async for seen in watched:
                if isinstance(seen, EventWithContents):
                    event = seen.record.event
                    self.evidence.records.append(seen.record)
                    if (described := _describe(seen)) is not None:
                        self.line(*described, time_of(seen))
                    if isinstance(event, kind) and fields.items() <= vars(event).items():
                        return event, time_of(seen)
                    if isinstance(event, TurnEnded):
                        break
        raise Unavailable(f"The session's turn has ended without {kind.__name__}.")

    async def collect_evidence(self) -> None:
        evidence = self.evidence
        async with self.client() as client:
            evidence.totals = await client.sessions.totals(self.session)
            evidence.verified = await client.records.verify(self.session)
        evidence.printed = await self.run(f"{HOLDFAST} log {self.session} --verify")
        evidence.git_status = await self.run("git status --short")
        evidence.module = (self.repository / slug_project.MODULE).read_text()
        evidence.tests_after = await self.run_tests()
        evidence.requests = read_ledger(self.requests)
        evidence.effects = self.read_effects()

    def show_results(self) -> bool:
        """Show figures and next commands; returns whether every check holds."""
        totals, used = self.evidence.totals, self.evidence.totals.tokens
        sent = f"{used.prompt:,} tokens in ({used.cache_read:,} of them cached), {used.output:,} out"
        self.line("model", f"{totals.steps} answers, {sent}, ${totals.cost.dollars:.4f} at made-up prices")
        self.title("Checks, counted from outside")
        checks = run_checks(self.evidence)
        for claim, holds, figures in checks:
            self.line("ok" if holds else "FAILED", claim, "good" if holds else "bad")
            self.line("", figures, "quiet")
        variables = [f"HOLDFAST_HOME={shlex.quote(str(self.settings.home))}"]
        variables += [f"{name}=" for name in _SERVERS if name in self.user.environment]
        self.title("Try next (the demo's stack is stopped; these start it again, the last one stops it)")
        for arguments in (f"log {self.session} --verify", f"export {self.session}", "down"):
            self.write(f"  {' '.join(variables)} {HOLDFAST} {arguments}", "plain", None)
        return all(holds for _, holds, _ in checks)

    def title(self, text: str) -> None:
        self.write("", "plain", 0)
        self.write(text, "title", 0)

    def progress(self, text: str) -> None:
        self.write(f"  {text}", "quiet", 0)

    def line(self, label: str, text: str, style: LineStyle = "plain", at: datetime | None = None) -> None:
        start = f"{at.astimezone():%H:%M:%S}  " if at else ""
        self.write(f"  {start}{label:<9} {text}", style, len(start) + 10)

    def read_effects(self) -> list[str]:
        return self.effects.read_text().splitlines() if self.effects.exists() else []

    def stack(self) -> StackState:
        seen = state_file.read(Layout(home=self.settings.home).state)
        if seen is None or not seen.serving:
            raise Unavailable("The demo's stack does not serve: see its logs.")
        return seen

    @asynccontextmanager
    async def client(self) -> AsyncIterator[SessionClient]:
        async with Holdfast(self.settings, self.stack().endpoints) as holdfast:
            yield holdfast.as_(Actor(subject="demo", method="demo"))

    async def type(self, arguments: str) -> None:
        """Run and show a command."""
        for line in (f"$ holdfast {arguments}", *(await self.run(f"{HOLDFAST} {arguments}")).splitlines()):
            self.write(f"      {line}".rstrip(), "quiet", 2)

    async def run_tests(self) -> str:
        """The repository's test result: OK or FAILED (...)."""
        return (await self.run(f"{slug_project.TEST_COMMAND}; true")).splitlines()[-1]

    async def run(self, line: str) -> str:
        """A command's output in the repository. Raises HoldfastError if it fails."""
        folder, environment = self.repository, self.settings.environment
        process = await asyncio.create_subprocess_shell(
            line, cwd=folder, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
        output = (await process.communicate())[0].decode(errors="replace").strip()
        if process.returncode != 0:
            raise HoldfastError(f"`{line}` ended with {process.returncode}:\n{output}")
        return output


async def _found(find: Callable[[], T | None]) -> T:
    """Poll `find`, which reads other processes' files."""
    while not (found := find()):
        await asyncio.sleep(_POLL_INTERVAL)
    return found


def _describe(seen: EventWithContents) -> tuple[str, str, LineStyle] | None:
    """None for audit-only events."""
    match seen.record.event:
        case MessageCompleted(step=int(step), parts=parts):
            texts = (part.text for each in parts if isinstance(part := part_of(seen, each.part), TextPart))
            return f"step {step}", one_line(" ".join(texts)), "plain"
        case CallFinished(call=name, state=state) if call := call_of(seen, name):
            last = call.output.splitlines()[-1:] if call.display.kind is DisplayKind.EXECUTE else []
            text = ": ".join([one_line(call.label), *map(one_line, last)])
            return (call.tool, text, "quiet") if state == CallState.DONE else (call.tool, f"{text} ({state})", "bad")
        case AskRaised(call=name, permission=permission) if call := call_of(seen, name):
            verb = "run" if permission == BASH else permission
            return "asks", f"May I {verb} {one_line(call.label)}?", "plain"
        case AskAnswered(reply=reply):
            return "answered", f"{reply}, by {actor_of(seen)}", "plain"
        case TurnEnded(reason=reason, note=note):
            return "end", escape_exact(note_of(seen, note) if note else reason), "plain"
    return None
