"""invalid tells a model what was wrong with its call."""

from activities.files.place import Place
from activities.tools.invalid import Invalid, InvalidParams
from tests.activities.tools.calling import surroundings


async def test_nothing_is_asked_and_the_error_is_told(place: Place) -> None:
    params = InvalidParams(tool="nope", error="Model tried to call unavailable tool 'nope'.")
    plan = await Invalid().plan(params, place)
    output = await Invalid().run(params, plan, surroundings(place))
    assert plan.requests == ()
    assert output.title == "Invalid Tool"
    assert output.output == (
        "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'nope'."
    )
