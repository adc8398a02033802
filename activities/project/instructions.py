"""A directory's files with instructions for the model (opencode.md 6.4)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import real_path
from activities.files.safe_open import open_file
from activities.files.workspace import Workspace
from activities.project.config_files import directories_to_root, user_config_folders
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustItem, UntrustedField
from workflows.domain.config.turn_config import Instruction
from workflows.domain.errors import ConfigError, ToolError

MAX_INSTRUCTION_BYTES: Final = 64 * 1024  # of one file; the model can read the rest itself
MAX_INSTRUCTION_FILES: Final = 50
_OUTSIDE: Final = "instructions from outside the project are read only from your own configuration"
_MANY: Final = f"only the first {MAX_INSTRUCTION_FILES} files of instructions are read, and none from this one on"


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


def read_instructions(
    workspace: Workspace, layers: Sequence[ConfigLayer], sources: ConfigSources, *, accepted: bool = False
) -> FoundInstructions:
    """The user's, the project's (nearest first), those named in `layers`, each once; `accepted`: the project's may lie
    anywhere."""
    found: dict[tuple[Path, bool], Candidate] = {}
    for named in _candidates(workspace, layers, sources):
        real, candidate = real_path(named.path), named._replace(trusted=True) if accepted else named
        found.setdefault((real, candidate.trusted or real.is_relative_to(workspace.root)), candidate)
    first = [*islice(found.values(), MAX_INSTRUCTION_FILES)]
    outside = {each.path: item for each in first if (item := _outside_item(each, workspace.root)) is not None}
    results = [read_instruction(candidate, workspace.root) for candidate in first if candidate.path not in outside]
    if len(found) > MAX_INSTRUCTION_FILES:
        next_one = [*found.values()][MAX_INSTRUCTION_FILES]
        results.append(UntrustedField(file=next_one.named, field=f"instructions {next_one.path}", why=_MANY))
    instructions = tuple(result for result in results if isinstance(result, Instruction) and result.text)
    ignored = tuple(result for result in results if isinstance(result, UntrustedField))
    return FoundInstructions(instructions, tuple(outside.values()), ignored)


def _candidates(workspace: Workspace, layers: Iterable[ConfigLayer], sources: ConfigSources) -> Iterator[Candidate]:
    folder, *_, named = user_config_folders(workspace, sources)
    agents_folder, trusted = named if sources.directory else folder
    own = [(agents_folder / "AGENTS.md", trusted)]
    own += [(workspace.home / ".claude" / "CLAUDE.md", True)] if _reads_claude(sources) else []
    yield from islice((Candidate(path, known, str(path)) for path, known in own if path.is_file()), 1)
    yield from _project_candidates(directories_to_root(workspace), project_names(sources))
    for layer in layers:
        yield from _candidates_of_layer(layer, workspace)


def project_names(sources: ConfigSources) -> tuple[str, ...]:
    """What a project may call its files; of those in one place, the first counts."""
    if sources.disable_project_config:
        return ()
    return ("AGENTS.md", *(["CLAUDE.md"] if _reads_claude(sources) else []), "CONTEXT.md")


def _reads_claude(sources: ConfigSources) -> bool:
    return not (sources.disable_claude_code or sources.disable_claude_code_prompt)


def _project_candidates(folders: Sequence[Path], names: Iterable[str]) -> Iterator[Candidate]:
    """The files of the first name that exists at any level."""
    files = ([folder / name for folder in folders if (folder / name).is_file()] for name in names)
    for path in next(filter(None, files), []):
        yield Candidate(path, False, str(path))


def _candidates_of_layer(layer: ConfigLayer, workspace: Workspace) -> Iterator[Candidate]:
    """Relative patterns are searched upwards."""
    for entry in _entries(layer):
        if _is_url(entry):
            continue
        path = workspace.home / entry[2:] if entry.startswith("~/") else Path(entry)
        if path.is_absolute() and not (layer.trusted or path.is_relative_to(workspace.root)):
            yield Candidate(path, False, layer.file)
        else:
            hits = islice(
                (hit for hit in _matching(path, workspace, layer) if hit.is_file()), MAX_INSTRUCTION_FILES + 1
            )
            yield from (Candidate(hit, layer.trusted, layer.file) for hit in hits)


def instruction_urls(layer: ConfigLayer) -> Iterator[str]:
    return filter(_is_url, _entries(layer))


def _entries(layer: ConfigLayer) -> Iterator[str]:
    entries = layer.tree.get("instructions")
    return map(str, entries if isinstance(entries, list) else [])


def _is_url(entry: str) -> bool:
    return entry.startswith(("http://", "https://"))


def _matching(pattern: Path, workspace: Workspace, layer: ConfigLayer) -> Iterator[Path]:
    absolute = pattern.is_absolute()
    relative = str(pattern.relative_to("/") if absolute else pattern)
    for folder in (Path("/"),) if absolute else directories_to_root(workspace):
        try:
            yield from sorted(folder.glob(relative))
        except (ValueError, IndexError, OSError) as error:
            raise ConfigError(f"{layer.file}: 'instructions' holds {str(pattern)!r}, no usable pattern.") from error


def _outside_item(candidate: Candidate, root: Path) -> TrustItem | None:
    path, real = candidate.path, real_path(candidate.path)
    if candidate.trusted or real.is_relative_to(root):
        return None
    value = str(path) if real == path else f"{path} ({real})"
    return TrustItem(file=candidate.named, path=("instructions", str(path)), value=value, why=_OUTSIDE)


def read_instruction(
    candidate: Candidate, root: Path, limit: int = MAX_INSTRUCTION_BYTES
) -> Instruction | UntrustedField:
    """Its first bytes, or why it is not read: a link in a hostile repository may point anywhere."""
    path, field = candidate.path, f"instructions {candidate.path}"
    try:
        real = path.resolve()
        if not candidate.trusted and not real.is_relative_to(root):
            return UntrustedField(file=candidate.named, field=field, why=_OUTSIDE)
        with open_file(real) as file:
            content = file.read(limit + 1)
    except (ToolError, OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with a NUL
        return UntrustedField(file=candidate.named, field=field, why=str(error))
    text = content[:limit].decode("utf-8-sig", "replace").strip()
    return Instruction(path=str(path), text=text, complete=len(content) <= limit)
