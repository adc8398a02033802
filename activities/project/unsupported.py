"""Files in OpenCode's folders that have no effect yet."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import is_directory
from activities.files.safe_open import open_file
from activities.files.workspace import Workspace
from activities.project.config_files import directories_to_root, project_config_folders, user_config_folders
from activities.project.jsonc import read_text
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import IgnoredFiles, UnsupportedField
from workflows.domain.errors import ConfigError, HoldfastError

_MAX_NAMED: Final = 5  # files of one folder
MAX_ENTRIES: Final = 10_000  # read in all folders of one scan: a hostile project may have millions
MAX_READ_BYTES: Final = 64 * 1024  # of a file, to find whether it sets permissions
_FRONTMATTER: Final = re.compile(r"\A\s*---[^\n]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_RULES: Final = re.compile(r"^[\"']?(permission|tools)[\"']?\s*:", re.MULTILINE)


_CUT_WARNING: Final = (
    f"The folders of agents, commands, skills, tools and plugins hold more than {MAX_ENTRIES:,} entries: some in "
    "{folder} and in those after it are not named here. None of them has an effect: what an agent's file denies is not "
    "denied."
)


class _FileKind(NamedTuple):
    name: str
    folders: tuple[str, ...]
    endings: tuple[str, ...]
    deep: bool = True


_AGENTS: Final = "agent"
_SKILLS: Final = _FileKind("skill", ("skill", "skills"), ("SKILL.md",))
_KINDS: Final = (
    _FileKind(_AGENTS, ("agent", "agents"), (".md",)),
    _FileKind(_AGENTS, ("mode", "modes"), (".md",), deep=False),
    _FileKind("command", ("command", "commands"), (".md",)),
    _FileKind("tool", ("tool", "tools"), (".js", ".ts"), deep=False),
    _FileKind("plugin", ("plugin", "plugins"), (".js", ".ts"), deep=False),
    _SKILLS,
)


def ignored_files(workspace: Workspace, sources: ConfigSources) -> tuple[tuple[IgnoredFiles, ...], tuple[str, ...]]:
    """Folder by folder, with a warning if the scan was cut."""
    scan = _FolderScan()
    found = tuple(_find_ignored(scan, workspace, sources))
    return found, () if scan.first_unread is None else (_CUT_WARNING.format(folder=scan.first_unread),)


def _find_ignored(scan: "_FolderScan", workspace: Workspace, sources: ConfigSources) -> Iterator[IgnoredFiles]:
    own = [folder for folder, _ in user_config_folders(workspace, sources)]
    for folder in dict.fromkeys([*own, *project_config_folders(workspace, sources)]):
        for kind in _KINDS:
            yield from scan.find_kind(kind, (folder / name for name in kind.folders))
    others = [".agents"] if sources.disable_claude_code else [".claude", ".agents"]
    above = [workspace.home, *(() if sources.disable_project_config else directories_to_root(workspace))]
    yield from scan.find_kind(_SKILLS, (each / other / "skills" for each in dict.fromkeys(above) for other in others))


def unfetched_organisations(workspace: Workspace) -> Iterator[UnsupportedField]:
    """The organisations whose configuration OpenCode would fetch. Only their URLs are read from its file."""
    file = workspace.home / ".local" / "share" / "opencode" / "auth.json"
    try:
        entries = json.loads(read_text(file) or "{}")
    except (ConfigError, ValueError):
        return
    for address, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and entry.get("type") == "wellknown":
            yield UnsupportedField(file=str(file), field=f"{address}/.well-known/opencode")


class _FolderScan:
    """`first_unread`: the first folder beyond the limit of entries."""

    def __init__(self) -> None:
        self.remaining = MAX_ENTRIES
        self.first_unread: Path | None = None

    def find_kind(self, kind: _FileKind, folders: Iterable[Path]) -> Iterator[IgnoredFiles]:
        for folder in folders:
            found = sorted(self.files(folder, kind))
            if found:
                yield IgnoredFiles(
                    kind=kind.name,
                    folder=str(folder),
                    names=tuple(str(path.relative_to(folder)) for path in found[:_MAX_NAMED]),
                    count=len(found),
                    with_rules=tuple(
                        str(path.relative_to(folder))
                        for path in found
                        if kind.name == _AGENTS and _sets_permissions(path)
                    ),
                )

    def files(self, folder: Path, kind: _FileKind) -> Iterator[Path]:
        """Through links to directories too, as in OpenCode."""
        # Each directory is entered once: links to one another would multiply with each level.
        visited: set[tuple[int, int]] = set()
        todo = [folder]
        while todo:
            with suppress(OSError):  # missing, no directory, or not readable
                directories = []
                for entry in self.entries(todo.pop(), visited):
                    if is_directory(Path(entry.path)):
                        directories.append(Path(entry.path))
                    elif entry.name.endswith(kind.endings):
                        yield Path(entry.path)
                todo += reversed(directories) if kind.deep else []

    def entries(self, folder: Path, visited: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
        """Links last; none when the directory is in `visited` (device, inode)."""
        status = folder.stat()
        if (status.st_dev, status.st_ino) in visited:
            return []
        visited.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as scanned:
            entries = [*islice(scanned, self.remaining + 1)]
        if len(entries) > self.remaining:
            self.first_unread = self.first_unread or folder
        entries = entries[: self.remaining]
        self.remaining -= len(entries)
        return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))


def _sets_permissions(path: Path) -> bool:
    try:
        with open_file(path.resolve()) as file:
            content = file.read(MAX_READ_BYTES + 1)
    except (HoldfastError, OSError, RuntimeError):
        return False
    text = content[:MAX_READ_BYTES].decode("utf-8-sig", "replace")
    head = _FRONTMATTER.search(text)
    if head is None:
        return len(content) > MAX_READ_BYTES and text.lstrip().startswith("---")  # the frontmatter is cut
    return _RULES.search(head[1]) is not None
