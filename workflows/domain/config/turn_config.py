"""TurnConfig: a directory's configuration, frozen for a turn."""

import hashlib
from collections.abc import Mapping

from workflows.domain.agents.agent import Agent, RefusedAgent
from workflows.domain.agents.built_in import BUILD
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.config import Config
from workflows.domain.config.trust_items import UntrustedField
from workflows.domain.ids import Prefix, TurnConfigId
from workflows.domain.mcp import OfferedTool, TurnServer
from workflows.domain.output_format import OutputFormat
from workflows.domain.permissions.rules import deny_tools
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.skills import Skill
from workflows.domain.value import Value


class Instruction(Value):
    """A file of instructions; only its start, if not `complete`."""

    path: str
    text: str
    complete: bool = True


class UnsupportedField(Value):
    file: str
    field: str


class IgnoredFiles(Value):
    """Files of one folder that only OpenCode reads: their number, and the first `names`."""

    kind: str
    folder: str
    names: tuple[str, ...]
    count: int


class TurnConfig(Value):
    """A directory's configuration for one turn.

    `config` keeps its references, so it holds no value of a variable or key file. `rules`: of `agent` and the session.
    `home`: of the person who started the session (None: the worker's own). `model_is_managed`: no flag changes it.
    `format` (of the result that the turn owes) and `tools` are its prompt's; `rules` deny tools with false.
    `foreign_tools`: those that are not Holdfast's, as models are offered them in this turn, even if what offers them is
    gone; `servers`: how those were that offer them. Of the configured prompts, it holds that of `agent` and those of
    agents that Holdfast asks itself. `instruction_names`: of the files that a read attaches, in their order. `skills`:
    all of them, by name. `accepted`: what of the project's files people have accepted; `held`: what has no effect
    without; `untrusted_fields`: what never has. The last five are for that person.
    """

    directory: str
    worktree: str | None
    home: str | None = None
    model_is_managed: bool = False
    config: Config
    rules: Rulesets
    agent: Agent = BUILD
    delegation: Delegation = Delegation()
    format: OutputFormat | None = None
    tools: dict[str, bool] | None = None
    foreign_tools: tuple[OfferedTool, ...] = ()
    servers: tuple[TurnServer, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    instruction_names: tuple[str, ...] = ()
    skills: tuple[Skill, ...] = ()
    accepted: AcceptedTrust | None = None
    held: tuple[UntrustedField, ...] = ()
    untrusted_fields: tuple[UntrustedField, ...] = ()
    unsupported_fields: tuple[UnsupportedField, ...] = ()
    ignored: tuple[IgnoredFiles, ...] = ()
    refused_agents: tuple[RefusedAgent, ...] = ()
    warnings: tuple[str, ...] = ()

    def named_model(self, model: str | None, of_session: str | None, *, other_agent: bool) -> str | None:
        """The model that the turn's work names, else the session's; None: this configuration's. An `other_agent` than
        the one that the session began with brings its own model, if it has one (opencode.md 4.6)."""
        if self.model_is_managed:
            return None
        return model or (None if other_agent and self.agent.model else of_session)

    def named_variant(
        self, work: tuple[str | None, str | None], session: tuple[str | None, str | None], *, other_agent: bool
    ) -> str | None:
        """The variant that the turn's `work` names, else the session's where the turn has the session's model; None:
        the agent's. Each with its model."""
        (model, variant), (of_session, session_variant) = work, session
        own_model = other_agent and self.agent.model is not None and model is None
        return variant or (None if own_model or model not in (None, of_session) else session_variant)

    def of_prompt(self, format: OutputFormat | None, tools: Mapping[str, bool] | None) -> "TurnConfig":
        """The configuration of a turn that such a prompt opens. `tools` can only take tools away."""
        rules = self.rules.followed_by(deny_tools(tools or {}))
        return self.model_copy(update={"format": format, "tools": tools, "rules": rules})

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def id(self) -> TurnConfigId:
        """The id of its row, which events of its turns name."""
        return TurnConfigId(f"{Prefix.TURN_CONFIG}_{self.digest[:32]}")
