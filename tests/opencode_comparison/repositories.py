"""Configurations as people keep them in their repositories, each with what is run there: `tests/data/repositories`."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.value import Value

FOLDER: Final = Path(__file__).parents[1] / "data" / "repositories"
_TITLE: Final = ScriptedAnswer(text="A title")
_DONE: Final = ScriptedAnswer(text="Done.")


class Run(Value):
    """A prompt, or a command. `calls`: what the model calls first, each in an answer of its own."""

    name: str
    prompt: str = ""
    agent: str | None = None
    command: str | None = None
    arguments: str = ""
    files: tuple[str, ...] = ()
    calls: tuple[ScriptedCall, ...] = ()

    @property
    def text(self) -> str:
        """What is typed, with the name of its script."""
        return f"{self.prompt or self.arguments} [[script:{self.name}]]"

    @property
    def flags(self) -> list[str]:
        """The same for both programs."""
        agent = ["--agent", self.agent] if self.agent else []
        command = ["--command", self.command] if self.command else []
        return [*agent, *command, *(part for file in self.files for part in ("--file", file))]


class Repository(Value):
    """`directory`: where its people start, below its root."""

    name: str
    directory: Path
    runs: tuple[Run, ...]

    def install(self, home: Path, root: Path) -> Path:
        """Put its files where they belong; the directory to start in."""
        shutil.copytree(FOLDER / self.name / "home", home, dirs_exist_ok=True)
        shutil.copytree(FOLDER / self.name / "repo", root, dirs_exist_ok=True)
        subprocess.run(["git", "init", "--quiet", root], check=True)
        return root / self.directory

    def texts(self) -> dict[str, str]:
        """The texts of its files, and of what is typed there, by their names: without their frontmatter."""
        folder = FOLDER / self.name
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent != folder]
        bodies = {str(path.relative_to(folder)): _body(path.read_text("utf-8")) for path in files}
        return bodies | {"typed": "[[script:"}

    def scripts(self, root: Path) -> Mapping[str, Script]:
        """What the model plays, by the run's name."""
        return {run.name: _script(run, root) for run in self.runs}


def repositories() -> list[Repository]:
    files = sorted(FOLDER.glob("*/runs.json"))
    return [Repository(name=file.parent.name, **_described(file)) for file in files]


def _body(text: str) -> str:
    return text.rpartition("\n---\n")[2].strip() if text.startswith("---\n") else text.strip()


def _described(file: Path) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return described


def _script(run: Run, root: Path) -> Script:
    calls = [call.model_copy(update={"arguments": _placed(call.raw, root)}) for call in run.calls]
    answers = (*(ScriptedAnswer(tools=(call,)) for call in calls), _DONE, _DONE)  # what is attached is an answer, too
    return Script(answers=answers, auxiliary_answer=_TITLE)


def _placed(arguments: str, root: Path) -> dict[str, Any]:
    placed: dict[str, Any] = json.loads(arguments.replace("<repo>", str(root)))
    return placed
