"""CheckedConfig: what a directory's files say, and what of it counts (security.md 12)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from activities.files.workspace import Workspace
from activities.project.command_trust import command_starts, project_commands
from activities.project.config_rules import configured_rules, rules_of
from activities.project.instructions import FoundInstructions, read_instructions
from activities.project.prompt_files import ReadPrompts, read_prompts
from activities.project.remote_instructions import foreign_addresses
from activities.project.skill_files import ConfiguredFolders, configured_folders
from activities.project.trust_contents import pin_contents, with_contents
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, BUILT_IN, RESERVED
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.agent_selection import available_agents, default_agent, visible_names
from workflows.domain.config.config import Config
from workflows.domain.config.merge import ConfigLayer, merge_files
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import (
    Choice,
    apply_trust,
    find_rules,
    find_starts,
    never_counting,
    own_rules,
    with_whole_servers,
    without_held,
)
from workflows.domain.config.trust_items import NOTHING, Places, TrustContent, TrustItem, UntrustedField
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions import rules
from workflows.domain.permissions.findings import RuleSource
from workflows.domain.permissions.permission_keys import BASH
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets


@dataclass(frozen=True)
class CheckedConfig:
    """`files`: as they were read; `layers`: what counts of them. `own`: of one's own and the accepted files. `content`:
    what of the project's a person may accept; `held`: what has no effect without."""

    workspace: Workspace
    sources: ConfigSources
    files: tuple[ConfigLayer, ...]
    layers: tuple[ConfigLayer, ...]
    choice: Choice
    settings: Config
    own: Config
    managed: Config
    agents: Mapping[str, Agent]
    prompts: ReadPrompts
    instructions: FoundInstructions
    skill_folders: ConfiguredFolders
    content: TrustContent
    held: tuple[TrustItem, ...]
    ignored: tuple[UntrustedField, ...]

    @property
    def may_be_accepted(self) -> bool:
        return bool(self.content.items) and self.own.holdfast.trust != "never"

    def with_trust(self, accepted: AcceptedTrust) -> "CheckedConfig":
        """The same files, with what a person has accepted of their `content`."""
        digests = {each.digest for each in accepted.starts}
        starts = tuple(each for digest, each in self.content.start_digests.items() if digest in digests)
        found = check_trust(self.files, self.workspace, self.sources, starts, rules_accepted=accepted.rules)
        return replace(found, content=self.content)

    def rulesets(self, agent: str, of_skills: Iterable[Rule] = ()) -> Rulesets:
        """What judges an agent's calls: one's own rules for it, those of all files, and the administrator's. An agent
        that only the project has is judged as one's default agent, and as `build` without settings of its own."""
        of_skills = tuple(of_skills)
        own = [(agent, self.own)]
        if agent not in BUILT_IN and agent not in self.own.agent:
            plain = self.own.model_copy(update={"agent": {}})
            own = [(self.choice.default, self.own), (BUILD.name, plain)]
        found = Rulesets.of(*(rules_of(name, config, self.workspace, of_skills) for name, config in own))
        found = found.with_set(rules_of(agent, self.settings, self.workspace, of_skills), RuleSource.PROJECT)
        if ceiling := configured_rules(agent, self.managed, self.workspace):
            found = found.with_set((*found.sets[0].rules, *ceiling), RuleSource.ADMINISTRATOR)
        return found

    def eased_rules(self) -> Iterator[tuple[str, Rule, str]]:
        """What of one's own rules would be easier if the project's were accepted: the agent, a rule with what it says
        then, and what is said now; by the patterns of both, which are no more than samples. A narrower allow of
        commands names words that a wide one leaves as questions."""
        for agent in sorted({self.choice.default, *self.own.agent} - RESERVED):
            own, merged = (rules_of(agent, config, self.workspace) for config in (self.own, self.settings))
            for permission, pattern in dict.fromkeys((each.permission, each.pattern) for each in (*own, *merged)):
                now, then = (rules.evaluate(permission, pattern, each) for each in (own, merged))
                named = permission == BASH and then.rule not in own and then.action is now.action is Action.ALLOW
                if then.action.strictness < now.action.strictness or named:
                    before = "allow, but asks about some words" if named else now.action.value
                    yield agent, Rule(permission=permission, pattern=pattern, action=then.action), before

    def default_agent(self) -> Agent:
        """Who works where nobody names an agent. Raises UnknownAgent, also where the project's files leave only one
        that they may not choose."""
        naming = (layer.file for layer in reversed(self.layers) if layer.tree.get("default_agent"))
        agent = default_agent(self.settings, self.agents, next(naming, None))
        named = any(agent.name == each.tree.get("default_agent") for each in self.layers)
        if named or self.choice.allows(agent.name) or all(each.trusted for each in self.layers):
            return agent
        raise UnknownAgent(
            f"The files of this project take away {self.choice.default!r}, your default agent: name the one that is "
            "to work with `--agent`.",
            visible_names(self.agents),
        )


def check_trust(
    files: tuple[ConfigLayer, ...],
    workspace: Workspace,
    sources: ConfigSources,
    accepted: Sequence[TrustItem] = (),
    *,
    rules_accepted: bool = False,
) -> CheckedConfig:
    """`accepted`: the starts that count. Raises ConfigError."""
    known = TrustContent(starts=tuple(accepted)) if accepted else NOTHING
    prompts = read_prompts(files, workspace.root, accepted=known)
    layers = pin_contents(prompts.layers, accepted, workspace.home)
    foreign = [layer for layer in layers if not layer.trusted]
    choice = Choice(Config.model_validate(merge_files(layer.tree for layer in layers if layer.trusted)))
    commands = project_commands(files, workspace, sources)
    instructions = read_instructions(workspace, layers, sources, known)
    folders = configured_folders(workspace, layers, known)
    judged = [
        *(item for layer in prompts.layers if not layer.trusted for item in find_starts(layer, choice)),
        *foreign_addresses(foreign),
        *command_starts(commands, choice),
    ]
    held = [each for each in judged if known.find(each) is None]
    counting = with_whole_servers([layer if layer.trusted else without_held(layer, held) for layer in layers])
    applied = apply_trust(counting, choice.default, rules_accepted=rules_accepted)
    refused = tuple(layer.refused for layer in layers if layer.refused is not None)
    elsewhere = (*prompts.items, *instructions.items, *folders.items)
    return CheckedConfig(
        workspace=workspace,
        sources=sources,
        files=files,
        layers=counting,
        choice=choice,
        settings=applied.config,
        own=applied.own,
        managed=Config.model_validate(merge_files(layer.tree for layer in files if layer.managed)),
        agents=available_agents(applied.config, applied.own, refused),
        prompts=prompts,
        instructions=instructions,
        skill_folders=folders,
        content=_content((*judged, *elsewhere), layers, workspace),
        held=(*held, *elsewhere),
        ignored=(*chain.from_iterable(map(never_counting, foreign)), *applied.ignored, *instructions.ignored),
    )


def _content(starts: Iterable[TrustItem], layers: Sequence[ConfigLayer], workspace: Workspace) -> TrustContent:
    places = Places(root=str(workspace.root), home=str(workspace.home))
    return TrustContent(
        places=places,
        starts=tuple(with_contents(item, workspace) for item in starts if item.is_of_project),
        rules=tuple(item for layer in layers if layer.is_of_project for item in find_rules(layer)),
        own_rules=places.digest(own_rules(layers)),
    )
