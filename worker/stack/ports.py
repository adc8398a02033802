"""Free ports on loopback, chosen once and stored."""

import random
import socket
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from workflows.domain.value import Value

LOOPBACK: Final = "127.0.0.1"
_RANGE: Final = range(20000, 32000)  # below the ephemeral ports
_UNREADABLE: Final = (OSError, ValidationError)


class Ports(Value):
    """The embedded Temporal's ports, for programs and people."""

    temporal: int
    ui: int


def load_or_choose(path: Path) -> Ports:
    """The ports stored at `path` if both are free; else new ones, stored there."""
    ports = load(path)
    if ports is None or not (is_free(ports.temporal) and is_free(ports.ui)):
        free = filter(is_free, random.sample(_RANGE, len(_RANGE)))
        ports = Ports(temporal=next(free), ui=next(free))
        path.write_text(ports.model_dump_json())
    return ports


def load(path: Path) -> Ports | None:
    try:
        return Ports.model_validate_json(path.read_bytes())
    except _UNREADABLE:
        return None


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
