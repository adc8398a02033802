"""Has a model write an agent from a description (opencode.md 1.4)."""

import re
from collections.abc import Collection
from contextlib import aclosing
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from activities.model.endpoints import ResolvedModel
from activities.model.port import InputMessage, ModelPort, SystemInput, UserInput
from activities.model.result_formats import as_result, own_format
from activities.model.stream import Answer, AnswerAssembler
from prompts import render_prompt
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.errors import UsageError
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.tool_offer import ToolOffer

ARCHITECT: Final = Agent(name="architect", mode=AgentMode.PRIMARY, hidden=True, temperature=0.3)
_TRIES: Final = 2
_IDENTIFIER: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+|[a-z0-9]{3,}")
_MOST_IDENTIFIER: Final = 50  # characters
_MOST_DESCRIPTION: Final = 2_000
_MOST_PROMPT: Final = 32_000


class WrittenAgent(BaseModel):
    """`when_to_use` becomes the description."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, extra="forbid")

    identifier: str = Field(max_length=_MOST_IDENTIFIER, description="Its name, as in `sql-reviewer`.")
    when_to_use: str = Field(
        min_length=1, max_length=_MOST_DESCRIPTION, description="For those who choose between agents."
    )
    system_prompt: str = Field(min_length=1, max_length=_MOST_PROMPT, description="Its instructions.")


async def write_agent(
    resolved: ResolvedModel, port: ModelPort, description: str, taken: Collection[str]
) -> WrittenAgent:
    """Ask the model, and once more where its answer cannot be used.

    Raises ModelError, and UsageError where neither answer could be used.
    """
    names = ", ".join(sorted(taken))
    request = render_prompt("architect/request", description=description, taken=names)
    asked = request
    for _ in range(_TRIES):
        answer = await _ask(resolved, port, asked)
        try:
            return _read(answer, taken)
        except ValueError as error:
            problem = str(error)
            asked = render_prompt("architect/again", request=request, problem=problem)
    raise UsageError(f"The model gave no agent that can be used, twice: {problem} Nothing was written.")


async def _ask(resolved: ResolvedModel, port: ModelPort, text: str) -> Answer:
    """Raises ModelError."""
    system = SystemInput(content=render_prompt("architect/instructions"))
    messages: tuple[InputMessage, ...] = (system, UserInput(content=text))
    schema = WrittenAgent.model_json_schema()
    offer = ToolOffer(name=STRUCTURED_OUTPUT, description="Takes the agent that you have written.", parameters=schema)
    form = own_format(resolved.endpoint, OutputFormat(json_schema=schema))
    assembler = AnswerAssembler()
    async with aclosing(port.stream(resolved.request(messages, (offer,), format=form))) as batches:
        async for events in batches:
            for event in events:
                assembler.add(event)
    return as_result(assembler.answer())


def _read(answer: Answer, taken: Collection[str]) -> WrittenAgent:
    """Raises ValueError, in words for the model."""
    call = next((each for each in answer.calls if each.name == STRUCTURED_OUTPUT), None)
    if call is None:
        raise ValueError("it did not call the tool that takes the agent.")
    try:
        agent = WrittenAgent.model_validate_json(call.arguments)
    except ValidationError as error:
        flaws = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in error.errors())
        raise ValueError(f"{flaws}.") from error
    if not _IDENTIFIER.fullmatch(agent.identifier):
        raise ValueError(f"the identifier {agent.identifier!r} is not of lower-case words, joined by hyphens.")
    if agent.identifier in taken:
        raise ValueError(f"the identifier {agent.identifier!r} is in use.")
    return agent
