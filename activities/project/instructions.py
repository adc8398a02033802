"""A directory's files with instructions for the model (opencode.md 6.4)."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import real_path
from activities.files.safe_open import failure_reason, open_file
from activities.files.workspace import Workspace
from activities.project.config_files import directories_to_root, user_config_folders
from activities.project.markdown_text import UNUSABLE_NAME, shown_path
from activities.project.pattern_walk import MAX_SECONDS, MAX_STEPS, MAX_WALKED, Matches, PatternWalk, is_within
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import NOTHING, TrustContent, TrustItem, UntrustedField
from workflows.domain.config.turn_config import Instruction
from workflows.domain.errors import ConfigError, ToolError

MAX_INSTRUCTION_BYTES: Final = 64 * 1024  # of one file; the model can read the rest itself
MAX_INSTRUCTION_FILES: Final = 50  # of the user and the administrator, and as many of the project
MAX_PLACES: Final = 20  # outside of the project that a pattern leads to: nobody reads more before they accept it
MAX_IMPORTS: Final = 4  # files that each name the next
_IMPORT: Final = re.compile(r" {0,3}(?:[-*] +)?@(\S+)")
_PATTERN_CHARACTERS: Final = frozenset("*?[")
_OUTSIDE: Final = "instructions from outside the project are read only from your own configuration"
_WIDE: Final = (
    f"only {MAX_WALKED:,} files and folders are looked at for patterns, in {MAX_STEPS:,} steps and {MAX_SECONDS:g} "
    "seconds: files may be missing from this one on"
)
_FURTHER: Final = (
    "a link in an accepted place leads there: name it in `instructions`, too, to have it shown and accepted"
)
_MANY_PLACES: Final = f"{_OUTSIDE}, and this pattern leads to more than {MAX_PLACES} places there"
_MANY: Final = (
    f"only the first {MAX_INSTRUCTION_FILES} files of instructions of your own, and as many of a project, are read, "
    "and none of these from this one on"
)


class Candidate(NamedTuple):
    """A `trusted` file may lie anywhere; `named` is the file that names it."""

    path: Path
    trusted: bool
    named: str


class FoundInstructions(NamedTuple):
    """`items`: what a project's files name outside of it; `ignored`: what cannot be read."""

    instructions: tuple[Instruction, ...]
    items: tuple[TrustItem, ...]
    ignored: tuple[UntrustedField, ...]


@dataclass
class _Search:
    """The files that are named, in their order, those of a project that are to be accepted, and what cannot be read.
    `accepted`: what a project's files may name outside of it."""

    workspace: Workspace
    accepted: TrustContent
    candidates: list[Candidate] = field(default_factory=list)
    items: list[TrustItem] = field(default_factory=list)
    ignored: list[UntrustedField] = field(default_factory=list)

    def add(self, candidates: Iterable[Candidate]) -> None:
        for each in candidates:
            if (shown := shown_path(each.path)) == str(each.path):
                self.candidates.append(each)
            else:
                self.ignore(each.named, shown, UNUSABLE_NAME)

    def add_with_imports(self, candidates: Iterable[Candidate]) -> None:
        """Each before the files that its lines of `@path` name, as Claude Code reads them."""
        known = set[Path]()
        for each in candidates:
            self.add(islice(self._with_imports(each, known), MAX_INSTRUCTION_FILES + 1))

    def _with_imports(self, candidate: Candidate, known: set[Path], depth: int = 0) -> Iterator[Candidate]:
        real = real_path(candidate.path)
        if real in known or len(known) > MAX_INSTRUCTION_FILES:
            return
        known.add(real)
        yield candidate
        found = read_instruction(candidate, self.workspace.root, MAX_INSTRUCTION_BYTES)
        for entry in _imports(found.text) if isinstance(found, Instruction) and depth < MAX_IMPORTS else ():
            path = candidate.path.parent / _path_of(entry, self.workspace.home)
            if path.is_file() or "." in entry:  # else it is the name of a person or package
                below = Candidate(path, candidate.trusted, shown_path(candidate.path))
                yield from self._with_imports(below, known, depth + 1)

    def ignore(self, file: str, entry: Path | str, why: str) -> None:
        self.ignored.append(UntrustedField(file=file, field=f"instructions {entry}", why=why))

    def add_layer(self, layer: ConfigLayer, walk: PatternWalk) -> None:
        """Relative patterns are searched upwards."""
        cut: list[str] = []
        for entry in _entries(layer):
            if _is_url(entry):
                continue
            path = _path_of(entry, self.workspace.home)
            if not layer.trusted and _leads_elsewhere(path, self.workspace.root):
                self.add([Candidate(path, False, layer.file)])
            elif not self._add_pattern(layer, entry, path, walk):
                cut.append(entry)
        if cut:
            self.ignore(layer.file, cut[0], _WIDE)

    def _add_pattern(self, layer: ConfigLayer, entry: str, path: Path, walk: PatternWalk) -> bool:
        """Whether all was looked at. Those of a project leave it only if they are accepted."""
        root = self.workspace.root
        matches = _match(path, self.workspace, layer, walk, None if layer.trusted else [root])
        places = self._accepted_places(layer, entry, _places(matches))
        if places:
            matches = _match(path, self.workspace, layer, walk, [root, *places])
            for place in _places(matches)[:MAX_PLACES]:
                self.ignore(layer.file, shown_path(place), _FURTHER)
        hits = (hit for each in matches for hit in each.files)
        known = (Candidate(hit, layer.trusted or _is_of(places, hit, root), layer.file) for hit in hits)
        self.add(islice(known, MAX_INSTRUCTION_FILES + 1))
        return all(each.complete for each in matches)

    def _accepted_places(self, layer: ConfigLayer, entry: str, places: list[Path]) -> list[Path]:
        """Those outside of the project, where a pattern is accepted with all of them."""
        if len(places) > MAX_PLACES:
            self.ignore(layer.file, entry, _MANY_PLACES)
            return []
        value = f"{entry} ({', '.join(map(shown_path, places))})"
        item = TrustItem(file=layer.file, path=("instructions", entry), value=value)
        if places and self.accepted.find(item) is None:
            self.items.append(item)
            return []
        return places


