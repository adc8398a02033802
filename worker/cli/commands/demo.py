"""`holdfast demo`: an agent fixes a failing test, is killed on the way, and what happened is counted."""

import asyncio
import json
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeVar

import click
import psutil
from pydantic import JsonValue

from worker.cli.render.event_contents import time_of
from worker.cli.render.event_renderer import EventRenderer
from worker.cli.render.terminal_writer import MarginWriter, TerminalWriter
from worker.client import Holdfast
from worker.scripted.model_server import serve
from worker.scripted.request_ledger import StreamEnd, read_ledger
from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack import child_programs, locks, processes, state_file
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.purge import purge, purge_items
from worker.stack.up import up
from workflows.domain.actor import Actor
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.event import EventRecord
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.usage import Cost, Tokens
from workflows.domain.views.events import EventWithContents

T = TypeVar("T")
Check = tuple[str, bool, str]  # a claim, whether it holds, the figures behind it
HOLDFAST: Final = shlex.quote(str(Path(sys.executable).with_name("holdfast")))
_INTRODUCTION: Final = """\
An agent fixes a failing test, and is killed with `kill -9` on the way: its worker twice, and once all that runs, which
is worker, Temporal, PostgreSQL and supervisor. Model and approvals are scripted: no key is needed, nothing is asked."""
_TIMEOUT: Final = 480.0  # seconds; a busy machine takes two minutes
_SERVERS: Final = ("HOLDFAST_POSTGRES_URL", "TEMPORAL_ADDRESS", "TEMPORAL_PROFILE")  # the user's own
_USERS: Final = re.compile(  # the user's own stack and repository
    r"(?!HOLDFAST_(POSTGRES_BIN|POSTGRES_USER|TEMPORAL_BIN|TEMPORAL_DYNAMIC|START_SECONDS)$)(HOLDFAST|TEMPORAL|GIT)_"
)

PROMPT: Final = "The test in test_slug.py fails. Find out why, mend it, and run it."
TEST: Final = "python3 -B test_slug.py"
COMMAND: Final = "sh run-test.sh"
MODULE: Final = "slug.py"
_LINE: Final = "    text = title.strip().lower()\n"
_FIXED_LINES: Final = _LINE + '    text = re.sub(r"[^\\w\\s-]", "", text)\n'
FILES: Final = {
    MODULE: f'import re\n\n\ndef slug(title: str) -> str:\n{_LINE}    return re.sub(r"[\\s_-]+", "-", text)\n',
    "test_slug.py": "from slug import slug\n\nassert (it := slug('Hello, World!')) == 'hello-world', it\nprint('OK')\n",
    # It notes its start and end. It lasts until the gate exists: the demo decides when.
    "run-test.sh": f"""echo "start $$" >> ../effects.log
until [ -e ../gate ]; do sleep 0.05; done
{TEST}; code=$?
echo "end $$" >> ../effects.log; exit $code
""",
}
FIXED_MODULE: Final = FILES[MODULE].replace(_LINE, _FIXED_LINES)  # a second edit would repeat its line

# What the model says, and its calls.
ANSWERS: Final[tuple[tuple[str, dict[str, dict[str, JsonValue]]], ...]] = (
    ("I will look at the module and its test.", {"read": {"filePath": MODULE}, "grep": {"pattern": "slug"}}),
    (
        "The test wants 'hello-world' and gets 'hello,-world!': a line is missing.",
        {"edit": {"filePath": MODULE, "oldString": _LINE, "newString": _FIXED_LINES}},
    ),
    ("Now the test.", {"bash": {"command": COMMAND}}),
    ("The test passes: slug() now drops punctuation before it joins the words.", {}),
)
INTERRUPTED: Final = 1  # the answer, counted from 0, that the first kill cuts
_USED: Final = ScriptedUsage(input=2000, output=50)  # by each answer, and by the title
_PRICES: Final = {"input": 3, "output": 15}  # US dollars per million tokens, invented
TOKENS: Final = Tokens(total=10_250, input=10_000, output=250)
COST: Final = Cost(dollars=Decimal("0.03375"))


def script(hold: Path) -> Script:
    """The model's answers. The interrupted one's first request gets a half: `hold` never exists."""
    faults = {INTERRUPTED: {1: Hold(after=4, path=str(hold))}}
    answers = []
    for number, (text, calls) in enumerate(ANSWERS):
        tools = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in calls.items())
        answers.append(ScriptedAnswer(text=text, tools=tools, usage=_USED, faults=faults.get(number, {})))
    return Script(answers=tuple(answers), auxiliary_answer=ScriptedAnswer(text="A failing slug test", usage=_USED))


