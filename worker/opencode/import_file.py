"""A file that OpenCode or Holdfast has exported: read and checked before anything is written."""

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn, TypeVar

from pydantic import ConfigDict, Field, JsonValue, ValidationError

from worker.file_check import prepare_files
from worker.opencode.shapes import Shape
from workflows.domain.errors import UsageError
from workflows.domain.ids import Prefix, is_id
from workflows.domain.messages import DATA_URL, FilePart

MAX_BYTES: Final = 256 * 2**20
MAX_MESSAGES: Final = 100_000
_DEEPEST: Final = 100  # objects and lists in each other
_LATEST: Final = 253_402_300_799_000  # milliseconds: the end of the year 9999
F = TypeVar("F", bound="Foreign")
ForeignId = Annotated[str, Field(max_length=200)]
Milliseconds = Annotated[float, Field(ge=0, le=_LATEST)]


class Foreign(Shape):
    """What we read of an object."""

    model_config = ConfigDict(extra="ignore")


class ForeignTimes(Foreign):
    created: Milliseconds
    completed: Milliseconds | None = None


class ForeignInfo(Foreign):
    id: ForeignId
    title: str  # may hold half of a character, where OpenCode has cut it
    directory: str = ""


class ForeignModel(Foreign):
    provider_id: str
    model_id: str
    variant: str | None = None


class ForeignCache(Foreign):
    read: float = 0
    write: float = 0


class ForeignTokens(Foreign):
    total: float | None = None
    input: float = 0
    output: float = 0
    reasoning: float = 0
    cache: ForeignCache = ForeignCache()


class ForeignError(Foreign):
    name: str = ""
    data: dict[str, JsonValue] = {}


class ForeignMessageInfo(Foreign):
    id: ForeignId
    session_id: ForeignId
    role: Literal["user", "assistant"]
    time: ForeignTimes
    agent: str | None = None
    model: ForeignModel | None = None
    system: str | None = None
    tools: dict[str, bool] | None = None
    parent_id: str | None = None
    provider_id: str | None = None
    model_id: str | None = None
    variant: str | None = None
    cost: float = 0
    tokens: ForeignTokens = ForeignTokens()
    finish: str | None = None
    summary: JsonValue = None
    error: ForeignError | None = None


class ForeignSpan(Foreign):
    start: Milliseconds | None = None
    end: Milliseconds | None = None


class ForeignState(Foreign):
    status: Literal["pending", "running", "completed", "error"]
    input: dict[str, JsonValue] = {}
    output: str = ""
    error: str = ""
    title: str = ""
    metadata: dict[str, JsonValue] = {}
    time: ForeignSpan = ForeignSpan()


class ForeignPart(Foreign):
    """A part of any type."""

    id: ForeignId
    session_id: ForeignId
    message_id: ForeignId
    type: str


class ForeignText(Foreign):
    text: str
    ignored: bool | None = None
    metadata: JsonValue = None

    @property
    def phase(self) -> str | None:
        """As in `TextPart`."""
        match self.metadata:
            case {"openai": {"phase": str(phase)}}:
                return phase
            case _:
                return None


class ForeignTool(Foreign):
    call_id: ForeignId
    tool: str
    state: ForeignState


class ForeignFile(Foreign):
    mime: str
    url: str
    filename: str | None = None


class ForeignCompaction(Foreign):
    tail_start_id: str | None = None


PART_CONTENTS: Final[dict[str, type[Foreign]]] = {
    "text": ForeignText,
    "reasoning": ForeignText,
    "tool": ForeignTool,
    "file": ForeignFile,
    "compaction": ForeignCompaction,
}


@dataclass(frozen=True)
class FileMessagePart:
    """A part, what we read of its type, if we know that, and the `file` that it contains, as models take it."""

    body: dict[str, Any]
    part: ForeignPart
    content: Foreign | None
    file: FilePart | None


@dataclass(frozen=True)
class FileMessage:
    """`body`: its `info`, as it stands in the file."""

    body: dict[str, Any]
    info: ForeignMessageInfo
    parts: tuple[FileMessagePart, ...]


