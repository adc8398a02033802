"""Free ports on loopback, chosen once and remembered."""

import random
import socket
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from workflows.domain.value import Value

LOOPBACK: Final = "127.0.0.1"
_RANGE: Final = range(20000, 32000)  # below the ports that the system hands out for outgoing connections
_NO_NOTE: Final = (OSError, ValidationError)


class Ports(Value):
    """Where the embedded Temporal listens: for programs, and for people."""

    temporal: int
    ui: int


def remembered(path: Path) -> Ports:
    """The ports noted at `path` if both are still free; else new ones, noted there."""
    ports = noted(path)
    if ports is None or not (free(ports.temporal) and free(ports.ui)):
        temporal, ui = _choose(2)
        ports = Ports(temporal=temporal, ui=ui)
        path.write_text(ports.model_dump_json())
    return ports


def noted(path: Path) -> Ports | None:
    try:
        return Ports.model_validate_json(path.read_bytes())
    except _NO_NOTE:
        return None


def free(port: int) -> bool:
    """Whether a server could listen on this port of loopback now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _choose(count: int) -> list[int]:
    candidates = random.sample(_RANGE, len(_RANGE))
    return [port for port in candidates[:500] if free(port)][:count]
