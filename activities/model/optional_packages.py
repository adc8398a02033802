"""Packages that only some providers need: extras of Holdfast's own package."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from workflows.domain.errors import UsageError

_OF_PROTOCOLS: Final = {"bedrock": ("bedrock", "botocore")}  # protocol → its extra, and a package that this brings


def check_extra(protocol: str) -> None:
    """Raises UsageError if the extra that a protocol needs is not installed; imports nothing."""
    extra, package = _OF_PROTOCOLS.get(protocol, ("", ""))
    if package and find_spec(package) is None:
        raise _missing(extra, package)


def import_extra(extra: str, module: str) -> ModuleType:
    """The module. Raises UsageError with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(extra, error.name or module) from error


def _missing(extra: str, package: str) -> UsageError:
    return UsageError(
        f"A package is missing ({package}): install holdfast[{extra}], in Holdfast's directory by "
        f"`make install EXTRAS={extra}`, then restart the worker (`holdfast up --restart-worker`)."
    )
