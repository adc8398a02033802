"""Brings the Temporal program into the cache now: for tests and images, which do not want to wait for it later."""

import asyncio
import sys

from worker.settings import Settings
from worker.stack.binaries import temporal
from workflows.domain.errors import HoldfastError


def main() -> int:
    """Find or bring the program, with progress on standard output; 3 when no way to it is open."""
    try:
        found = asyncio.run(temporal.obtain(Settings.read(), None, lambda said: print(said, flush=True)))
    except HoldfastError as error:
        print(error, file=sys.stderr)
        return 3
    print(f"Temporal server {found.version}: {found.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
