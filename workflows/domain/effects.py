"""What exactly a call would do, and how it is recovered after a crash."""

import hashlib
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from workflows.domain.call_order import Extent
from workflows.domain.hash_chain import canonical_json
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import CallRequest, Question, QuestionRequest
from workflows.domain.value import Value


class Recovery(StrEnum):
    """What a later attempt may do with an earlier one's claim (reliability.md 6)."""

    REPEATABLE = "repeatable"
    IDEMPOTENT = "idempotent"
    RECONCILABLE = "reconcilable"
    REATTACHABLE = "reattachable"
    ONCE = "once"

    @property
    def may_run_again(self) -> bool:
        return self in (Recovery.REPEATABLE, Recovery.IDEMPOTENT)


class Target(Value):
    """A file that a call changes or runs: real path, SHA-256 before (None: absent; too large: its metadata) and
    after."""

    path: str
    before: str | None
    after: str | None = None


class Effect(Value):
    """The effect record (security.md 4): a person approves it, the claim recomputes it. `arguments`: validated, or the
    raw command. `server`: whose tool it is, and `definition`, the digest of what the tool is there. `opens`: of a call
    that starts processes, what they may reach after a yes (`Rulesets.opened`): a sandbox is to be made from it.
    `unchecked`: only tool, arguments, directory and that are known."""

    version: int = 1
    tool: str
    arguments: dict[str, JsonValue]
    directory: str
    environment: dict[str, str] = {}
    targets: tuple[Target, ...] = ()
    sandbox: str = "none"
    opens: Rulesets | None = Field(default=None, exclude_if=lambda opens: opens is None)
    server: str = Field("", exclude_if=lambda server: not server)
    definition: str = Field("", exclude_if=lambda digest: not digest)
    unchecked: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical record in hex; ask, answer, claim and outcome carry it."""
        record = self.model_dump(mode="json", exclude=None if self.unchecked else {"unchecked"})
        return hashlib.sha256(canonical_json(_floats_as_text(record))).hexdigest()


class Plan(Value):
    """A call's effect and the permissions it needs, found without side effects.

    Made when the answer is stored and again in the claim; a difference is drift. `quick`: ends within milliseconds and
    may run twice. `questions`: for a person, to be answered before it runs. `note`: for the model, in the result.
    `replaced`: files whose content is given anew: the session has to have seen what they hold.
    `extent`: of a tool that is not ours, how it is ordered.
    """

    requests: tuple[PermissionRequest, ...]
    effect: Effect
    quick: bool = False
    questions: tuple[Question, ...] = ()
    note: str = Field(default="", exclude_if=lambda note: not note)
    replaced: tuple[str, ...] = Field(default=(), exclude_if=lambda replaced: not replaced)
    extent: Extent | None = Field(default=None, exclude_if=lambda extent: extent is None)

    @property
    def asks(self) -> tuple[CallRequest, ...]:
        """What may need a person, in the order of asking."""
        return (*self.requests, QuestionRequest(questions=self.questions)) if self.questions else self.requests

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.effect.targets

    @property
    def replaced_targets(self) -> tuple[Target, ...]:
        return tuple(each for each in self.targets if each.path in self.replaced)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(each.path for each in self.targets)


def input_digest(tool: str, arguments: dict[str, Any]) -> str:
    """A digest that is equal for equal tool and arguments."""
    return hashlib.sha256(canonical_json({"tool": tool, "input": _floats_as_text(arguments)})).hexdigest()[:16]


def _floats_as_text(value: Any) -> Any:
    """Canonical JSON holds no floats, but a model may write some."""
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, dict):
        return {key: _floats_as_text(item) for key, item in value.items()}
    return [_floats_as_text(item) for item in value] if isinstance(value, list) else value
