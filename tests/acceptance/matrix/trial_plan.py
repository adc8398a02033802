"""The seeded choices by which the trials of a cell differ."""

from random import Random
from typing import Final, Self

from tests.acceptance.matrix.cells import Cell, CellFault, Point
from workflows.domain.value import Value

VARIANTS: Final = 12  # divisible by each moment's number of forms
_SHARE: Final = 0.25  # of the trials with a second worker


class TrialPlan(Value):
    """One trial. `fault` is None for the undisturbed run; `variant` selects the moment's form.

    `early`: the session leaves its moment while the killed parts are away, else when they are back. `supervisor`: where
    everything dies, the stack's supervisor dies too. `order` shuffles who dies first.
    """

    point: Point
    fault: CellFault | None = None
    seed: int = 0
    variant: int = 0
    early: bool = False
    supervisor: bool = False
    workers: int = 1
    order: int = 0

    @classmethod
    def draw(cls, cell: Cell, seed: int) -> Self:
        dice = Random(f"{cell.key} {seed}")
        return cls(
            point=cell.point,
            fault=cell.fault,
            seed=seed,
            variant=dice.randrange(VARIANTS),
            early=dice.random() < 0.5,
            supervisor=dice.random() < 0.5,
            workers=2 if dice.random() < _SHARE else 1,
            order=dice.randrange(1000),
        )

    @property
    def dice(self) -> Random:
        return Random(self.order)

    def undisturbed(self) -> Self:
        """The same plan without its fault."""
        return type(self)(point=self.point, variant=self.variant)