class Demo:
    """One demo, killed at observed moments. Its figures are counted outside of the agent."""

    def __init__(self, user: Settings) -> None:
        self.user = user
        self.timed = MarginWriter(TerminalWriter(live=False), "")
        self.renderer = EventRenderer(self.timed, subagent=True)  # no hint to retry: the stack ends with its demo
        self.root = user.home.with_name(f"{user.home.name}-demo")
        self.folder = self.root / "plays" / f"{datetime.now():%Y%m%d-%H%M%S}"
        self.repository = self.folder / "slugs"
        self.requests = self.folder / "model.jsonl"  # written by the model's server
        self.effects = self.folder / "effects.log"  # written by the command
        self.settings = Settings.read(
            {name: value for name, value in user.environment.items() if not _USERS.match(name)}
            | {"HOLDFAST_HOME": str(self.root / "stack"), "XDG_CONFIG_HOME": str(self.folder / "config")}
            | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
            | dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), "/dev/null")  # no signature, no hook
        )
        self.kills: list[int] = []  # how many processes each hit
        self.records: list[EventRecord] = []  # as the watcher received them
        self.tests: list[str] = []  # their results, before and after

    async def play(self) -> bool:
        """Returns whether every check holds. Raises HoldfastError if it cannot go on."""
        click.echo(f"{_INTRODUCTION}\nStarting PostgreSQL, Temporal and a worker. All files are in {self.root}.\n")
        async with locks.hold(self.root / "demo.lock", lambda: click.echo("Waiting for another demo.")):
            await down(self.settings, click.echo)  # of a demo that was itself killed
            await purge(self.settings, purge_items(self.settings))  # it may be another Holdfast's
            self.folder.mkdir(mode=0o700, parents=True)
            try:
                async with serve(script(self.folder / "hold"), self.requests) as model:
                    self.write_files(model.url)
                    served = await up(self.settings, lambda _: None)
                    async with asyncio.timeout(_TIMEOUT), Holdfast(self.settings, served) as holdfast:
                        await self.run_session(holdfast.as_(Actor(subject="demo", method="demo")))
            except TimeoutError:
                raise Unavailable(f"The session has not ended within {_TIMEOUT:.0f} s: see {self.root}.") from None
            finally:
                (self.folder / "gate").touch()  # an interrupted demo's command waits for it
                await down(self.settings, click.echo)
        return self.show_results()

    def write_files(self, url: str) -> None:
        model = {"name": "Scripted", "cost": _PRICES, "limit": {"context": 200_000, "output": 8_000}}
        options = {"baseURL": url, "apiKey": "the-scripted-model-needs-none"}
        server = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": model}}
        config = {"model": "demo/scripted", "provider": {"demo": server}, "permission": {"edit": "ask", "bash": "ask"}}
        files = {self.settings.config / "opencode.json": json.dumps(config), self.effects: ""}
        for path, text in (files | {self.repository / name: text for name, text in FILES.items()}).items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(text)

    async def run_session(self, client: SessionClient) -> None:
        """One watcher outlives all that is killed."""
        await self.run("git init -q && git add . && git -c user.name=demo -c user.email=demo@demo commit -qm Slugs")
        self.tests.append(await self.run(f"{TEST}; true"))
        self.session = SessionId(re.findall(r"\bses_\w+", await self.run(f"{HOLDFAST} run --detach '{PROMPT}'"))[0])
        async with aclosing(client.records.watch(self.session)) as self.watched:
            await self.play_turn()
        self.tests.append(await self.run(f"{TEST}; true"))
        self.git_status = await self.run("git status --short")
        self.totals = await client.sessions.totals(self.session)
        self.verified = await client.records.verify(self.session)

    async def play_turn(self) -> None:
        for _ in range(2):
            await self.until(CallFinished)
        await _found((self.folder / "hold.reached").exists)
        async with self.killed("the worker, in the middle of an answer", "the model was asked again"):
            await self.until(MessageCompleted, step=INTERRUPTED + 1)
        await self.until(AskRaised)
        async with self.killed("all that runs, while a question waits", "answered, the edit begins", everything=True):
            await self.run(f"{HOLDFAST} answer once")
            await self.until(CallClaimed)
        await self.until(AskRaised)
        await self.run(f"{HOLDFAST} answer once")
        await self.until(CallClaimed)
        command = processes.ref(int((await _found(self.effects.read_text)).split()[1]))
        async with self.killed("the worker, while the command runs", "the running command is followed"):
            await self.until(CallClaimed, recovered=True)
        self.survivor = command.pid if command.alive else None
        (self.folder / "gate").touch()
        await self.until(TurnEnded)

    @asynccontextmanager
    async def killed(self, what: str, how: str, *, everything: bool = False) -> AsyncIterator[None]:
        """`kill -9`. The body waits for the session to go on."""
        victims, at = self.find_victims(everything=everything), datetime.now(UTC)
        for victim in victims:
            victim.kill(signal.SIGKILL)
        await _found(lambda: not any(victim.alive for victim in victims))
        self.kills.append(len(victims))
        click.echo(f"{at.astimezone():%H:%M:%S}  kill -9   {what}")
        yield
        click.echo(f"{self.timed.margin}  goes on   {(self.at - at).total_seconds():.1f} s later: {how}")

    def find_victims(self, *, everything: bool) -> list[processes.ProcessRef]:
        """The worker; or the supervisor, and all that it has started."""
        if (stack := state_file.read(Layout(home=self.settings.home).state)) is None:
            raise Unavailable(f"The demo's stack does not serve: see the logs in {self.root}.")
        if everything:
            below = psutil.Process(stack.supervisor.pid).children(recursive=True)
            return [stack.supervisor, *(processes.ref(each.pid) for each in below)]
        return [part.process for part in stack.parts if part.name is state_file.PartName.WORKER and part.process]

    async def until(self, kind: type[object], **fields: object) -> None:
        """Show events up to the next of this kind with these fields."""
        async for seen in self.watched:
            if isinstance(seen, EventWithContents):
                event, self.at = seen.record.event, time_of(seen)
                self.records.append(seen.record)
                self.timed.margin = f"{self.at.astimezone():%H:%M:%S}"
                self.renderer.on_event(seen)
                if isinstance(event, kind) and fields.items() <= vars(event).items():
                    return
                if isinstance(event, TurnEnded):
                    break
        raise Unavailable(f"The session's turn has ended without {kind.__name__}.")

    def run_checks(self) -> Iterator[Check]:
        requests = sorted((each.n, each.step, each.end) for each in read_ledger(self.requests) if each.step >= 0)
        whole = [(number, StreamEnd.COMPLETE) for number in range(len(ANSWERS))]
        wanted = [*whole[:INTERRUPTED], (INTERRUPTED, StreamEnd.CLIENT_LEFT), *whole[INTERRUPTED:]]
        stored = [each.step - 1 for each in self.events(MessageCompleted) if each.step is not None]
        once = [each[1:] for each in requests] == wanted and stored == list(range(len(ANSWERS)))
        figures = f"{len(requests)} requests, {len(stored)} answers stored"
        yield "Each answer was paid once, and only the one cut off was asked for again", once, figures
        tokens, cost = self.totals.tokens, self.totals.cost
        figures = f"{tokens.total:,} tokens, ${cost.dollars:.4f} at invented prices"
        yield "Tokens and cost were counted once", (tokens, cost) == (TOKENS, COST), figures
        noted = self.effects.read_text().splitlines()
        kept = noted == [f"start {self.survivor}", f"end {self.survivor}"]
        yield "The command ran once, and outlived its worker", kept, f"it noted {', '.join(noted)}"
        fixed = (self.repository / MODULE).read_text() == FIXED_MODULE and self.git_status == f"M {MODULE}"
        yield "The edit was made once, and nothing else changed", fixed, f"git says {self.git_status!r}"
        before, after = (each.splitlines()[-1] for each in self.tests)
        passes = before.startswith("AssertionError") and after == "OK"
        yield "The test that failed passes", passes, f"{before!r} before, {after!r} after"
        raised = [each.ask for each in self.events(AskRaised)]
        answered = [each.ask for each in self.events(AskAnswered)]
        figures = f"{len(raised)} asked, {len(answered)} answered"
        yield "Each question was asked once and answered once", len(raised) == 2 and raised == answered, figures
        ends = [each.reason for each in self.events(TurnEnded)]
        figures = f"{len(self.kills)} kills of {sum(self.kills)} processes, end: {', '.join(ends)}"
        yield "The session went on by itself after each kill", len(self.kills) == 3 and ends == ["done"], figures
        verified, numbers = self.verified, [each.seq for each in self.records]
        intact = verified.problem is None and numbers == list(range(1, verified.events + 1))
        figures = verified.problem or f"{verified.events} events, hash {verified.head}"
        yield "The audit log is whole, and was shown without a gap", intact, figures

    def events(self, kind: type[T]) -> list[T]:
        return [each.event for each in self.records if isinstance(each.event, kind)]

    def show_results(self) -> bool:
        """Returns whether every check holds."""
        click.echo("\nCounted outside of the agent:")
        checks = list(self.run_checks())
        for claim, holds, figures in checks:
            click.echo(f"{'ok' if holds else 'FAILED':<9} {claim}: {figures}")
        variables = [f"HOLDFAST_HOME={shlex.quote(str(self.settings.home))}"]
        variables += [f"{name}=" for name in _SERVERS if name in self.user.environment]
        click.echo("\nTry next (the first line starts the demo's stack, the last one stops it):")
        for arguments in ("up", f"log {self.session} --verify", f"export {self.session}", "down"):
            click.echo(f"{' '.join(variables)} {HOLDFAST} {arguments}")
        return all(holds for _, holds, _ in checks)

    async def run(self, line: str) -> str:
        """Raises HoldfastError if it fails."""
        environment = self.settings.environment
        code, output = await child_programs.run("/bin/sh", "-c", line, environment=environment, cwd=self.repository)
        if code != 0:
            raise HoldfastError(f"`{line}` ended with {code}:\n{output}")
        return output


async def _found(find: Callable[[], T | None]) -> T:
    while not (found := find()):
        await asyncio.sleep(0.02)  # seconds: other processes' files
    return found


@click.command()
def demo() -> int:
    """Play a task that is killed again and again, and continues.

    It needs no key, asks nothing, and leaves your own stack alone: a scripted model fixes a failing test on a stack of
    its own. Ends with code 1 when anything that it checks does not hold.

    \b
    Example:
      holdfast demo
    """
    return 0 if asyncio.run(Demo(Settings.read()).play()) else 1
