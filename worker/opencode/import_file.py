"""A file that OpenCode or Holdfast has exported: read and checked before anything is written."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import ConfigDict, Field, JsonValue, ValidationError, model_validator

from worker.file_check import prepare_files
from worker.opencode.shapes import Shape
from workflows.domain.errors import UsageError
from workflows.domain.ids import Prefix, is_id
from workflows.domain.messages import DATA_URL, FilePart

MAX_BYTES: Final = 256 * 2**20
MAX_MESSAGES: Final = 100_000
_DEEPEST: Final = 100  # objects and lists in each other
_LATEST: Final = 253_402_300_799_000  # milliseconds: the end of the year 9999
_MEMBERS: Final = {  # of each type of parts that becomes something here, besides those of all
    "text": ("text", "ignored", "metadata"),
    "reasoning": ("text", "metadata"),
    "tool": ("tool", "state"),
    "file": ("mime", "url", "filename"),
    "compaction": ("tail_start_id",),
}
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
    """A part of any type; of one that becomes something here, its contents."""

    id: ForeignId
    session_id: ForeignId
    message_id: ForeignId
    type: str
    text: str = ""
    ignored: bool | None = None
    metadata: JsonValue = None
    tool: str = ""
    state: ForeignState | None = None
    mime: str = ""
    url: str = ""
    filename: str | None = None
    tail_start_id: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _members_of_its_type(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        read = ("id", "sessionID", "messageID", "type", *_MEMBERS.get(str(value.get("type")), ()))
        return {name: value[name] for name in read if name in value}

    @property
    def is_text(self) -> bool:
        """Whether it is a text or a thought."""
        return self.type in ("text", "reasoning")

    @property
    def phase(self) -> str | None:
        """As in `TextPart`."""
        match self.metadata:
            case {"openai": {"phase": str(phase)}}:
                return phase
            case _:
                return None


class ForeignMessage(Foreign):
    info: ForeignMessageInfo
    parts: tuple[ForeignPart, ...]


class ForeignSession(Foreign):
    info: ForeignInfo
    messages: Annotated[tuple[ForeignMessage, ...], Field(max_length=MAX_MESSAGES)]

    def ids(self) -> Iterator[tuple[Prefix, str]]:
        """All ids that the import needs, with what they are of."""
        yield Prefix.SESSION, self.info.id
        for message in self.messages:
            yield Prefix.MESSAGE, message.info.id
            yield from ((Prefix.PART, part.id) for part in message.parts)


@dataclass(frozen=True)
class ImportFile:
    """`document`: what stands in it, and what we `read` of that. `files`: those that prompts contain, as models take
    them, by their parts."""

    digest: str
    document: dict[str, Any]
    read: ForeignSession
    files: Mapping[str, FilePart]

    @property
    def ids(self) -> list[str]:
        """All ids that must be free here."""
        return [id for _, id in self.read.ids()]

    @property
    def regular(self) -> bool:
        """Whether all ids have our form."""
        return all(is_id(prefix, id) for prefix, id in self.read.ids())


def read_import(path: Path) -> ImportFile:
    """Raises UsageError for what is no export, says where it is wrong."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    try:
        return _checked(data)
    except RecursionError:
        why = "it is nested too deeply"
    except _Wrong as wrong:
        why = str(wrong)
    except ValueError as error:
        why = f"it is no JSON ({error})"
    raise UsageError(
        f"{str(path)!r} is no export that can be imported: {why}. `opencode export` and `holdfast export` write such "
        "files. Nothing was imported."
    )


class _Wrong(ValueError):
    pass


def _checked(data: bytes) -> ImportFile:
    if len(data) > MAX_BYTES:
        raise _Wrong(f"it is larger than {MAX_BYTES // 2**20} MB")
    text = data.decode("utf-8-sig")  # PowerShell writes its mark
    document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_finite_integer)
    if not (isinstance(document, dict) and isinstance(document.get("messages"), list)):
        raise _Wrong("it has to be an object with `info` and a list `messages`")
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
    if level:
        raise _Wrong("it is nested too deeply")
    try:
        found = ForeignSession.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"])
        raise _Wrong(f"{where.removeprefix('.')}: {first['msg']}") from error
    _check_relations(found)
    files = {part.id: file for each in found.messages for part in each.parts if (file := _contained(part)) is not None}
    return ImportFile(hashlib.sha256(data).hexdigest(), document, found, files)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits:.20}… is too large")
    return number


def _finite_integer(digits: str) -> int:
    _finite(digits)  # tokens and dollars are added
    return int(digits)


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _contained(part: ForeignPart) -> FilePart | None:
    if part.type == "file" and part.url.startswith(DATA_URL):
        with suppress(UsageError):  # it is kept as a note
            (file,) = prepare_files([FilePart(mime=part.mime, url=part.url, filename=part.filename)])
            return file if isinstance(file, FilePart) else None
    return None


def _check_relations(found: ForeignSession) -> None:
    """Ids that stand twice, parts of other messages, answers to themselves or to what comes later."""
    seen: set[str] = set()
    for _, id in found.ids():
        if id in seen:
            raise _Wrong(f"the id {id!r} stands twice in it")
        seen.add(id)
    session, later = found.info.id, {message.info.id for message in found.messages}
    for message in found.messages:
        info = message.info
        if info.role == "assistant" and info.parent_id in later:
            raise _Wrong(f"message {info.id!r} answers {info.parent_id!r}, which is not before it")
        later.discard(info.id)
        if info.session_id != session:
            raise _Wrong(f"message {info.id!r} belongs to the session {info.session_id!r}, not to {session!r}")
        for part in message.parts:
            if (part.session_id, part.message_id) != (session, info.id):
                owner = f"the message {part.message_id!r} of {part.session_id!r}"
                raise _Wrong(f"part {part.id!r} belongs to {owner}, not to {info.id!r} of {session!r}")
