"""Ports are chosen once, and again only if they were taken."""

import socket
from pathlib import Path

from worker.stack import ports


def test_chosen_ports_are_remembered(tmp_path: Path) -> None:
    first = ports.load_or_choose(tmp_path / "ports.json")

    assert ports.load_or_choose(tmp_path / "ports.json") == first
    assert first.temporal != first.ui


def test_a_port_that_another_program_took_is_replaced(tmp_path: Path) -> None:
    first = ports.load_or_choose(tmp_path / "ports.json")
    with socket.create_server((ports.LOOPBACK, first.temporal)):
        second = ports.load_or_choose(tmp_path / "ports.json")

    assert second.temporal != first.temporal
    assert ports.load(tmp_path / "ports.json") == second


def test_a_broken_note_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text("{")

    assert ports.load_or_choose(tmp_path / "ports.json") == ports.load(tmp_path / "ports.json")
