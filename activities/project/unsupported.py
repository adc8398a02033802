"""Files in OpenCode's folders that have no effect yet."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.workspace import Workspace
from activities.project.config_files import project_config_folders, user_config_folders
from activities.project.folder_scan import MAX_ENTRIES, FolderScan
from activities.project.markdown_text import shown_path
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.turn_config import IgnoredFiles

_ENDINGS: Final = (".js", ".ts")
_MAX_NAMED: Final = 5  # files of one folder

_CUT_WARNING: Final = (
    f"The folders of tools and plugins hold more than {MAX_ENTRIES:,} entries: some in {{folder}} "
    "and in those after it are not named here. None of them has an effect."
)


class _FileKind(NamedTuple):
    name: str
    folders: tuple[str, ...]


_KINDS: Final = (
    _FileKind("tool", ("tool", "tools")),
    _FileKind("plugin", ("plugin", "plugins")),
)


def ignored_files(workspace: Workspace, sources: ConfigSources) -> tuple[tuple[IgnoredFiles, ...], tuple[str, ...]]:
    """Folder by folder, with a warning if the scan was cut."""
    scan = FolderScan()
    found = tuple(_find_ignored(scan, workspace, sources))
    return found, () if scan.first_unread is None else (_CUT_WARNING.format(folder=scan.first_unread),)


def _find_ignored(scan: FolderScan, workspace: Workspace, sources: ConfigSources) -> Iterator[IgnoredFiles]:
    own = [folder for folder, _ in user_config_folders(workspace, sources)]
    for folder in dict.fromkeys([*own, *project_config_folders(workspace, sources)]):
        for kind in _KINDS:
            yield from _find_kind(scan, kind, (folder / name for name in kind.folders))


def _find_kind(scan: FolderScan, kind: _FileKind, folders: Iterable[Path]) -> Iterator[IgnoredFiles]:
    for folder in folders:
        found = sorted(scan.files(folder, _ENDINGS, deep=False))
        if found:
            names = tuple(shown_path(path.relative_to(folder)) for path in found[:_MAX_NAMED])
            yield IgnoredFiles(kind=kind.name, folder=str(folder), names=names, count=len(found))
