"""Skills: files named SKILL.md, with a name and a description before their text (opencode.md 9)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import is_directory, real_path
from activities.files.workspace import Workspace
from activities.project import frontmatter
from activities.project.config_checks import field_error
from activities.project.config_files import directories_to_root, project_config_folders, user_config_folders
from activities.project.folder_scan import MAX_ENTRIES, FolderScan
from activities.project.markdown_text import UNUSABLE_NAME, read_text, shown_path
from activities.web.remote_copies import RemoteSource, describe_problem, read_copy
from workflows.domain.config.config import SkillSettings
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import NOTHING, TrustContent, TrustItem
from workflows.domain.description_limits import MAX_DESCRIPTION_CHARS, shorten_description
from workflows.domain.errors import ConfigError
from workflows.domain.permissions import paths, permission_keys
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.skills import Skill, is_skill_name

FILE_NAME: Final = "SKILL.md"
MAX_SKILL_FILES: Final = 300  # of the user, and as many of the project: each turn reads them
_MAX_WARNINGS: Final = 20
_PATTERN_CHARACTERS: Final = frozenset("*?\\")  # a folder whose name has one is no pattern


class SkillText(NamedTuple):
    name: str
    description: str | None
    body: str


class SkillFolder(NamedTuple):
    path: Path
    trusted: bool


class ConfiguredFolders(NamedTuple):
    """The folders of `skills.paths`. `items`: entries of a project's files that lead out of it, and are not
    accepted."""

    folders: tuple[SkillFolder, ...]
    items: tuple[TrustItem, ...]
    warnings: tuple[str, ...]


@dataclass
class FoundSkills:
    """Skills by name; the files that are left out, and why; what a worker has to fetch."""

    skills: dict[str, Skill] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    wanted: list[RemoteSource] = field(default_factory=list)

    def sorted(self) -> tuple[Skill, ...]:
        return tuple(self.skills[name] for name in sorted(self.skills))


def find_skills(
    workspace: Workspace,
    layers: Iterable[ConfigLayer],
    configured: ConfiguredFolders,
    sources: ConfigSources,
    may_fetch: Callable[[str], bool],
) -> FoundSkills:
    """The skills of a directory. Of two with one name, that of the later folder is used. `layers` name addresses."""
    found = FoundSkills(warnings=[*configured.warnings])
    scans = {trusted: FolderScan() for trusted in (True, False)}  # a project's folders do not use up the user's
    known: dict[Path, bool] = {}
    remote = _remote_folders(workspace, layers, may_fetch, found)
    for folder, trusted in chain(_folders(workspace, sources), configured.folders, remote):
        for path in sorted(scans[trusted].files(folder, (FILE_NAME,), deep=True)):
            if path.name == FILE_NAME and path not in known:
                known[path] = trusted
                if sum(each is trusted for each in known.values()) <= MAX_SKILL_FILES:
                    _add(path, trusted, workspace, found)
    if (more := len(found.warnings) - _MAX_WARNINGS) > 0:
        found.warnings[_MAX_WARNINGS:] = [f"{more} more of this kind about skills are not shown."]
    found.warnings += _limits(scans.values(), known)
    return found


def read_skill(path: Path, within: Path | None) -> SkillText:
    """`within`: where a link in a foreign repository may lead. Raises ConfigError with the file."""
    file = Path(shown_path(path))
    found = frontmatter.parse(read_text(path, within), file)
    name, description = found.fields.get("name"), found.fields.get("description")
    if name is None:
        raise ConfigError(f"{file}: it has no field 'name', and is no skill without it.")
    if not isinstance(name, str) or not is_skill_name(name):
        allowed = "a skill's name has 1 to 100 letters, digits, blanks, and . : / @ + - _"
        raise field_error(file, ("name",), allowed)
    if not isinstance(description, str | None):
        raise field_error(file, ("description",), "it is a text")
    return SkillText(name, " ".join((description or "").split()) or None, found.body)


def skill_rules(skills: Iterable[Skill], workspace: Workspace) -> Iterator[Rule]:
    """The folders of the user's own are read without a question, and changed only with one."""
    folders = dict.fromkeys(real_path(Path(skill.file).parent) for skill in skills if skill.trusted)
    for folder in folders:
        outside = paths.is_outside(folder, workspace.directory, workspace.worktree)
        wide = paths.ungrantable_patterns([folder], directory=workspace.directory, home=workspace.home)
        odd = _PATTERN_CHARACTERS.intersection(str(folder)) or shown_path(folder) != str(folder)
        if outside and not wide and not odd:
            pattern, relative = paths.external_pattern(folder), workspace.relative(folder)
            yield Rule(permission=permission_keys.EXTERNAL_DIRECTORY, pattern=pattern, action=Action.ALLOW)
            yield Rule(permission=permission_keys.EDIT, pattern=f"{relative}/*", action=Action.ASK)


