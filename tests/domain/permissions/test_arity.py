"""Which words name a command."""

import pytest

from tests import cases
from workflows.domain.permissions.arity import always_pattern, command_prefix


@pytest.mark.parametrize("case", cases.load("arity"))
def test_the_prefix_is_opencodes(case: cases.Case) -> None:
    words = case.input["tokens"]
    assert {"prefix": list(command_prefix(words)), "always_pattern": always_pattern(words)} == case.expected
