"""What a call would do to the world, exactly; its digest; and how a call is recovered after a crash."""

import hashlib
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from workflows.domain.chain import canonical
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.value import Value


class Recovery(StrEnum):
    """What a later attempt may do when it finds the claim of an earlier one (reliability.md 6)."""

    REPEATABLE = "repeatable"
    IDEMPOTENT = "idempotent"
    RECONCILABLE = "reconcilable"
    REATTACHABLE = "reattachable"
    ONCE = "once"


class Target(Value):
    """One file that a call changes or runs: real path, SHA-256 of its bytes before (None: absent) and after.

    `before` of a program that is too large to be read is what the file system says of it.
    """

    path: str
    before: str | None
    after: str | None = None


class Effect(Value):
    """The effect record (security.md 4): what a person approves, and what the claim recomputes.

    `arguments` are the validated arguments as the model sent them, or the raw command. `unchecked`: the world could
    not be looked at, so nothing but tool, arguments and directory is known.
    """

    version: int = 1
    tool: str
    arguments: dict[str, JsonValue]
    directory: str
    environment: dict[str, str] = {}
    targets: tuple[Target, ...] = ()
    sandbox: str = "none"
    unchecked: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical record, in hex: what ask, answer, claim and outcome carry."""
        record = self.model_dump(mode="json", exclude=None if self.unchecked else {"unchecked"})
        return hashlib.sha256(canonical(_exact(record))).hexdigest()


class Plan(Value):
    """What a call would do and what has to be permitted for it, seen without any effect.

    Made twice: when the model's answer is stored, and again in the claim, directly before the effect; a
    difference between the two is drift. `file_key` names the file that is changed, so that two calls with the
    same key run one after the other.
    """

    requests: tuple[PermissionRequest, ...]
    effect: Effect
    file_key: str | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.effect.targets


def input_digest(tool: str, arguments: dict[str, Any]) -> str:
    """A short digest of tool and arguments, for the loop guard: equal calls have equal digests."""
    return hashlib.sha256(canonical({"tool": tool, "input": _exact(arguments)})).hexdigest()[:16]


def _exact(value: Any) -> Any:
    """Floats as text: canonical JSON holds none, and a model may write some."""
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return [_exact(item) for item in value] if isinstance(value, list) else value