@dataclass(frozen=True)
class ImportFile:
    """`body`: the session's own object, as it stands in the file."""

    digest: str
    body: dict[str, Any]
    info: ForeignInfo
    messages: tuple[FileMessage, ...]

    @property
    def ids(self) -> list[str]:
        """All ids that the import needs, and that must be free here."""
        parts = (each.part.id for message in self.messages for each in message.parts)
        return [self.info.id, *(message.info.id for message in self.messages), *parts]

    @property
    def regular(self) -> bool:
        """Whether all ids have our form."""
        kinds = {Prefix.SESSION: [self.info.id], Prefix.MESSAGE: [message.info.id for message in self.messages]}
        kinds[Prefix.PART] = [each.part.id for message in self.messages for each in message.parts]
        return all(is_id(prefix, id) for prefix, ids in kinds.items() for id in ids)


def read_import(path: Path) -> ImportFile:
    """Raises UsageError for what is no export, says where it is wrong."""
    data = _read(path)
    try:
        text = data.decode("utf-8-sig")  # PowerShell writes its mark
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_finite_integer)
    except RecursionError:
        raise _refusal(path, "it is nested too deeply") from None
    except ValueError as error:
        raise _refusal(path, f"it is no JSON ({error})") from error
    if _too_deep(document):
        raise _refusal(path, "it is nested too deeply")
    try:
        return _checked(document, hashlib.sha256(data).hexdigest())
    except _Wrong as wrong:
        raise _refusal(path, str(wrong)) from wrong


class _Wrong(ValueError):
    pass


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise _refusal(path, f"it is larger than {MAX_BYTES // 2**20} MB")
    return data


def _refusal(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{str(path)!r} is no export that can be imported: {why}. `opencode export` and `holdfast export` write such "
        "files. Nothing was imported."
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits:.20}… is too large")
    return number


def _finite_integer(digits: str) -> int:
    _finite(digits)  # exports add to it
    return int(digits)


def _too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
    return bool(level)


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _checked(document: Any, digest: str) -> ImportFile:
    match document:
        case {"info": dict(info), "messages": list(messages)}:
            pass
        case _:
            raise _Wrong("it has to be an object with `info` and a list `messages`")
    if len(messages) > MAX_MESSAGES:
        raise _Wrong(f"it has more than {MAX_MESSAGES:,} messages")
    checked = tuple(_message(body, f"messages[{number}]") for number, body in enumerate(messages))
    found = ImportFile(digest, info, _parsed(ForeignInfo, info, "info"), checked)
    _check_relations(found)
    return found


def _message(body: Any, where: str) -> FileMessage:
    match body:
        case {"info": dict(info), "parts": list(parts)}:
            checked = [_part(f"{where}.parts[{number}]", part) for number, part in enumerate(parts)]
            return FileMessage(info, _parsed(ForeignMessageInfo, info, f"{where}.info"), tuple(checked))
    raise _Wrong(f"{where} has to be an object with `info` and a list `parts`")


def _part(where: str, body: Any) -> FileMessagePart:
    part = _parsed(ForeignPart, body, where)
    kind = PART_CONTENTS.get(part.type)
    content = _parsed(kind, body, where) if kind else None
    return FileMessagePart(body, part, content, _contained(content))


def _contained(content: Foreign | None) -> FilePart | None:
    if isinstance(content, ForeignFile) and content.url.startswith(DATA_URL):
        with suppress(UsageError):  # it is kept as a note
            for file in prepare_files([FilePart(**content.model_dump(by_alias=False))]):
                return file if isinstance(file, FilePart) else None
    return None


def _parsed(kind: type[F], body: Any, where: str) -> F:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _Wrong(f"{'.'.join(map(str, (where, *first['loc'])))}: {first['msg']}") from error


def _check_relations(found: ImportFile) -> None:
    """Ids that stand twice, parts of other messages, answers to themselves or to what comes later."""
    seen: set[str] = set()
    for id in found.ids:
        if id in seen:
            raise _Wrong(f"the id {id!r} stands twice in it")
        seen.add(id)
    later = {message.info.id for message in found.messages}
    for message in found.messages:
        info = message.info
        if info.role == "assistant" and info.parent_id in later:
            raise _Wrong(f"message {info.id!r} answers {info.parent_id!r}, which is not before it")
        later.discard(info.id)
        for what, session in _owners(message):
            if session != found.info.id:
                raise _Wrong(f"{what} belongs to the session {session!r}, not to {found.info.id!r}")
        for each in message.parts:
            if each.part.message_id != info.id:
                raise _Wrong(
                    f"part {each.part.id!r} belongs to the message {each.part.message_id!r}, not to {info.id!r}"
                )


def _owners(message: FileMessage) -> Iterator[tuple[str, str]]:
    yield f"message {message.info.id!r}", message.info.session_id
    yield from ((f"part {each.part.id!r}", each.part.session_id) for each in message.parts)
