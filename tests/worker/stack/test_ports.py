"""Ports are chosen once, and again only when somebody else has taken them."""

import socket
from pathlib import Path

from worker.stack import ports


def test_chosen_ports_are_remembered(tmp_path: Path) -> None:
    first = ports.remembered(tmp_path / "ports.json")

    assert ports.remembered(tmp_path / "ports.json") == first
    assert first.temporal != first.ui


def test_a_port_that_another_program_took_is_replaced(tmp_path: Path) -> None:
    first = ports.remembered(tmp_path / "ports.json")
    with socket.create_server((ports.LOOPBACK, first.temporal)):
        second = ports.remembered(tmp_path / "ports.json")

    assert second.temporal != first.temporal
    assert ports.noted(tmp_path / "ports.json") == second


def test_a_broken_note_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text("{")

    assert ports.remembered(tmp_path / "ports.json") == ports.noted(tmp_path / "ports.json")
