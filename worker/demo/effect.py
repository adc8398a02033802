"""effect: runs a command and writes its start and its end into a ledger, so that effects are counted by themselves.

    python effect.py LEDGER GATE TOKEN COMMAND...

The command begins once the file GATE exists: whoever watches the ledger decides how long it is under way. A program of
its own, standard library only; a line is on disk before the next thing happens.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

_LOOK_AGAIN = 0.02  # seconds between two looks for the gate: another process makes it


def mark(ledger: str, what: str, token: str) -> None:
    line = json.dumps({"what": what, "token": token, "pid": os.getpid(), "at": time.time()})
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main() -> int:
    ledger, gate, token, *command = sys.argv[1:]
    mark(ledger, "start", token)
    while not Path(gate).exists():
        time.sleep(_LOOK_AGAIN)
    code = subprocess.call(command)
    mark(ledger, "end", token)
    return code


if __name__ == "__main__":
    sys.exit(main())
