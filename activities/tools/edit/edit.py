"""edit: replace one passage of a file, or all its copies; or create a file."""

from typing import ClassVar

from pydantic import Field

from activities.files.locate import Kind, Located
from activities.files.text import Text, checked
from activities.tools.change import FileChange
from activities.tools.edit.substitute import substitute
from activities.tools.tool import Params
from workflows.domain.errors import ToolError


class EditParams(Params):
    """Arguments of edit."""

    file_path: str = Field(alias="filePath")
    old_string: str = Field(alias="oldString")
    new_string: str = Field(alias="newString")
    replace_all: bool = Field(default=False, alias="replaceAll")


class Edit(FileChange[EditParams]):
    """Finds `oldString` in a file, exactly or nearly, and puts `newString` in its place."""

    name = "edit"
    params = EditParams
    subject = "file_path"
    done: ClassVar[str] = "Edit applied successfully."

    def path(self, params: EditParams) -> str:
        return params.file_path

    def content(self, params: EditParams, located: Located, before: bytes | None) -> bytes:
        if params.old_string == params.new_string:
            raise ToolError("No changes to apply: oldString and newString are identical.")
        if located.kind is Kind.DIRECTORY:
            raise ToolError(f"Path is a directory, not a file: {located.path}")
        if params.old_string == "":
            return _created(checked(params.new_string), before)
        if before is None:
            raise ToolError(f"File {located.path} not found")
        return _edited(params, Text.of(before))


def _created(content: str, before: bytes | None) -> bytes:
    if before is not None:
        raise ToolError(
            "oldString cannot be empty when editing an existing file. Provide the exact text to replace, "
            "or use write for an intentional full-file replacement."
        )
    return content.encode()


def _edited(params: EditParams, text: Text) -> bytes:
    old, new = (_ending_as(text.ending, value) for value in (params.old_string, checked(params.new_string)))
    return Text(substitute(text.content, old, new, everywhere=params.replace_all), text.marked).raw()


def _ending_as(ending: str, value: str) -> str:
    return value.replace("\r\n", "\n").replace("\n", ending)
