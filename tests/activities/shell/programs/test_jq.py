"""jq filters: only those that see nothing but their input are understood."""

import pytest

from activities.shell.programs.jq import only_prints


@pytest.mark.parametrize("program", [".name", ".env, .input", r'to_entries[] | "\(.key)=\(.value)"', ".a as $x | $x"])
def test_a_filter_of_its_input_is_understood(program: str) -> None:
    assert only_prints(program)


@pytest.mark.parametrize("program", ["env", "$ENV.HOME", ".a | input", "[inputs]", 'import "a" as b; .', "{env}"])
def test_a_filter_that_reaches_further_is_not(program: str) -> None:
    assert not only_prints(program)
