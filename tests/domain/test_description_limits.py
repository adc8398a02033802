from workflows.domain.agents.agent import Agent
from workflows.domain.description_limits import (
    MAX_DESCRIPTION_CHARS,
    MAX_LISTED_CHARS,
    shorten_description,
    split_listed,
)


def test_a_long_description_is_cut_and_a_model_is_told_of_what_fits() -> None:
    long = "x" * MAX_DESCRIPTION_CHARS
    agents = [Agent(name=f"{number:03}", description=long + "y") for number in range(100)]

    listed, others = split_listed(agents)

    assert shorten_description(long) == long and shorten_description(long + "y") == long[1:] + "…"
    assert [*listed, *others] == agents and len(listed) == MAX_LISTED_CHARS // (MAX_DESCRIPTION_CHARS + 3)
