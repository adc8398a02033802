"""read: a file's numbered lines, a directory's names, an image or a PDF."""

import asyncio
import hashlib
import os
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import Field, JsonValue

from activities.files import permission_requests
from activities.files.file_type import HEAD_BYTES, PDF, is_binary, media_type
from activities.files.lines import BYTE_LIMIT, Window, read_window
from activities.files.listing import Listing, list_directory, with_similar_names
from activities.files.locate import PathKind, locate
from activities.files.safe_open import open_file
from activities.files.workspace import Workspace
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.file_change import MAX_FILE_BYTES
from activities.tools.nested_instructions import attach_instructions
from activities.tools.shown_media import show_media
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.effects import Effect, Recovery, Target
from workflows.domain.errors import ToolError
from workflows.domain.file_changes import FileVersion

DEFAULT_LIMIT: Final = 2000  # lines or entries without a limit (opencode.md 7.2)
MAX_PDF_BYTES: Final = 10 * 1024 * 1024
MAX_PICTURE_FILE_BYTES: Final = 32 * 1024 * 1024  # models are shown a smaller copy
_PREVIEW_LINES: Final = 20  # lines for people


class ReadParams(Params):
    file_path: str = Field(alias="filePath")
    offset: int = Field(default=1, ge=0)
    limit: int = Field(default=DEFAULT_LIMIT, gt=0)

    @property
    def first(self) -> int:
        return max(self.offset, 1)


class ReadTool(BuiltInTool[ReadParams]):
    """Reveals whether a path exists only after reading is permitted."""

    name = "read"
    recovery = Recovery.REPEATABLE
    quick = True
    params = ReadParams
    display = CallDisplay(kind=DisplayKind.READ, verb="read", subject="filePath")

    async def plan(self, params: ReadParams, turn: TurnContext) -> Plan:
        located = await asyncio.to_thread(locate, params.file_path, turn.workspace)
        return Plan(
            requests=permission_requests.read_requests(located, turn.workspace),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(mode="json", by_alias=True, exclude_unset=True),
                directory=str(turn.workspace.directory),
                targets=(Target(path=str(located.path), before=None),),
            ),
        )

    async def run(self, params: ReadParams, plan: Plan, context: ToolContext) -> Output:
        path = Path(plan.targets[0].path)
        output = await asyncio.to_thread(_read, path, params, context.turn)
        return await attach_instructions(output, path, context)


def _read(path: Path, params: ReadParams, turn: TurnContext) -> Output:
    workspace = turn.workspace
    match locate(str(path), workspace).kind:
        case PathKind.MISSING:
            raise ToolError(with_similar_names(f"File not found: {path}", path))
        case PathKind.DIRECTORY:
            return _directory(path, params, workspace)
    with open_file(path) as file:
        head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
        media = media_type(head, path)
        if media is not None:
            return _attachment(path, file, media, workspace)
        if is_binary(head, path):
            raise ToolError(f"Cannot read binary file: {path}")
        shown = read_window(file, params.first, params.limit, turn.limits.max_bytes)
        return _text(path, shown, workspace).model_copy(update={"versions": _versions(path, file)})


def _versions(path: Path, file: BufferedReader) -> tuple[FileVersion, ...]:
    """Of a file that a later call could replace."""
    if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
        return ()
    file.seek(0)
    return (FileVersion(file=str(path), digest=hashlib.file_digest(file, "sha256").hexdigest()),)


def _attachment(path: Path, file: BufferedReader, media: str, workspace: Workspace) -> Output:
    most = MAX_PDF_BYTES if media == PDF else MAX_PICTURE_FILE_BYTES
    content = file.read(most + 1)
    if len(content) > most:
        raise ToolError(f"{path} is larger than {most} bytes, which is too much to be shown.")
    shown = show_media(content, media, str(path), "read")
    metadata: dict[str, JsonValue] = {"preview": shown.text, "truncated": False, "loaded": []}
    title = workspace.title(path)
    return Output(title=title, output=shown.text, metadata=metadata, attachments=(shown.attachment,))


def _text(path: Path, shown: Window, workspace: Workspace) -> Output:
    if not shown.lines and shown.first > 1:
        raise ToolError(_out_of_range(shown))
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(shown.lines, start=shown.first))
    display: dict[str, JsonValue] = {
        "type": "file",
        "path": str(path),
        "text": "\n".join(shown.lines),
        "lineStart": shown.first,
        "lineEnd": shown.last,
        "totalLines": shown.total,
        "truncated": not shown.complete,
    }
    body = f"<content>\n{numbered}\n\n{_footer(shown)}\n</content>"
    return _format_output(path, "file", body, shown.lines[:_PREVIEW_LINES], display, workspace)


def _out_of_range(shown: Window) -> str:
    if shown.total is not None:
        return f"Offset {shown.first} is out of range for this file ({shown.total} lines)"
    return f"Offset {shown.first} is too far into this very large file: find the place with grep, or use bash."


def _footer(shown: Window) -> str:
    following = f"Use offset={shown.last + 1} to continue."
    if shown.complete:
        return f"(End of file - total {shown.total} lines)"
    total = "" if shown.total is None else f" of {shown.total}"
    if shown.capped == BYTE_LIMIT:
        return f"(Output capped at {BYTE_LIMIT // 1024} KB. Showing lines {shown.first}-{shown.last}. {following})"
    room = ": there is no room for more" if shown.capped else ""
    return f"(Showing lines {shown.first}-{shown.last}{total}{room}. {following})"


def _directory(path: Path, params: ReadParams, workspace: Workspace) -> Output:
    found = list_directory(path)
    names = found.names[params.first - 1 :][: params.limit]
    if not names and params.first > 1:
        raise ToolError(f"Offset {params.first} is out of range for this directory ({len(found.names)} entries)")
    last = params.first - 1 + len(names)
    truncated = last < len(found.names) or not found.complete
    display: dict[str, JsonValue] = {
        "type": "directory",
        "path": str(path),
        "entries": list(names),
        "offset": params.first,
        "totalEntries": len(found.names),
        "truncated": truncated,
    }
    body = "\n".join(("<entries>", *names, "", _entries_footer(found, len(names), last), "</entries>"))
    return _format_output(path, "directory", body, names[:_PREVIEW_LINES], display, workspace)


def _entries_footer(found: Listing, count: int, last: int) -> str:
    total = f"{len(found.names)}" if found.complete else f"more than {len(found.names)}"
    if count == len(found.names) and found.complete:
        return f"({total} entries)"
    return f"(Showing {count} of {total} entries. Use 'offset' parameter to read beyond entry {last})"


def _format_output(
    path: Path, kind: str, body: str, preview: tuple[str, ...], display: dict[str, JsonValue], workspace: Workspace
) -> Output:
    metadata: dict[str, JsonValue] = {
        "preview": "\n".join(preview),
        "truncated": display["truncated"],
        "loaded": [],
        "display": display,
    }
    return Output(
        title=workspace.title(path),
        output=f"<path>{path}</path>\n<type>{kind}</type>\n{body}",
        metadata=metadata,
        truncated=bool(display["truncated"]),
    )
