"""The ends of log files, and what is written to them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from worker.cli.look.text import prose
from worker.settings import Settings
from worker.stack.layout import Layout

_LOOK: Final = 0.3  # seconds between two looks at files that grow


class Tail:
    """Reads logs of the stack; with several of them, each line begins with the name of its own."""

    def __init__(self, settings: Settings, names: list[str]) -> None:
        layout = Layout(home=settings.home)
        self._files = {name: layout.log(name) for name in names}
        self._read: dict[Path, int] = {}

    def last(self, count: int) -> Iterator[str]:
        """The last lines of each."""
        for name, path in self._files.items():
            yield from (self._line(name, text) for text in deque(self._new(path), count))

    async def more(self) -> AsyncIterator[str]:
        """What is written from now on; a log that was begun anew is read from its start."""
        while True:
            for name, path in self._files.items():
                for text in self._new(path):
                    yield self._line(name, text)
            await asyncio.sleep(_LOOK)

    def _new(self, path: Path) -> list[str]:
        """Complete lines behind those that were read."""
        if not path.exists():
            return []
        size, begin = path.stat().st_size, self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(begin if size >= begin else 0)
            found = file.read()
            whole = found[: found.rfind(b"\n") + 1]
            self._read[path] = file.tell() - len(found) + len(whole)
        return whole.decode(errors="replace").splitlines()

    def _line(self, name: str, text: str) -> str:
        return prose(text) if len(self._files) == 1 else f"{name:>10} │ {prose(text)}"
