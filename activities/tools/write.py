"""write: replace a file's whole content, or create it."""

from activities.files.locate import LocatedPath, PathKind
from activities.files.text_file import BOM, TextFile, require_encodable
from activities.tools.file_change import FileParams, OneFileTool
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.errors import ToolError
from workflows.domain.reminder_tags import unescape_reminders


class WriteParams(FileParams):
    content: str


class WriteTool(OneFileTool[WriteParams]):
    """Makes missing folders; keeps a byte order mark."""

    name = "write"
    params = WriteParams
    replaces_file = True
    display = CallDisplay(kind=DisplayKind.EDIT, verb="write a file", subject="filePath")
    success_message = "Wrote file successfully."

    def content(self, params: WriteParams, located: LocatedPath, before: bytes | None) -> tuple[bytes, str]:
        if located.kind is PathKind.DIRECTORY:
            raise ToolError(f"BadResource: FileSystem.readFile ({located.path})")  # OpenCode's words, known to models
        known = TextFile.of(before or b"")
        content = unescape_reminders(require_encodable(params.content), known.content)
        has_bom = content.startswith(BOM) or known.has_bom
        return TextFile(content, has_bom).encode(), ""
