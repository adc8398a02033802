"""The notice for people that agents' commands are not isolated yet (security.md 8, level 1)."""

from typing import Final

NOTICE: Final = "Commands of the agent are not isolated: they run as you, and may read and change whatever you may."
REMEDY: Final = "Allow what you would run yourself, and be asked about the rest."
