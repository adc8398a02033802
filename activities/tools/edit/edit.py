"""edit: replace one passage of a file or all its copies, or create a file."""

from pydantic import Field

from activities.files.listing import with_similar_names
from activities.files.locate import LocatedPath, PathKind
from activities.files.text_file import TextFile, require_encodable
from activities.tools.edit.substitute import substitute
from activities.tools.file_change import FileParams, OneFileTool
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.errors import ToolError
from workflows.domain.reminder_tags import unescape_reminders


class EditParams(FileParams):
    old_string: str = Field(alias="oldString")
    new_string: str = Field(alias="newString")
    replace_all: bool = Field(default=False, alias="replaceAll")


class EditTool(OneFileTool[EditParams]):
    name = "edit"
    params = EditParams
    display = CallDisplay(kind=DisplayKind.EDIT, verb="change a file", subject="filePath")
    success_message = "Edit applied successfully."

    def content(self, params: EditParams, located: LocatedPath, before: bytes | None) -> tuple[bytes, str]:
        if params.old_string == params.new_string:
            raise ToolError("No changes to apply: oldString and newString are identical.")
        if located.kind is PathKind.DIRECTORY:
            raise ToolError(f"Path is a directory, not a file: {located.path}")
        if params.old_string == "":
            return _content_of_new_file(unescape_reminders(require_encodable(params.new_string)), before), ""
        if before is None:
            raise ToolError(with_similar_names(f"File {located.path} not found", located.path))
        return _edit_content(params, TextFile.of(before))


def _content_of_new_file(content: str, before: bytes | None) -> bytes:
    if before is not None:
        raise ToolError(
            "oldString cannot be empty when editing an existing file. Provide the exact text to replace, "
            "or use write for an intentional full-file replacement."
        )
    return content.encode()


def _edit_content(params: EditParams, text: TextFile) -> tuple[bytes, str]:
    old, new = (
        _with_line_ending(text.line_ending, value)
        for value in (params.old_string, require_encodable(params.new_string))
    )
    file = text.content if old in text.content or old == unescape_reminders(old) else ""
    old, new = unescape_reminders(old, file), unescape_reminders(new, file)
    content, note = substitute(text.content, old, new, replace_all=params.replace_all)
    if content == text.content:
        ending = "CRLF" if text.line_ending == "\r\n" else "LF"
        raise ToolError(
            "No changes to apply: the passage reads like newString already, line ends apart. An edit keeps those of "
            f"the file ({ending}): change them with write or bash."
        )
    return TextFile(content, text.has_bom).encode(), note


def _with_line_ending(ending: str, value: str) -> str:
    return value.replace("\r\n", "\n").replace("\n", ending)
