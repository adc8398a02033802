"""Fetches the Temporal program into the cache early, for tests and images."""

import asyncio
import sys

from worker.settings import Settings
from worker.stack.binaries import temporal
from workflows.domain.errors import HoldfastError


def main() -> int:
    """Reports progress on standard output; 3 if no way works."""
    try:
        found = asyncio.run(temporal.obtain(Settings.read(), None, lambda line: print(line, flush=True)))
    except HoldfastError as error:
        print(error, file=sys.stderr)
        return 3
    print(f"Temporal server {found.version}: {found.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
