"""What OpenCode reads from folders and Holdfast does not act on yet: agents, commands, skills, tools, plugins."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.opening import open_file
from activities.files.place import Place
from activities.files.resolve import is_directory
from activities.project.files import levels, own_folders, project_folders
from activities.project.jsonc import read_text
from workflows.domain.config.snapshot import IgnoredFiles, NotHonoured
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError, HoldfastError

_NAMED: Final = 5  # files of one folder
MOST_ENTRIES: Final = 10_000  # of directories, in all folders of one look: a hostile project may have millions
READ: Final = 64 * 1024  # bytes of a file, to see whether it sets permissions
_FRONTMATTER: Final = re.compile(r"\A\s*---[^\n]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_RULES: Final = re.compile(r"^[\"']?(permission|tools)[\"']?\s*:", re.MULTILINE)


_CUT: Final = (
    f"The folders of agents, commands, skills, tools and plugins hold more than {MOST_ENTRIES:,} entries: some in "
    "{folder} and in those after it are not named here. None of them has an effect: what an agent's file denies is not "
    "denied."
)


class _Kind(NamedTuple):
    """Files of a kind: the folders that they lie in, how their names end, and whether they may lie deeper."""

    name: str
    folders: tuple[str, ...]
    endings: tuple[str, ...]
    deep: bool = True


_AGENTS: Final = "agent"
_SKILLS: Final = _Kind("skill", ("skill", "skills"), ("SKILL.md",))
_KINDS: Final = (
    _Kind(_AGENTS, ("agent", "agents"), (".md",)),
    _Kind(_AGENTS, ("mode", "modes"), (".md",), deep=False),
    _Kind("command", ("command", "commands"), (".md",)),
    _Kind("tool", ("tool", "tools"), (".js", ".ts"), deep=False),
    _Kind("plugin", ("plugin", "plugins"), (".js", ".ts"), deep=False),
    _SKILLS,
)


def ignored_files(place: Place, sources: ConfigSources) -> tuple[tuple[IgnoredFiles, ...], tuple[str, ...]]:
    """The files of the configuration folders that have no effect, folder by folder; and a warning where some of them
    may not be among these."""
    look = _Look()
    found = tuple(_found(look, place, sources))
    return found, () if look.cut is None else (_CUT.format(folder=look.cut),)


def _found(look: "_Look", place: Place, sources: ConfigSources) -> Iterator[IgnoredFiles]:
    own = [folder for folder, _ in own_folders(place, sources)]
    for folder in dict.fromkeys([*own, *project_folders(place, sources)]):
        for kind in _KINDS:
            yield from look.of_kind(kind, (folder / name for name in kind.folders))
    others = [".agents"] if sources.disable_claude_code else [".claude", ".agents"]
    above = [place.home, *(() if sources.disable_project_config else levels(place))]
    yield from look.of_kind(_SKILLS, (each / other / "skills" for each in dict.fromkeys(above) for other in others))


def organisations(place: Place) -> Iterator[NotHonoured]:
    """The organisations whose configuration OpenCode would fetch. Of its file nothing but their addresses is used."""
    file = place.home / ".local" / "share" / "opencode" / "auth.json"
    try:
        entries = json.loads(read_text(file) or "{}")
    except (ConfigError, ValueError):
        return
    for address, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and entry.get("type") == "wellknown":
            yield NotHonoured(file=str(file), field=f"{address}/.well-known/opencode")


class _Look:
    """Looks into folders, up to a number of entries in all; `cut` is the first one that was not looked through."""

    def __init__(self) -> None:
        self.left = MOST_ENTRIES
        self.cut: Path | None = None

    def of_kind(self, kind: _Kind, folders: Iterable[Path]) -> Iterator[IgnoredFiles]:
        for folder in folders:
            found = sorted(self.files(folder, kind))
            if found:
                yield IgnoredFiles(
                    kind=kind.name,
                    folder=str(folder),
                    names=tuple(str(path.relative_to(folder)) for path in found[:_NAMED]),
                    count=len(found),
                    ruled=tuple(
                        str(path.relative_to(folder)) for path in found if kind.name == _AGENTS and _rules(path)
                    ),
                )

    def files(self, folder: Path, kind: _Kind) -> Iterator[Path]:
        """The files of a kind below a folder, through links to directories, too, as OpenCode finds them.

        Each directory is entered once: links to one another would multiply with each level.
        """
        known: set[tuple[int, int]] = set()
        todo = [folder]
        while todo:
            with suppress(OSError):  # not there, no directory, not ours to read
                directories = []
                for entry in self.entries(todo.pop(), known):
                    if is_directory(Path(entry.path)):
                        directories.append(Path(entry.path))
                    elif entry.name.endswith(kind.endings):
                        yield Path(entry.path)
                todo += reversed(directories) if kind.deep else []

    def entries(self, folder: Path, known: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
        """The entries of a directory that is not `known` by device and inode, links behind the others."""
        status = folder.stat()
        if (status.st_dev, status.st_ino) in known:
            return []
        known.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as scanned:
            entries = [*islice(scanned, self.left + 1)]
        if len(entries) > self.left:
            self.cut = self.cut or folder
        entries = entries[: self.left]
        self.left -= len(entries)
        return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))


def _rules(path: Path) -> bool:
    """Whether an agent's file says what the agent may do."""
    try:
        with open_file(path.resolve()) as file:
            content = file.read(READ + 1)
    except (HoldfastError, OSError, RuntimeError):
        return False
    text = content[:READ].decode("utf-8-sig", "replace")
    head = _FRONTMATTER.search(text)
    if head is None:
        return len(content) > READ and text.lstrip().startswith("---")  # which does not end here
    return _RULES.search(head[1]) is not None
