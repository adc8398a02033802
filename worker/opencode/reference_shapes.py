"""What the text of a prompt refers to with `@`, in OpenCode's shapes."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TypeAlias
from urllib.parse import urlencode

from pydantic import JsonValue

from activities.files.file_type import media_type
from worker.opencode.shapes import PartShape, PromptPartShape, prompt_part_id
from workflows.domain.file_references import SENTENCE_ENDS, FileReference
from workflows.domain.ids import SessionId
from workflows.domain.messages import DIRECTORY, PLAIN_TEXT, UserMessage
from workflows.domain.prompt import PromptContent

_Fields: TypeAlias = Mapping[str, JsonValue]


def reference_shapes(
    session: SessionId, directory: str, message: UserMessage, read: Mapping[int, _Fields]
) -> Iterator[PartShape]:
    """`read`: the arguments of the calls that read its files, by their places. Other words of the text are none."""
    mentioned = set(message.mentions)
    for place, reference in PromptContent(parts=message.parts).references.items():
        if not isinstance(reference, FileReference):
            continue
        name = reference.path.rstrip(SENTENCE_ENDS)
        written: dict[str, JsonValue] = {
            "value": f"@{reference.path}",
            "start": reference.start,
            "end": reference.end,
        }
        if place in read:
            fields = _file_fields(directory, read[place], written)
        elif name in mentioned:
            mentioned.remove(name)
            fields = {"type": "agent", "name": name, "source": written}
        else:
            continue
        yield PromptPartShape(id=prompt_part_id(message.id, place), session_id=session, message_id=message.id, **fields)


def _file_fields(
    directory: str, arguments: Mapping[str, JsonValue], written: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    given = str(arguments.get("filePath"))
    path, lines = PurePath(directory, given), ""
    first, count = arguments.get("offset"), arguments.get("limit")
    if isinstance(first, int) and isinstance(count, int):
        lines = "?" + urlencode({"start": first, "end": first + count - 1})
    return {
        "type": "file",
        "mime": DIRECTORY if given.endswith("/") else media_type(b"", path) or PLAIN_TEXT,
        "filename": path.name,
        "url": path.as_uri() + lines,
        "source": {"type": "file", "path": str(path), "text": written},
    }
