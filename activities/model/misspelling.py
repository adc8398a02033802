"""Tells a misspelt name of a model from that of one that is newer than the tables."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from os.path import commonprefix
from typing import Final

_ALIKE: Final = 0.85  # of the letters of long names: "max" is not "min"


def find_meant(name: str, known: Sequence[str]) -> str | None:
    """The known name that a misspelt one means: one with the same numbers and almost the same letters, or the newest of
    those that contain a name without numbers. Other numbers are those of another version."""
    typed, numbers = name.lower(), re.sub(r"\D", "", name)
    if not numbers and len(typed) > 2 and (longer := [each for each in known if typed in each.lower()]):
        return max(longer, key=_version)
    by_letters = {_letters(each): each for each in known if re.sub(r"\D", "", each) == numbers}
    slips = [letters for letters in by_letters if _one_slip(letters, _letters(typed))]
    close = slips or get_close_matches(_letters(typed), by_letters, n=1, cutoff=_ALIKE)
    return by_letters[close[0]] if close else None


def _one_slip(one: str, other: str) -> bool:
    """A letter that is wrong, missing or too many, or two that changed places."""
    start = len(commonprefix((one, other)))
    one, other = one[start:][::-1], other[start:][::-1]
    end = len(commonprefix((one, other)))
    one, other = one[end:], other[end:]
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _version(name: str) -> tuple[list[int], int]:
    """Of names without a date; the shortest of equal ones is the model itself."""
    numbers = [int(each) for each in re.findall(r"\d+", name)]
    return ([] if any(each > 999 for each in numbers) else numbers), -len(name)
