"""Which words name a command."""

import pytest

from tests import cases
from workflows.domain.permissions.arity import command_prefix


@pytest.mark.parametrize("case", cases.load("arity"))
def test_the_prefix_is_opencodes(case: cases.Case) -> None:
    prefix = list(command_prefix(case.input["tokens"]))
    assert {"prefix": prefix, "always_pattern": f"{' '.join(prefix)} *"} == case.expected
