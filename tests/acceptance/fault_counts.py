"""The results of trials with faults, and their figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from workflows.domain.value import Value

_ALLOWED: Final = 0.02  # of the trials may miss their moment (reliability.md 9)


@dataclass(frozen=True)
class FaultResult:
    """One trial: `problems` is empty if it ended as undisturbed; `recovery`: seconds until a session went on."""

    fired: bool
    problems: Sequence[str] = ()
    recovery: float | None = None

    @property
    def passed(self) -> bool:
        return self.fired and not self.problems


class FaultCounts(Value):
    """Many trials: `recoveries` are those of the passed ones."""

    trials: int = 0
    not_fired: int = 0
    failed: int = 0
    recoveries: tuple[float, ...] = ()

    @classmethod
    def of(cls, results: Sequence[FaultResult]) -> Self:
        return cls(
            trials=len(results),
            not_fired=sum(not result.fired for result in results),
            failed=sum(bool(result.problems) for result in results),
            recoveries=tuple(round(each.recovery, 2) for each in results if each.passed and each.recovery is not None),
        )

    @property
    def sound(self) -> bool:
        return not self.failed and self.not_fired <= _ALLOWED * self.trials

    @property
    def median(self) -> float:
        return quantile(self.recoveries, 0.5)

    @property
    def p95(self) -> float:
        return quantile(self.recoveries, 0.95)

    @property
    def bound(self) -> str:
        """The upper bound of the true failure rate at 95 % confidence: three in n without failures."""
        fired = self.trials - self.not_fired
        if not fired or self.failed:
            return f"{self.failed} of {fired} failed"
        return f"below {3 / fired:.1%} at 95 % confidence (rule of three)" if fired > 3 else "too few to say more"

    def __str__(self) -> str:
        return f"{self.trials:4} trials, {self.failed} failed, {self.not_fired} not fired"


def quantile(values: tuple[float, ...], share: float) -> float:
    """The smallest value that at least this share does not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)] if ordered else 0.0
