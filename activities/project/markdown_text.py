"""The texts of Markdown files that a project may hold: agents, skills."""

import os
import re
from pathlib import Path
from typing import Final

from activities.files.safe_open import failure_reason, open_file
from workflows.domain.errors import ConfigError, ToolError

MAX_MARKDOWN_BYTES: Final = 64 * 1024  # of one file
UNUSABLE_NAME: Final = "its path holds a line break, or what is no UTF-8 text: rename it"
_CONTROL: Final = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029]")


def read_text(path: Path, within: Path | None) -> str:
    """`within`: where a link in a foreign repository may lead. Raises ConfigError."""
    file = shown_path(path)
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within):
            raise ConfigError(f"{file}: it is a link that leads out of the project.")
        with open_file(real) as opened:
            content = opened.read(MAX_MARKDOWN_BYTES + 1)
    except (ToolError, OSError, RuntimeError) as error:
        raise ConfigError(f"{file}: it cannot be read: {failure_reason(error)}") from error
    if len(content) > MAX_MARKDOWN_BYTES:
        raise ConfigError(f"{file}: such a file has at most {MAX_MARKDOWN_BYTES // 1024} KiB.")
    if b"\0" in content:
        raise ConfigError(f"{file}: it holds a NUL, and is no text.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: it is not UTF-8 text: write it again in that encoding.") from error


def shown_path(path: Path) -> str:
    """A name may hold bytes that no row and no terminal takes, and line breaks: what follows would look like ours."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda hit: hit[0].encode("unicode_escape").decode("ascii"), text)
