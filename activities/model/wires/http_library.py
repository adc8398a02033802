"""httpx without its program for the command line, whose rich, pygments and click would take 6 MB and 0.1 s."""

import sys
from typing import Final

_PROGRAM: Final = "httpx._main"

# None marks a module that cannot be imported: httpx then goes without, as when its extra is missing.
sys.modules.setdefault(_PROGRAM, None)  # type: ignore[arg-type]  # the import system takes it
try:
    import httpx as httpx
finally:
    if sys.modules[_PROGRAM] is None:
        del sys.modules[_PROGRAM]
