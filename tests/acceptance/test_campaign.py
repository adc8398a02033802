"""A campaign counts honestly: draws can be repeated, and differences are found."""

import pytest

from tests.acceptance.matrix.campaign import count, is_sound, spread
from tests.acceptance.matrix.cells import CELLS, Cell, CellFault, Point
from tests.acceptance.matrix.fault_scenarios import SCENES
from tests.acceptance.matrix.matrix_results import CellResult, bound, quantile
from tests.acceptance.matrix.run_trial import TrialResult
from tests.acceptance.matrix.session_ends import SessionEnd, differences
from tests.acceptance.matrix.trial_plan import VARIANTS, TrialPlan

CELL = Cell(Point.STREAMING, CellFault.WORKER)
CALM = SessionEnd(transcript=("user: Do it.",), effects={"start one": 1}, events={"turn.ended": 1}, files={"a": b"1"})


def test_every_cell_has_a_scene() -> None:
    assert {cell.point for cell in CELLS} == set(SCENES)
    assert len({cell.key for cell in CELLS}) == len(CELLS) == 36


def test_a_seed_draws_the_same_plan_again_and_seeds_reach_all_forms_of_a_moment() -> None:
    plans = [TrialPlan.draw(CELL, seed) for seed in range(200)]
    assert plans == [TrialPlan.draw(CELL, seed) for seed in range(200)]
    assert {plan.variant for plan in plans} == set(range(VARIANTS))
    assert {(plan.early, plan.workers) for plan in plans} == {(early, n) for early in (False, True) for n in (1, 2)}


def test_trials_are_spread_over_the_cells_with_one_seed_after_the_other() -> None:
    other = Cell(Point.RUNNING, CellFault.ALL)
    assert list(spread([CELL, other], 3, seed=7)) == [(CELL, 7), (other, 7), (CELL, 8)]


@pytest.mark.parametrize(
    "change",
    [{"transcript": ()}, {"effects": {"start one": 2}}, {"events": {}}, {"files": {"a": b"2"}}],
    ids=lambda change: next(iter(change)),
)
def test_an_end_that_differs_is_found(change: dict[str, object]) -> None:
    assert len(list(differences(CALM, CALM.model_copy(update=change)))) == 1
    assert list(differences(CALM, CALM)) == []


def test_failures_count_and_what_did_not_fire_is_no_pass() -> None:
    plan = TrialPlan.draw(CELL, 1)
    passed = TrialResult(plan, fired=True, recovery=1.25)
    figure = count(
        [passed, TrialResult(plan, fired=True, problems=["I2"], recovery=9.0), TrialResult(plan, fired=False)]
    )
    assert figure == CellResult(trials=3, not_fired=1, failed=1, recoveries=(1.25,))


@pytest.mark.parametrize(
    ("figure", "green"),
    [
        (CellResult(trials=100, not_fired=2), True),
        (CellResult(trials=100, not_fired=3), False),
        (CellResult(trials=9, failed=1), False),
    ],
)
def test_one_failure_or_more_than_two_percent_not_fired_is_red(figure: CellResult, green: bool) -> None:
    assert is_sound(figure) is green


def test_results_are_stated_with_the_number_of_trials() -> None:
    assert bound(CellResult(trials=300)) == "below 1.0% at 95 % confidence (rule of three)"
    assert bound(CellResult(trials=300, not_fired=2, failed=1)) == "1 of 298 failed"


def test_quantiles_are_values_that_were_measured() -> None:
    assert [quantile((3.0, 1.0, 2.0), share) for share in (0.5, 0.95)] == [2.0, 3.0]
    assert quantile((), 0.5) == 0.0
