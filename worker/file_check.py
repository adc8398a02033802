"""Checks the files of prompts before a door accepts them."""

from collections.abc import Sequence
from operator import itemgetter
from pathlib import PurePath
from typing import Final

from activities.files.file_type import HEAD_BYTES, PDF, PICTURES, media_type
from activities.files.image_size import excess
from activities.files.named_files import MAX_FILES, path_of_url
from workflows.domain.errors import UsageError
from workflows.domain.messages import DATA_URL, FilePart

_MAX_TEXT_BYTES: Final = 1_000_000
_MAX_PDF_BYTES: Final = 10 * 1024 * 1024
_MAX_TOTAL_BYTES: Final = 20 * 1024 * 1024  # 27 MB in base64: Anthropic takes requests of 32 MB


def check_files(files: Sequence[FilePart]) -> None:
    """Raises UsageError."""
    if len(files) > MAX_FILES:
        raise UsageError(f"The prompt has {len(files)} files; at most {MAX_FILES} are allowed: name their directory.")
    held: list[tuple[str, int]] = []
    for file in files:
        if file.url.startswith(DATA_URL):
            held.append((file.filename or file.mime, _check_content(file)))
        elif not (file.is_named and path_of_url(file.url)):
            raise UsageError(f"{file.url[:200]!r} names no file of this machine: write file:// and its whole path.")
    total = sum(size for _, size in held)
    if total > _MAX_TOTAL_BYTES:
        sizes = ", ".join(f"{name!r} {size:,}" for name, size in sorted(held, key=itemgetter(1), reverse=True))
        raise UsageError(
            f"The prompt's files have {total:,} bytes together; at most {_MAX_TOTAL_BYTES:,} are allowed: name the "
            f"paths of some. They have: {sizes}."
        )


def _check_content(part: FilePart) -> int:
    """Returns the size of its content in bytes."""
    name = part.filename or part.mime
    try:
        content = part.content
    except ValueError:
        raise UsageError(f"{name!r} holds no contents: `url` is `data:`, type, `;base64,` and base64.") from None
    if part.is_text or part.mime == PDF:
        most = _MAX_TEXT_BYTES if part.is_text else _MAX_PDF_BYTES
        if len(content) > most:
            raise UsageError(f"{name!r} has {len(content):,} bytes; at most {most:,} are allowed: name its path.")
    elif media_type(content[:HEAD_BYTES], PurePath()) not in PICTURES or ";base64," not in part.url[:200]:
        raise UsageError(f"{name!r} is neither a text nor a PDF file nor a picture (PNG, JPEG, GIF, WebP).")
    elif problem := excess(part.url.partition(",")[2]):
        raise UsageError(f"{name!r} cannot be shown: {problem}.")
    return len(content)
