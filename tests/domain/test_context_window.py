"""When a context is full (opencode.md 4.4)."""

import pytest

from tests.cases import Case, load
from workflows.domain.config.config import Compaction
from workflows.domain.context_window import overflows, usable_tokens
from workflows.domain.usage import Tokens


@pytest.mark.parametrize("case", load("overflow"))
def test_a_context_is_full_as_in_the_case(case: Case) -> None:
    limit, counted = case.input["model_limit"], case.input["tokens"]
    settings = Compaction.model_validate(case.input["config"].get("compaction", {}))
    usable = usable_tokens(
        context=limit["context"], max_input=limit.get("input", 0), max_output=limit["output"], compaction=settings
    )
    tokens = Tokens(
        total=counted.get("total") or None,
        input=counted["input"],
        output=counted["output"],
        reasoning=counted["reasoning"],
        cache_read=counted["cache"]["read"],
        cache_write=counted["cache"]["write"],
    )

    assert usable == case.expected["usable"]
    assert (settings.auto and overflows(tokens.context, usable)) == case.expected["overflow"]


def test_a_context_of_unknown_size_is_never_full() -> None:
    usable = usable_tokens(context=0, max_input=0, max_output=0, compaction=Compaction())

    assert not overflows(10_000_000, usable)


@pytest.mark.parametrize(("context", "output"), [(8_000, 0), (32_768, 32_768), (8_000, 8_000)])
def test_an_answers_limit_leaves_half_of_a_small_context(context: int, output: int) -> None:
    assert usable_tokens(context=context, max_input=0, max_output=output, compaction=Compaction()) == context // 2
