"""The entry point of `holdfast`."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    gc.set_threshold(50_000)  # scanning imported objects takes a tenth of the start-up time
    from worker.cli.main import main as run  # after it: start-up time

    run()
