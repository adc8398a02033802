"""Where `holdfast` begins."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run one command, and end the process."""
    gc.set_threshold(50_000)  # imports make objects that stay: looking through them is a tenth of a command's start
    from worker.cli.main import main as run  # behind it, for the same reason

    run()
