"""Shortens texts: together they fit a number of characters."""

from collections.abc import Sequence
from typing import Final

LEFT_OUT: Final = "[…]"


def share_out(lengths: Sequence[int], room: int) -> list[int]:
    """How much of each text fits: short ones whole, the others the same part of what they leave."""
    shares, left = [0] * len(lengths), max(room, 0)
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for done, place in enumerate(order):
        shares[place] = min(lengths[place], left // (len(order) - done))
        left -= shares[place]
    return shares


def head_and_end(text: str, length: int) -> tuple[str, str]:
    """Half of `length` characters from each."""
    end = length // 2
    return text[: length - end], text[len(text) - end :]


def shorten(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"\n{LEFT_OUT}\n".join(head_and_end(text, length))
