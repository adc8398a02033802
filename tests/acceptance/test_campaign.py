"""A campaign counts honestly: draws can be repeated, and differences are found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.effect_ledger import EffectMoment
from tests.acceptance.fault_counts import FaultCounts, FaultResult, quantile
from tests.acceptance.matrix.fault_scenarios import SCENARIOS
from tests.acceptance.matrix.trial_plan import CELLS, VARIANTS, Cell, CellFault, Point, TrialPlan, spread
from tests.acceptance.outline import difference, log, outline
from tests.acceptance.sample_records import CALL, LOG, line, session, valid_records
from workflows.domain.events.calls import CallClaimed, CallFinished

CELL = Cell(Point.STREAMING, CellFault.WORKER)
CLAIM = next(event for event in LOG if isinstance(event, CallClaimed))


def test_every_cell_has_a_scenario() -> None:
    assert {cell.point for cell in CELLS} == set(SCENARIOS)
    assert len({cell.key for cell in CELLS}) == len(CELLS) == 40


def test_a_seed_draws_the_same_plan_again_and_seeds_reach_all_forms_of_a_moment() -> None:
    plans = [TrialPlan.draw(CELL, seed) for seed in range(200)]
    assert plans == [TrialPlan.draw(CELL, seed) for seed in range(200)]
    assert {plan.variant for plan in plans} == set(range(VARIANTS))
    assert {(plan.early, plan.workers) for plan in plans} == {(early, n) for early in (False, True) for n in (1, 2)}


def test_trials_are_spread_over_the_cells_with_one_seed_after_the_other() -> None:
    other = Cell(Point.RUNNING, CellFault.ALL)
    drawn = [TrialPlan.draw(*each) for each in ((CELL, 7), (other, 7), (CELL, 8))]
    assert spread([CELL, other], 3, seed=7) == drawn


@pytest.mark.parametrize(
    "change",
    [
        {"sessions": [session(transcript=())]},
        {"sessions": [session(LOG[:-1])]},
        {"effects": [line(EffectMoment.START, 8.3), line(EffectMoment.START, 8.4)]},
    ],
    ids=["transcript", "log", "effects"],
)
def test_an_end_that_differs_is_found(change: dict[str, Any], tmp_path: Path) -> None:
    calm = outline(valid_records(), tmp_path)
    assert difference(calm, outline(valid_records(), tmp_path)) == []
    assert difference(calm, outline(replace(valid_records(), **change), tmp_path))
    (tmp_path / "a.txt").write_text("written\n")
    assert difference(calm, outline(valid_records(), tmp_path)) == [r"+file a.txt b'written\n'"]


def test_an_outline_tells_what_else_has_happened_and_leaves_out_that_it_was_tried_again() -> None:
    again = CLAIM.model_copy(update={"fence": (1, 1, 2, 2), "recovered": True})
    other = CallFinished(call=CALL, state="unknown", seal="salted")
    course = list(log(LOG))
    assert difference(course, list(log([*LOG[:9], again, *LOG[9:]]))) == []
    assert len(difference(course, list(log([*LOG[:9], other, *LOG[10:]])))) == 2
    assert len(difference(course, list(log([*LOG, LOG[9]])))) == 1


def test_failures_count_and_what_did_not_fire_is_no_pass() -> None:
    passed = FaultResult(fired=True, recovery=1.25)
    figure = FaultCounts.of([passed, FaultResult(fired=True, problems=["I2"], recovery=9.0), FaultResult(fired=False)])
    assert figure == FaultCounts(trials=3, not_fired=1, failed=1, recoveries=(1.25,))


@pytest.mark.parametrize(
    ("figure", "green"),
    [
        (FaultCounts(trials=100, not_fired=2), True),
        (FaultCounts(trials=100, not_fired=3), False),
        (FaultCounts(trials=9, failed=1), False),
    ],
)
def test_one_failure_or_more_than_two_percent_not_fired_is_red(figure: FaultCounts, green: bool) -> None:
    assert figure.sound is green


def test_results_are_stated_with_the_number_of_trials() -> None:
    assert FaultCounts(trials=300).bound == "below 1.0% at 95 % confidence (rule of three)"
    assert FaultCounts(trials=300, not_fired=2, failed=1).bound == "1 of 298 failed"


def test_quantiles_are_values_that_were_measured() -> None:
    assert [quantile((3.0, 1.0, 2.0), share) for share in (0.5, 0.95)] == [2.0, 3.0]
    assert quantile((), 0.5) == 0.0
