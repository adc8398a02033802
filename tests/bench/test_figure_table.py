"""The table of figures: what is judged, and how it is shown."""

import pytest

from bench.figure_table import Budget, Figure, table


@pytest.mark.parametrize(
    ("ours", "verdict"), [(9.0, "aim reached"), (10.0, "aim reached"), (12.0, "within must"), (13.1, "ABOVE MUST")]
)
def test_a_ratio_is_judged_beside_its_floor(ours: float, verdict: str) -> None:
    figure = Figure("overhead", ours, 10.0, Budget(must=1.3, aim=1.0, ratio=True))
    assert figure.verdict == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(6.0, "BELOW MUST"), (8.0, "within must"), (11.0, "aim reached")])
def test_a_rate_has_to_reach_its_budget(ours: float, verdict: str) -> None:
    figure = Figure("steps per second", ours, 10.0, Budget(must=0.7, aim=1.0, ratio=True, at_least=True))
    assert figure.verdict == verdict


def test_paired_rounds_bring_their_own_ratio() -> None:
    assert Figure("overhead", 20.0, 10.0, ratio=1.5).quotient == 1.5


def test_a_figure_without_a_budget_is_not_judged() -> None:
    assert Figure("memory", 100.0).verdict == ""


def test_the_table_has_one_aligned_line_per_figure() -> None:
    lines = table([Figure("bytes", 1844, None, Budget(must=2200, aim=1700), digits=0), Figure("ms", 1.25)]).splitlines()
    assert lines[1].split() == ["bytes", "1,844", "≤", "2200", "≤", "1700", "within", "must"]
    assert lines[0].index("ours") + len("ours") == lines[1].index("1,844") + len("1,844")
