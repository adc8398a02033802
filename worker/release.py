"""Holdfast's version, and its build, which distinguishes installations of one version."""

import hashlib
import re
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

from workflows.domain.value import Value

_NAME: Final = "holdfast"
_VERSION: Final = re.compile(r"^Version: (\S+)$", re.MULTILINE)
_DIGITS: Final = 8


class Release(Value):
    """`build` is a digest of the list of installed files, if there is one; an editable install hardly changes it."""

    version: str
    build: str = ""

    def __str__(self) -> str:
        return f"{self.version} (build {self.build})" if self.build else self.version


def installed_release() -> Release:
    """This process's release; call at the start: an upgrade replaces the files."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return Release(version="unknown")
    named = _VERSION.search(found.read_text("METADATA") or "")  # `found.version` would parse all of it
    record = found.read_text("RECORD")
    build = hashlib.sha256(record.encode()).hexdigest()[:_DIGITS] if record else ""
    return Release(version=named[1] if named else "unknown", build=build)