def _add(path: Path, trusted: bool, workspace: Workspace, found: FoundSkills) -> None:
    try:
        name, description, _ = read_skill(path, None if trusted else workspace.root)
        if shown_path(path) != str(path):
            raise ConfigError(f"{shown_path(path)}: {UNUSABLE_NAME}.")
        before = found.skills.get(name)
        is_copy = before is not None and read_text(Path(before.file), None) == read_text(path, None)
    except ConfigError as error:
        found.warnings.append(str(error))
        return
    if description is not None and len(description) > MAX_DESCRIPTION_CHARS:
        found.warnings.append(f"{path}: only {MAX_DESCRIPTION_CHARS:,} characters of the description are used.")
        description = shorten_description(description)
    if before is not None and not is_copy:
        found.warnings.append(f"{before.file}: this skill is not used: {path} has the name {name!r}, too, and wins.")
    found.skills[name] = Skill(name=name, description=description, file=str(path), trusted=trusted)


def _folders(workspace: Workspace, sources: ConfigSources) -> Iterator[SkillFolder]:
    """The folders of skills; later ones win."""
    claude = not (sources.disable_claude_code or sources.disable_claude_code_skills)
    others = () if sources.disable_external_skills else (*((".claude",) if claude else ()), ".agents")
    above = () if sources.disable_project_config else directories_to_root(workspace)
    yield from (SkillFolder(workspace.home / other / "skills", True) for other in others)
    for folder in above:
        if folder != workspace.home:
            yield from (SkillFolder(folder / other / "skills", False) for other in others)
    own, *more = (SkillFolder(*each) for each in user_config_folders(workspace, sources))
    project = (SkillFolder(each, False) for each in project_config_folders(workspace, sources))
    known = {each.path for each in (own, *more)}
    for each in (own, *(each for each in project if each.path not in known), *more):
        yield from (SkillFolder(each.path / name, each.trusted) for name in ("skill", "skills"))


def _settings(layer: ConfigLayer) -> SkillSettings:
    return SkillSettings.model_validate(layer.tree.get("skills", {}))


def configured_folders(
    workspace: Workspace, layers: Iterable[ConfigLayer], accepted: TrustContent = NOTHING
) -> ConfiguredFolders:
    """Where each entry leads is looked up once: what is judged is what is read."""
    folders, items, warnings = list[SkillFolder](), list[TrustItem](), list[str]()
    for layer, entry in ((each, entry) for each in layers for entry in _settings(each).paths):
        existing = [each for each in _candidates(entry, workspace) if is_directory(each)]
        outside = [each for each in existing if not each.is_relative_to(workspace.root)]
        if outside and not layer.trusted:
            leads = ", ".join(map(str, outside))
            value = entry if leads == entry else f"{entry} ({leads})"
            item = TrustItem(file=layer.file, path=("skills", "paths", entry), value=value)
            if accepted.find(item) is None:
                items.append(item)
                continue
        if not existing:
            warnings.append(f"{layer.file}: 'skills.paths' names {entry!r}: there is no such folder.")
        folders += (SkillFolder(each, each in outside) for each in existing)
    return ConfiguredFolders(tuple(folders), tuple(items), tuple(warnings))


def _candidates(entry: str, workspace: Workspace) -> list[Path]:
    """Relative paths are searched upwards, as those of instructions are."""
    path = workspace.home / entry[2:] if entry.startswith("~/") else Path(entry)
    bases = directories_to_root(workspace) if not path.is_absolute() else (Path("/"),)
    return [real_path(base / path) for base in bases]


def _remote_folders(
    workspace: Workspace, layers: Iterable[ConfigLayer], may_fetch: Callable[[str], bool], found: FoundSkills
) -> Iterator[SkillFolder]:
    """The folders of skills from the net that have been fetched."""
    for layer in layers:
        for url in _settings(layer).urls:
            if not may_fetch(url):
                found.warnings.append(f"{layer.file}: {url} is left out: your rules deny webfetch of it.")
                continue
            found.wanted.append(RemoteSource(url=url, skills=True))
            copy = read_copy(workspace.data, url)
            if (problem := describe_problem(url, layer.file, copy)) is not None:
                found.warnings.append(problem)
            yield from (SkillFolder(Path(each.folder), True) for each in (copy.skills if copy else ()))


def _limits(scans: Iterable[FolderScan], known: dict[Path, bool]) -> Iterator[str]:
    for scan in scans:
        if scan.first_unread is not None:
            first = shown_path(scan.first_unread)
            yield f"{first}: folders of skills hold more than {MAX_ENTRIES:,} entries: those from here on are not read."
        if scan.unreadable is not None:
            yield f"{shown_path(scan.unreadable)}: this folder of skills cannot be read, or links to nothing."
    for trusted in (True, False):
        files = [path for path, own in known.items() if own is trusted]
        if len(files) > MAX_SKILL_FILES:
            first = shown_path(files[MAX_SKILL_FILES])
            yield f"{first}: only the first {MAX_SKILL_FILES} files of skills are read, and none from this one on."
