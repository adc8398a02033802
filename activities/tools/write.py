"""write: give a file new content as a whole, or create it."""

from typing import ClassVar

from pydantic import Field

from activities.files.locate import Kind, Located
from activities.files.text import BOM, Text, checked
from activities.tools.change import FileChange
from activities.tools.tool import Params
from workflows.domain.errors import ToolError


class WriteParams(Params):
    """Arguments of write."""

    file_path: str = Field(alias="filePath")
    content: str


class Write(FileChange[WriteParams]):
    """Overwrites a file or creates it with its folders; a byte order mark stays."""

    name = "write"
    params = WriteParams
    subject = "file_path"
    done: ClassVar[str] = "Wrote file successfully."

    def path(self, params: WriteParams) -> str:
        return params.file_path

    def content(self, params: WriteParams, located: Located, before: bytes | None) -> bytes:
        if located.kind is Kind.DIRECTORY:
            raise ToolError(f"BadResource: FileSystem.readFile ({located.path})")  # OpenCode's words, known to models
        content = checked(params.content)
        marked = content.startswith(BOM) or (before is not None and Text.of(before).marked)
        return Text(content, marked).raw()
