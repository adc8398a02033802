"""What OpenCode reads from folders and Holdfast does not act on yet: agents, commands, skills, tools, plugins."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.opening import open_file
from activities.files.place import Place
from activities.project.files import levels, own_folders, project_folders
from activities.project.jsonc import read_text
from workflows.domain.config.snapshot import IgnoredFiles, NotHonoured
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError, HoldfastError

_NAMED: Final = 5  # files of one folder
MOST_ENTRIES: Final = 10_000  # of directories, in all folders of one look: a hostile project may have millions
_DEPTH: Final = 5
_READ: Final = 64 * 1024  # bytes of a file, to see whether it sets permissions
_FRONTMATTER: Final = re.compile(r"\A\s*---[^\n]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_RULES: Final = re.compile(r"^[\"']?(permission|tools)[\"']?\s*:", re.MULTILINE)


class _Kind(NamedTuple):
    """Files of a kind: the folders that they lie in, how their names end, and how deep they may lie."""

    name: str
    folders: tuple[str, ...]
    endings: tuple[str, ...]
    depth: int = _DEPTH


_AGENTS: Final = "agent"
_SKILLS: Final = _Kind("skill", ("skill", "skills"), ("SKILL.md",))
_KINDS: Final = (
    _Kind(_AGENTS, ("agent", "agents"), (".md",)),
    _Kind(_AGENTS, ("mode", "modes"), (".md",), depth=1),
    _Kind("command", ("command", "commands"), (".md",)),
    _Kind("tool", ("tool", "tools"), (".js", ".ts"), depth=1),
    _Kind("plugin", ("plugin", "plugins"), (".js", ".ts"), depth=1),
    _SKILLS,
)


def ignored_files(place: Place, sources: ConfigSources) -> Iterator[IgnoredFiles]:
    """The files of the configuration folders that have no effect, folder by folder."""
    left = iter(range(MOST_ENTRIES))
    own = [folder for folder, _ in own_folders(place, sources)]
    for folder in dict.fromkeys([*own, *project_folders(place, sources)]):
        for kind in _KINDS:
            yield from _of_kind(kind, (folder / name for name in kind.folders), left)
    others = [".agents"] if sources.disable_claude_code else [".claude", ".agents"]
    above = [place.home, *(() if sources.disable_project_config else levels(place))]
    yield from _of_kind(_SKILLS, (each / other / "skills" for each in dict.fromkeys(above) for other in others), left)


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


def _of_kind(kind: _Kind, folders: Iterable[Path], left: Iterator[int]) -> Iterator[IgnoredFiles]:
    for folder in folders:
        found = sorted(_files(folder, kind, kind.depth, left, set()))
        if found:
            yield IgnoredFiles(
                kind=kind.name,
                folder=str(folder),
                names=tuple(str(path.relative_to(folder)) for path in found[:_NAMED]),
                count=len(found),
                ruled=tuple(str(path.relative_to(folder)) for path in found if kind.name == _AGENTS and _rules(path)),
            )


def _files(folder: Path, kind: _Kind, depth: int, left: Iterator[int], known: set[tuple[int, int]]) -> Iterator[Path]:
    """The files of a kind below a folder, through links to directories, too, as OpenCode finds them.

    `left` gives out the entries that may still be looked at; `known` are the directories that were entered, by device
    and inode: links to one another would multiply with each level.
    """
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in known:
            return
        known.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as scanned:
            entries = [entry for _, entry in zip(left, scanned, strict=False)]
        for entry in sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name)):
            if entry.is_dir():
                yield from _files(Path(entry.path), kind, depth - 1, left, known) if depth > 1 else ()
            elif entry.name.endswith(kind.endings):
                yield Path(entry.path)
    except OSError:  # not there, no directory, not ours to read
        return


def _rules(path: Path) -> bool:
    """Whether an agent's file says what the agent may do."""
    try:
        with open_file(path.resolve()) as file:
            head = _FRONTMATTER.search(file.read(_READ).decode("utf-8-sig", "replace"))
    except (HoldfastError, OSError, RuntimeError):
        return False
    return head is not None and _RULES.search(head[1]) is not None