def read_instructions(
    workspace: Workspace, layers: Sequence[ConfigLayer], sources: ConfigSources, accepted: TrustContent = NOTHING
) -> FoundInstructions:
    """The user's, the project's (nearest first), those named in `layers`, each once. What a project names outside of
    itself is read if it is among the `accepted`, from the very file to which it led when it was compared."""
    search = _Search(workspace, accepted)
    search.add_with_imports(_users_file(workspace, sources))
    search.add_with_imports(_project_candidates(directories_to_root(workspace), project_names(sources)))
    walks = {trusted: PatternWalk() for trusted in (True, False)}  # a project's patterns do not use up the user's
    for layer in layers:
        search.add_layer(layer, walks[layer.trusted])
    foreign = {layer.file for layer in layers if not layer.trusted}
    instructions = []
    for each, real, readable in _first_ones(search, foreign):
        if not readable:
            search.items.append(_outside_item(each, real))
        elif isinstance(found := _read(each, real), UntrustedField):
            search.ignored.append(found)
        elif found.text:
            instructions.append(found)
    return FoundInstructions(tuple(instructions), tuple(search.items), tuple(search.ignored))


def _first_ones(search: _Search, foreign: Collection[str]) -> list[tuple[Candidate, Path, bool]]:
    """Each file once, with where it is and whether it may be read, up to the limits. `foreign`: the files of
    configuration that are not the user's own."""

    def is_own(candidate: Candidate) -> bool:
        return candidate.trusted and candidate.named not in foreign

    found: dict[tuple[Path, bool], Candidate] = {}
    for each in search.candidates:
        real = real_path(each.path)
        inside = each.trusted or real.is_relative_to(search.workspace.root)
        key = real, inside or search.accepted.find(_outside_item(each, real)) is not None
        if key not in found or (is_own(each) and not is_own(found[key])):
            found[key] = each
    beyond = set[tuple[Path, bool]]()
    for own in (True, False):
        more = [key for key, each in found.items() if is_own(each) is own][MAX_INSTRUCTION_FILES:]
        for first in (found[key] for key in more[:1]):
            search.ignore(first.named, first.path, _MANY)
        beyond.update(more)
    return [(each, *key) for key, each in found.items() if key not in beyond]


def _users_file(workspace: Workspace, sources: ConfigSources) -> Iterator[Candidate]:
    """The first that is there."""
    folder, *_, named = user_config_folders(workspace, sources)
    agents_folder, trusted = named if sources.directory else folder
    own = [(agents_folder / "AGENTS.md", trusted)]
    own += [(workspace.home / ".claude" / "CLAUDE.md", True)] if _reads_claude(sources) else []
    return islice((Candidate(path, known, shown_path(path)) for path, known in own if path.is_file()), 1)


