"""Checks the files of prompts before a door accepts them, and makes large pictures smaller."""

from base64 import b64encode
from collections.abc import Sequence
from operator import itemgetter
from pathlib import PurePath
from typing import Final

from activities.files.file_type import HEAD_BYTES, PDF, PICTURES, media_type
from activities.files.image_size import smaller_copy
from activities.files.named_files import MAX_FILES, path_of_url
from workflows.domain.errors import UsageError
from workflows.domain.messages import DATA_URL, FilePart, PromptPart

_MAX_TEXT_BYTES: Final = 1_000_000
_MAX_PDF_BYTES: Final = 10 * 1024 * 1024
_MAX_TOTAL_BYTES: Final = 20 * 1024 * 1024  # 27 MB in base64: Anthropic takes requests of 32 MB


def prepare_files(parts: Sequence[PromptPart]) -> tuple[PromptPart, ...]:
    """The parts, with pictures that each provider takes. Blocks. Raises UsageError."""
    count = sum(isinstance(part, FilePart) for part in parts)
    if count > MAX_FILES:
        raise UsageError(f"The prompt has {count} files; at most {MAX_FILES} are allowed: name their directory.")
    ready: list[PromptPart] = []
    held: list[tuple[str, int]] = []
    for part in parts:
        if isinstance(part, FilePart) and part.url.startswith(DATA_URL):
            part, size = _check_content(part)
            held.append((part.filename or part.mime, size))
        elif isinstance(part, FilePart) and not (part.is_named and path_of_url(part.url)):
            raise UsageError(f"{part.url[:200]!r} names no file of this machine: write file:// and its whole path.")
        ready.append(part)
    total = sum(size for _, size in held)
    if total > _MAX_TOTAL_BYTES:
        sizes = ", ".join(f"{name!r} {size:,}" for name, size in sorted(held, key=itemgetter(1), reverse=True))
        raise UsageError(
            f"The prompt's files have {total:,} bytes together; at most {_MAX_TOTAL_BYTES:,} are allowed: name the "
            f"paths of some. They have: {sizes}."
        )
    return tuple(ready)


def _check_content(part: FilePart) -> tuple[FilePart, int]:
    """Returns the size of its content in bytes, too."""
    name = part.filename or part.mime
    try:
        content = part.content
    except ValueError:
        raise UsageError(f"{name!r} holds no contents: `url` is `data:`, type, `;base64,` and base64.") from None
    if part.is_text or part.mime == PDF:
        most = _MAX_TEXT_BYTES if part.is_text else _MAX_PDF_BYTES
        if len(content) > most:
            raise UsageError(f"{name!r} has {len(content):,} bytes; at most {most:,} are allowed: name its path.")
        return part, len(content)
    if media_type(content[:HEAD_BYTES], PurePath()) not in PICTURES or ";base64," not in part.url[:200]:
        raise UsageError(f"{name!r} is neither a text nor a PDF file nor a picture (PNG, JPEG, GIF, WebP).")
    try:
        copy = smaller_copy(content)
    except ValueError as problem:
        raise UsageError(f"{name!r} cannot be shown: {problem}.") from problem
    if copy is None:
        return part, len(content)
    url = f"data:{copy.mime};base64,{b64encode(copy.content).decode()}"
    return part.model_copy(update={"mime": copy.mime, "url": url, "note": copy.note}), len(copy.content)
