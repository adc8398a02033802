"""What an export consists of: the session, and messages with their parts."""

from typing import Literal

from pydantic import JsonValue, SerializeAsAny

from worker.opencode.shapes import (
    ErrorShape,
    ModelShape,
    OutputFormatShape,
    PartShape,
    SessionModelShape,
    Shape,
    TimesShape,
    TokensShape,
)
from workflows.domain.ids import MessageId, SessionId


class DiffSummary(Shape):
    """Lines, and files."""

    additions: int
    deletions: int
    files: int


class RuleShape(Shape):
    permission: str
    pattern: str
    action: str


class SessionInfo(Shape):
    """`path`: of the directory, in its work tree. `permission`: the rules that a subagent has besides its agent's."""

    id: SessionId
    slug: str
    project_id: str
    directory: str
    path: str
    title: str
    agent: str
    parent_id: SessionId | None = None
    model: SessionModelShape | None = None
    version: str
    cost: float
    tokens: TokensShape
    summary: DiffSummary
    permission: tuple[RuleShape, ...] | None = None
    time: TimesShape


class MessageSummary(Shape):
    """What a model says that was changed up to a prompt's turn; the differences of files are not written."""

    body: str
    diffs: tuple[JsonValue, ...] = ()


class UserInfo(Shape):
    id: MessageId
    session_id: SessionId
    role: Literal["user"] = "user"
    time: TimesShape
    agent: str
    model: ModelShape
    system: str | None = None
    tools: dict[str, bool] | None = None
    format: OutputFormatShape | None = None
    summary: MessageSummary | None = None


class Paths(Shape):
    cwd: str
    root: str


class AssistantInfo(Shape):
    id: MessageId
    session_id: SessionId
    role: Literal["assistant"] = "assistant"
    time: TimesShape
    parent_id: MessageId
    provider_id: str
    model_id: str
    variant: str | None = None
    agent: str
    mode: str
    path: Paths
    cost: float
    tokens: TokensShape
    finish: str | None = None
    structured: dict[str, JsonValue] | None = None
    summary: bool | None = None
    error: ErrorShape | None = None


class ExportedMessage(Shape):
    info: UserInfo | AssistantInfo
    parts: tuple[SerializeAsAny[PartShape], ...]
