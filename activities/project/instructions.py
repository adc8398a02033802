"""The files with instructions for the model that belong to a directory (opencode.md 6.4)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.opening import open_file
from activities.files.place import Place
from activities.project.files import levels, own_folders
from workflows.domain.config.merge import Layer
from workflows.domain.config.snapshot import Instruction
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import HeldBack
from workflows.domain.errors import ConfigError, ToolError

LIMIT: Final = 64 * 1024  # bytes of one file; the model can read the rest itself
MOST: Final = 50  # files
_OUTSIDE: Final = "instructions from outside the project are read only from your own configuration"
_MANY: Final = f"only the first {MOST} files of instructions are read, and none from this one on"


class Candidate(NamedTuple):
    """A file that may hold instructions; a `trusted` one may lie anywhere. `named` is the file that names it."""

    path: Path
    trusted: bool
    named: str


def read_instructions(
    place: Place, layers: Sequence[Layer], sources: ConfigSources
) -> tuple[tuple[Instruction, ...], tuple[HeldBack, ...]]:
    """The user's own instructions, the project's (nearest first), those named in `layers`; and what is ignored."""
    found = {candidate.path: candidate for candidate in reversed([*_candidates(place, layers, sources)])}
    results = [_read(candidate, place.root) for candidate in islice(reversed(found.values()), MOST)]
    if len(found) > MOST:
        first = [*reversed(found.values())][MOST]
        results.append(HeldBack(file=first.named, field=f"instructions {first.path}", why=_MANY))
    instructions = tuple(result for result in results if isinstance(result, Instruction) and result.text)
    return instructions, tuple(result for result in results if isinstance(result, HeldBack))


def _candidates(place: Place, layers: Iterable[Layer], sources: ConfigSources) -> Iterator[Candidate]:
    claude = not (sources.disable_claude_code or sources.disable_claude_code_prompt)
    folder, *_, named = own_folders(place, sources)
    beside, trusted = named if sources.directory else folder
    own = [(beside / "AGENTS.md", trusted)]
    own += [(place.home / ".claude" / "CLAUDE.md", True)] if claude else []
    yield from islice((Candidate(path, known, str(path)) for path, known in own if path.is_file()), 1)
    if not sources.disable_project_config:
        yield from _of_project(levels(place), ("AGENTS.md", *(["CLAUDE.md"] if claude else []), "CONTEXT.md"))
    for layer in layers:
        yield from _named(layer, place)


def _of_project(folders: Sequence[Path], names: Iterable[str]) -> Iterator[Candidate]:
    """All files of the first name that is found at any level."""
    files = ([folder / name for folder in folders if (folder / name).is_file()] for name in names)
    for path in next(filter(None, files), []):
        yield Candidate(path, False, str(path))


def _named(layer: Layer, place: Place) -> Iterator[Candidate]:
    """What the field `instructions` of one file names: paths, and patterns that are searched upwards."""
    for entry in _entries(layer):
        if _is_address(entry):
            continue
        path = place.home / entry[2:] if entry.startswith("~/") else Path(entry)
        if path.is_absolute() and not (layer.trusted or path.is_relative_to(place.root)):
            yield Candidate(path, False, layer.file)
        else:
            hits = islice((hit for hit in _matching(path, place, layer) if hit.is_file()), MOST + 1)
            yield from (Candidate(hit, layer.trusted, layer.file) for hit in hits)


def addresses(layer: Layer) -> Iterator[str]:
    """The addresses on the net that the field `instructions` of one file names, which are not fetched."""
    return filter(_is_address, _entries(layer))


def _entries(layer: Layer) -> Iterator[str]:
    entries = layer.tree.get("instructions")
    return map(str, entries if isinstance(entries, list) else [])


def _is_address(entry: str) -> bool:
    return entry.startswith(("http://", "https://"))


def _matching(pattern: Path, place: Place, layer: Layer) -> Iterator[Path]:
    absolute = pattern.is_absolute()
    relative = str(pattern.relative_to("/") if absolute else pattern)
    for folder in (Path("/"),) if absolute else levels(place):
        try:
            yield from sorted(folder.glob(relative))
        except (ValueError, IndexError) as error:
            raise ConfigError(f"{layer.file}: 'instructions' holds {str(pattern)!r}, no usable pattern.") from error


def _read(candidate: Candidate, root: Path) -> Instruction | HeldBack | None:
    """The file's text, or why it is ignored: a link of a hostile repository may point at anything."""
    path, field = candidate.path, f"instructions {candidate.path}"
    try:
        real = path.resolve()
        if not candidate.trusted and not real.is_relative_to(root):
            return HeldBack(file=candidate.named, field=field, why=_OUTSIDE)
        with open_file(real) as file:
            content = file.read(LIMIT + 1)
    except (ToolError, OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with a NUL
        return HeldBack(file=candidate.named, field=field, why=str(error))
    text = content[:LIMIT].decode("utf-8-sig", "replace").strip()
    return Instruction(path=str(path), text=text, complete=len(content) <= LIMIT)
