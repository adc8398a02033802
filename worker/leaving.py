"""Leaving a process that has reached Temporal: its client may abort one that ends by itself (exit 134)."""

import gc
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End this process with what was said written out, and without the interpreter's own end."""
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
