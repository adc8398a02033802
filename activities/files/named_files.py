"""Which files and agents a prompt names: as parts, or with `@` in its text (opencode.md 4.6)."""

import re
from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import JsonValue

from activities.files.locate import PathKind, locate
from activities.files.workspace import Workspace
from workflows.domain.errors import ToolError
from workflows.domain.file_references import SENTENCE_ENDS, FileReference, parse_lines
from workflows.domain.mentions import mentioned_names
from workflows.domain.messages import AgentPart, FilePart
from workflows.domain.prompt import PromptContent
from workflows.domain.value import Value

MAX_FILES: Final = 50  # of a prompt; what its text names besides stays text
_LINE: Final = re.compile(r"\d{1,9}")
_NO_NAMES: Final = frozenset({".", "..", "/", "~"})  # alone, in prose


class NamedFile(Value):
    """`place`: of the reference (`PromptContent.references`); `arguments`: of a call of `read`."""

    place: int
    arguments: dict[str, JsonValue]


class ResolvedReferences(Value):
    """What a prompt's references are."""

    files: tuple[NamedFile, ...] = ()
    agents: tuple[str, ...] = ()


def resolve_references(content: PromptContent, workspace: Workspace, agents: Collection[str]) -> ResolvedReferences:
    """A reference to a file that exists is not one to an agent. Blocks as `find_named_files` does."""
    files = find_named_files(content, workspace)
    names = mentioned_names(content, [each.place for each in files])
    return ResolvedReferences(files=files, agents=tuple(name for name in names if name in agents))


def find_named_files(content: PromptContent, workspace: Workspace) -> tuple[NamedFile, ...]:
    """Each file once, in order. A part always names a file; an `@` in prose does only if the file exists.

    Blocks; looks at what is there, and reads nothing.
    """
    found: list[NamedFile] = []
    for place, reference in content.references.items():
        named = _arguments(reference, workspace)
        if named is not None and named not in [each.arguments for each in found]:
            found.append(NamedFile(place=place, arguments=named))
        if len(found) == MAX_FILES:
            break
    return tuple(found)


def path_of_url(url: str) -> str | None:
    """None for one that names no file of this machine by its whole path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = unquote(parts.path)
    return path if parts.netloc in ("", "localhost") and path.startswith("/") else None


def _arguments(reference: FilePart | AgentPart | FileReference, workspace: Workspace) -> dict[str, JsonValue] | None:
    match reference:
        case FilePart(url=url):
            return _of_url(url)
        case FileReference(path=path):
            return _find(path, workspace)
    return None


def _of_url(url: str) -> dict[str, JsonValue] | None:
    """`?start=10&end=20` are lines (opencode.md 4.6)."""
    path = path_of_url(url)
    if path is None:
        return None
    query = parse_qs(urlsplit(url).query)
    asked = {name: int(values[0]) for name, values in query.items() if _LINE.fullmatch(values[0])}
    named: dict[str, JsonValue] = {"filePath": path}
    if "start" in asked:
        named["offset"] = first = max(asked["start"], 1)
        if "end" in asked:
            named["limit"] = max(asked["end"] - first, 0) + 1
    return named


def _find(reference: str, workspace: Workspace) -> dict[str, JsonValue] | None:
    for written in dict.fromkeys((reference, reference.rstrip(SENTENCE_ENDS))):
        lines = parse_lines(written)
        for named, of_it in ((written, None), (lines.path if lines else "", lines)):
            path = next(_existing(named, workspace), None)
            if path is not None and of_it is not None:
                return {"filePath": path, "offset": of_it.first, "limit": of_it.last - of_it.first + 1}
            if path is not None:
                return {"filePath": path}
    return None


def _existing(named: str, workspace: Workspace) -> Iterator[str]:
    """In the session's directory, else in the work tree's root; `~/` is the person's home."""
    if named in _NO_NAMES or not named:
        return
    if named.startswith("~/"):
        tried = [str(workspace.home / named[2:])]
    else:
        tried = [named] if workspace.root == workspace.directory else [named, str(workspace.root / named)]
    for path in tried:
        try:
            kind = locate(path, workspace).kind
        except ToolError:
            continue
        if kind in (PathKind.FILE, PathKind.DIRECTORY):
            yield path