def project_names(sources: ConfigSources) -> tuple[str, ...]:
    """What a project may call its files; of those in one place, the first counts."""
    if sources.disable_project_config:
        return ()
    return ("AGENTS.md", *(["CLAUDE.md"] if _reads_claude(sources) else []), "CONTEXT.md")


def _reads_claude(sources: ConfigSources) -> bool:
    return not (sources.disable_claude_code or sources.disable_claude_code_prompt)


def _project_candidates(folders: Sequence[Path], names: Iterable[str]) -> Iterator[Candidate]:
    """The files of the first name that exists at any level; with `CLAUDE.md`, that of `.claude`."""
    places = {name: (name, f".claude/{name}") if name == "CLAUDE.md" else (name,) for name in names}
    paths = ([folder / place for folder in folders for place in each] for each in places.values())
    files = ([path for path in each if path.is_file()] for each in paths)
    for path in next(filter(None, files), []):
        yield Candidate(path, False, shown_path(path))


def _imports(text: str) -> Iterator[str]:
    """What lines of `@path` name, but for those in blocks of code."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (found := _IMPORT.match(line)):
            yield found[1]


def instruction_urls(layer: ConfigLayer) -> Iterator[str]:
    return filter(_is_url, _entries(layer))


def _entries(layer: ConfigLayer) -> Iterator[str]:
    entries = layer.tree.get("instructions")
    return map(str, entries if isinstance(entries, list) else [])


def _path_of(entry: str, home: Path) -> Path:
    if entry.startswith("/"):
        return Path("/", entry.lstrip("/"))  # two slashes at the beginning are another root to Python
    return home / entry[2:] if entry.startswith("~/") else Path(entry)


def _is_url(entry: str) -> bool:
    return entry.startswith(("http://", "https://"))


def _leads_elsewhere(path: Path, root: Path) -> bool:
    return path.is_absolute() and not path.is_relative_to(root) and _PATTERN_CHARACTERS.isdisjoint(str(path))


def _is_of(places: Sequence[Path], path: Path, root: Path) -> bool:
    """Whether the file is in one of them, or its link is, which is then none of the project's."""
    folder = real_path(path.parent)
    return is_within(real_path(path), places) or (is_within(folder, places) and not folder.is_relative_to(root))


def _places(matches: Iterable[Matches]) -> list[Path]:
    return sorted({place for each in matches for place in each.outside})


def _match(
    pattern: Path, workspace: Workspace, layer: ConfigLayer, walk: PatternWalk, within: Collection[Path] | None
) -> list[Matches]:
    """One for each folder that the pattern is looked for in. Raises ConfigError."""
    folders, parts = directories_to_root(workspace), pattern.parts
    if pattern.is_absolute():
        top = workspace.root if pattern.is_relative_to(workspace.root) else Path("/")
        folders, parts = (top,), pattern.relative_to(top).parts
    try:
        return [walk.match(folder, parts, within) for folder in folders]
    except (ValueError, IndexError, OSError) as error:
        raise ConfigError(f"{layer.file}: 'instructions' holds {str(pattern)!r}, no usable pattern.") from error


def _outside_item(candidate: Candidate, real: Path) -> TrustItem:
    path = candidate.path
    value = str(path) if real == path else f"{path} ({shown_path(real)})"
    return TrustItem(file=candidate.named, path=("instructions", str(path)), value=value)


def read_instruction(candidate: Candidate, root: Path, limit: int) -> Instruction | UntrustedField:
    """Its first bytes, or why it is not read: a link in a hostile repository may point anywhere."""
    real = real_path(candidate.path)
    if candidate.trusted or real.is_relative_to(root):
        return _read(candidate, real, limit)
    return UntrustedField(file=candidate.named, field=f"instructions {candidate.path}", why=_OUTSIDE)


def _read(candidate: Candidate, real: Path, limit: int = MAX_INSTRUCTION_BYTES) -> Instruction | UntrustedField:
    try:
        with open_file(real) as file:
            content = file.read(limit + 1)
    except (ToolError, OSError, ValueError) as error:  # a loop of links, a name with a NUL
        why = failure_reason(error)
        return UntrustedField(file=candidate.named, field=f"instructions {candidate.path}", why=why)
    text = content[:limit].decode("utf-8-sig", "replace").strip()
    return Instruction(path=str(candidate.path), text=text, complete=len(content) <= limit)
