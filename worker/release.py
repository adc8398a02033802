"""Which Holdfast this is: its version, and the build, which tells two installations of one version apart."""

import hashlib
import re
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

from workflows.domain.value import Value

_NAME: Final = "holdfast"
_VERSION: Final = re.compile(r"^Version: (\S+)$", re.MULTILINE)
_DIGITS: Final = 8


class Release(Value):
    """A Holdfast. `build` comes of the list of installed files, where one is there; an editable one hardly changes."""

    version: str
    build: str = ""

    def __str__(self) -> str:
        return f"{self.version} (build {self.build})" if self.build else self.version


def mine() -> Release:
    """The one that this process was started from; ask at its start, for an upgrade replaces the files under it."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return Release(version="unknown")
    named = _VERSION.search(found.read_text("METADATA") or "")  # all of it is parsed for `found.version`
    record = found.read_text("RECORD")
    build = hashlib.sha256(record.encode()).hexdigest()[:_DIGITS] if record else ""
    return Release(version=named[1] if named else "unknown", build=build)
