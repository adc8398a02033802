"""The supported Pythons of this machine; run as a program, it names the oldest.

It runs before anything is installed, so it needs only the standard library, of any age.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".uv" / "bin" / "uv"
SUPPORTED = ">=3.11.2,<3.15"
MINORS = ("3.11", "3.12", "3.13", "3.14")
_USUAL = ("usr/bin", "usr/local/bin", "opt/python*/bin")


class Python(NamedTuple):
    """An interpreter of this machine."""

    version: tuple[int, ...]
    path: str

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def minor(self) -> str:
        return ".".join(map(str, self.version[:2]))


def installed() -> list[Python]:
    """One interpreter of each version, the oldest first: of the PATH, pyenv, uv, and the usual places."""
    places = [os.environ.get("PATH", os.defpath), *_usual()]
    listed = subprocess.run(
        [str(UV), "python", "list", SUPPORTED, "--only-installed", "--output-format", "json"],
        env={**os.environ, "PATH": os.pathsep.join(places)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it reports every dead shim
        check=True,
    ).stdout
    found: dict[tuple[int, ...], Python] = {}
    for each in json.loads(listed):
        version = tuple(int(each["version_parts"][part]) for part in ("major", "minor", "patch"))
        shim = "shims" in Path(each["path"]).parts  # pyenv's lead to the currently chosen Python
        if each["variant"] == "default" and each["implementation"] == "cpython" and not shim:
            found.setdefault(version, Python(version, each["path"]))
    return [found[version] for version in sorted(found)]


def _usual() -> list[str]:
    homes = {Path(os.environ.get("PYENV_ROOT") or "/nowhere"), Path.home() / ".pyenv"}
    patterns = [*((Path("/"), each) for each in _USUAL), *((home, "versions/*/bin") for home in homes)]
    return [str(path) for root, pattern in patterns for path in root.glob(pattern)]


if __name__ == "__main__":
    print("".join(each.path for each in installed()[:1]))
