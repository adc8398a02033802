"""`holdfast demo`: a real task in a real repository, killed on the way, and judged by what was counted outside."""

import asyncio
import os.path
import re
import shlex
import shutil
import sys
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Final

from activities.store.migrate import DatabaseForeign, DatabaseNewer
from worker.demo import task
from worker.demo.acts import Demo
from worker.demo.checks import Check, judge
from worker.demo.programs import git, holdfast, holdfast_program, model_server, tests
from worker.demo.stage import EXTERNAL, Stage, root_of
from worker.demo.story import Story, Tell, Tone
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack import locks
from worker.stack.down import down
from worker.stack.purge import doomed, purge
from worker.stack.state import Endpoints
from worker.stack.up import up
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

_SESSION: Final = re.compile(r"\bses_\w+")
_INTRODUCTION: Final = (
    "An agent fixes a failing test in a fresh repository. On its way it is killed with `kill -9`: the worker twice, "
    "and once everything that runs. It needs no key and asks you nothing: a scripted model answers behind a real "
    "OpenAI-compatible endpoint, and the demo answers the agent's questions itself."
)
_HISTORY: Final = (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "A package with a failing test"))


class Played(Value):
    """A session that was played to its end, and what the checks have found."""

    session: SessionId
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)


async def play(user: Settings, tell: Tell) -> bool:
    """Play a demo beside the user's own stack; whether everything held. Raises HoldfastError when it cannot go on."""
    story = Story(tell)
    story.title("Holdfast demo")
    story.say(_INTRODUCTION)
    async with locks.held(root_of(user) / "demo.lock", lambda: story.progress("Waiting for another demo to end.")):
        stage = Stage.beside(user, datetime.now())
        await down(stage.settings, story.progress)  # of a demo that was killed itself
        script = stage.make()
        try:
            async with model_server(stage) as url:
                played = await _play(stage, story, script, url)
        except HoldfastError:
            story.fact("FAILED", f"Files are in {stage.folder}, logs in {stage.settings.home / 'logs'}.", Tone.BAD)
            raise
        finally:
            stage.gate.touch()  # where the demo was left early, the command still waits for it
            await down(stage.settings, story.progress)
    _outlook(stage, story, user, played)
    return played.holds


async def _play(stage: Stage, story: Story, script: Script, url: str) -> Played:
    failed_before = await _set(stage, story, url)
    said = (await holdfast(stage, "run", "--detach", task.PROMPT)).output
    found = _SESSION.search(said)
    if found is None:
        raise HoldfastError(f"`holdfast run --detach` named no session:\n{said}")
    story.title(f"The session {found[0]}")
    story.progress("(A new worker loads its model library for some seconds before its first step, after a kill, too.)")
    demo = Demo(stage, story, SessionId(found[0]))
    await demo.play()
    evidence = await demo.evidence(script, failed_before)
    checks = judge(evidence)
    story.results(evidence, checks)
    return Played(session=demo.follower.session, checks=tuple(checks))


async def _set(stage: Stage, story: Story, url: str) -> bool:
    """Have everything ready; whether the test fails, as it should."""
    story.title("The stage")
    stage.configure(url)
    for arguments in _HISTORY:
        await git(stage, *arguments)
    failed = (await tests(stage)).code != 0
    story.fact("project", f"under git, in {stage.repository}")
    story.fact("test", "fails, as it should" if failed else "passes, though it should not")
    story.fact("model", f"scripted, at {url}, an OpenAI-compatible endpoint like any other")
    began = monotonic()
    places = await _stack(stage, story)
    story.fact("stack", f"PostgreSQL, Temporal and worker of the demo's own, up in {monotonic() - began:.1f} s")
    if places.ui_url:
        story.fact("Temporal", f"{places.ui_url} shows its view of the session while the demo plays")
    return failed


async def _stack(stage: Stage, story: Story) -> Endpoints:
    """Start the demo's own stack; one of another version is made anew, for nothing in it is a person's work."""
    try:
        return await up(stage.settings, story.progress)
    except (DatabaseForeign, DatabaseNewer):
        story.progress("An earlier demo's stack was made by another Holdfast: it is removed, and a new one made.")
        await down(stage.settings, story.progress)
        await purge(stage.settings, doomed(stage.settings))
        return await up(stage.settings, story.progress)


def _outlook(stage: Stage, story: Story, user: Settings, played: Played) -> None:
    """What a person can do next, in lines that work as they are printed."""
    own = _command(user)
    story.title("Try next (the demo's stack is stopped; these start it again, the last one stops it)")
    story.offer(f"{own} log {played.session} --verify")
    story.offer(f"{own} export {played.session}")
    story.offer(f"git -C {shlex.quote(str(stage.repository))} diff")
    story.offer(f"{own} down")


def _command(user: Settings) -> str:
    """How the user's shell starts `holdfast` on the demo's stack."""
    home = root_of(user) / "stack"
    variables = {"HOLDFAST_HOME": str(home)} | {name: "" for name in EXTERNAL if user.environment.get(name)}
    program = holdfast_program()
    known = shutil.which("holdfast", path=user.environment.get("PATH"))
    if known is not None and Path(known).samefile(program):
        name = "holdfast"
    else:
        name = min(str(program), os.path.relpath(program), key=len)
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.quote(name)])


def print_plainly(text: str, _: Tone, __: int | None) -> None:
    print(text, flush=True)


def main(settings: Settings | None = None, tell: Tell = print_plainly) -> int:
    """Play a demo, and return the exit code: 0 when everything held, 1 when a check did not."""
    return 0 if asyncio.run(play(settings or Settings.read(), tell)) else 1


if __name__ == "__main__":
    sys.exit(main())
