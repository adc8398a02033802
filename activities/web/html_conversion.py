"""Turns pages into Markdown or plain text, in a process that can be killed: no page blocks a worker."""

import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from activities.child_process import running_child
from workflows.domain.errors import FetchError

TextFormat = Literal["markdown", "plain"]

_ROOT: Final = Path(__file__).parents[2]
_PROGRAM: Final = """
import sys
sys.path.append(sys.argv.pop(1))
from activities.web.html_process import main
main()
"""
_MOST_BYTES: Final = 16 * 1024 * 1024  # bytes: each link of a page gets the page's address
_SECONDS: Final = 60.0  # with the start of the process, which ends itself ten seconds after that


async def convert_page(html: str, output_format: TextFormat, url: str) -> str:
    """The page's text. Raises FetchError for one that takes too long, or too much memory."""
    argv = (sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, str(_ROOT), output_format, url)
    environment: dict[str, str] = {}  # a process that parses a stranger's text gets no secrets
    text, code = b"", None
    with suppress(TimeoutError):
        async with running_child(
            *argv, timeout=_SECONDS, directory="/", environment=environment, stdin=PIPE
        ) as process:
            text = await _exchange(process, html.encode("utf-8", "replace"))
            code = await process.wait()
    if code != 0:
        raise FetchError("to turn it into text takes too long, or too much memory: ask for the format html")
    return text.decode()


async def _exchange(process: Process, page: bytes) -> bytes:
    """Raises FetchError for more than anybody would read."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(ConnectionError):  # it has ended: its code says why
        process.stdin.write(page)
        await process.stdin.drain()
        process.stdin.close()
    text = bytearray()
    while piece := await process.stdout.read(2**16):
        text += piece
        if len(text) > _MOST_BYTES:
            raise FetchError("it becomes too long as text: ask for the format html")
    return bytes(text)
