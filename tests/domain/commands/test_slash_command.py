"""The prompts that slash commands become."""

import pytest

from tests import cases
from tests.cases import Case
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.agents.built_in import BUILT_IN
from workflows.domain.commands.slash_command import SlashCommand, command_prompt
from workflows.domain.errors import UnknownAgent, UsageError
from workflows.domain.mentions import mentioned_names
from workflows.domain.messages import ShellPart, SubtaskPart, TextPart
from workflows.domain.prompt import Prompt

COMMANDS = [case for case in cases.entries("commands_template") if "command" in case.input]
AGENTS = (*BUILT_IN.values(), Agent(name="quick", mode=AgentMode.PRIMARY, model="p/small"))


def prompt_of(arguments: str = "", given: Prompt | None = None, **fields: object) -> Prompt:
    command = SlashCommand(name="x", **{"template": "x", **fields})
    return command_prompt(command, arguments, given or Prompt(parts=()), AGENTS, "build")


@pytest.mark.cases
@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: f"commands_template-{case.number}")
def test_a_command_works_as_this_agent(case: Case) -> None:
    fields = {"given": Prompt(parts=(), agent=case.input["session_agent"]), **case.input["command"]}
    if case.expected.get("error") == "agent_not_found":
        with pytest.raises(UnknownAgent, match="The command /x is for the agent 'nosuch', which is not there"):
            prompt_of(case.input["arguments"], **fields)
        return
    made = prompt_of(case.input["arguments"], **fields)
    assert made.agent == case.expected["user_message_agent"]
    part = made.parts[0]
    if "subtask_part" in case.expected:
        assert isinstance(part, SubtaskPart) and part.command == "x"  # so the model is told to go on afterwards
        assert {"agent": part.agent, "prompt": part.prompt} == case.expected["subtask_part"]
    else:
        assert part == TextPart(text=case.expected["text"])


@pytest.mark.parametrize(
    ("fields", "model", "variant"),
    [
        ({}, "p/given", "high"),
        ({"variant": "low"}, "p/given", "low"),
        ({"model": "p/own"}, "p/own", None),
        ({"agent": "quick"}, "p/small", None),
        ({"agent": "quick", "model": "p/own", "variant": "low"}, "p/own", "low"),
    ],
)
def test_the_commands_model_comes_before_its_agents_and_the_given_one(
    fields: dict[str, str], model: str, variant: str | None
) -> None:
    made = prompt_of(given=Prompt(parts=(), model="p/given", variant="high"), **fields)
    assert (made.model, made.variant, made.agent) == (model, variant, fields.get("agent"))


def test_a_subtask_has_the_commands_model_and_its_turn_the_given_one() -> None:
    made = prompt_of(given=Prompt(parts=(), model="p/given"), model="p/own", subtask=True, description="look")
    assert made.model == "p/given"
    assert made.parts == (SubtaskPart(agent="build", description="look", prompt="x", model="p/own", command="x"),)


@pytest.mark.parametrize(("trusted", "mentioned"), [(True, ("explore", "general")), (False, ("general",))])
def test_the_words_of_a_projects_command_are_not_a_persons(trusted: bool, mentioned: tuple[str, ...]) -> None:
    given = Prompt(parts=(TextPart(text="And @general."),))
    told = prompt_of("@plan", given, template="Let @explore look at $1.", trusted=trusted)
    ordered = prompt_of(given=Prompt(parts=()), subtask=True, trusted=trusted)
    by_project = prompt_of(given=Prompt(parts=()), subtask=True, trusted=trusted, agent_trusted=False)

    assert mentioned_names(told) == ("explore", "general") and mentioned_names(told.by_person) == mentioned
    assert list(ordered.by_person.subtasks) == ([0] if trusted else [])
    assert not by_project.by_person.subtasks


def test_a_command_opens_a_turn_and_names_its_template_and_references() -> None:
    made = prompt_of("b c", template="a !`ls $1`")
    assert made.opens_turn and made.command is not None
    assert (made.command.typed, made.command.template) == (
        "/x b c",
        SlashCommand(name="", template="a !`ls $1`").digest,
    )
    assert made.parts == (TextPart(text="a !`ls 'b c'`"), ShellPart(part=0, start=2, end=13, command="ls 'b c'"))


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(UsageError, match="/x is empty without arguments"):
        prompt_of(template="$1")
