"""What of a directory's configuration has no effect, or another than it seems to have."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.project.instructions import MAX_INSTRUCTION_BYTES
from workflows.domain.agents.built_in import RESERVED
from workflows.domain.config.config import Config
from workflows.domain.config.fields import JsonObject, unknown_fields, value_at
from workflows.domain.config.merge import ConfigLayer, deep_merge
from workflows.domain.config.references import unresolved_references
from workflows.domain.config.turn_config import Instruction
from workflows.domain.permissions import rules
from workflows.domain.permissions.rules import Action, Rule, Ruleset

_MAX_INEFFECTIVE: Final = 20  # collections of other programs' agents have hundreds


def file_warnings(layers: Sequence[ConfigLayer], settings: Config, home: str) -> Iterator[str]:
    for layer in layers:
        for field in unknown_fields(layer.tree):
            yield f"{layer.file}: there is no field {field!r}: it has no effect."
        for path in unresolved_references(layer.tree):
            yield f"{layer.file}: the reference in {'.'.join(path)!r} is not looked up: it counts as it is written."
        for key in layer.duplicate_keys:
            yield f"{layer.file}: the key {key!r} is there twice: only the last one counts."
    ineffective = [f"{layer.file}: {each}" for layer in layers for each in layer.ineffective]
    yield from ineffective[:_MAX_INEFFECTIVE]
    if len(ineffective) > _MAX_INEFFECTIVE:
        yield f"{len(ineffective) - _MAX_INEFFECTIVE} more of this kind about agents are not shown."
    yield from _replaced_denials([layer for layer in layers if layer.trusted])
    yield from _shadowed_rules(settings, home)


def shortened_warnings(instructions: Sequence[Instruction]) -> Iterator[str]:
    for each in instructions:
        if not each.complete:
            yield f"{each.path}: only the first {MAX_INSTRUCTION_BYTES // 1024} KiB are read as instructions."


def _replaced_denials(layers: Sequence[ConfigLayer]) -> Iterator[str]:
    tree: JsonObject = {}
    for layer in layers:
        named = [("agent", name, "permission") for name in _table_at(layer.tree, ("agent",))]
        for path in (("permission",), *named):
            before = _table_at(tree, path)
            for name, patterns in _table_at(layer.tree, path).items():
                if before.get(name) == "deny" and isinstance(patterns, dict) and "*" not in patterns:
                    yield (
                        f"{layer.file}: the patterns of {'.'.join((*path, name))} replace the denial of an earlier "
                        'file: write "*": "deny" as the first of them to keep it.'
                    )
        tree = deep_merge(tree, layer.tree)


def _table_at(tree: JsonObject, path: tuple[str, ...]) -> JsonObject:
    found = value_at(tree, path)
    return found if isinstance(found, dict) else {}


def _shadowed_rules(settings: Config, home: str) -> Iterator[str]:
    general = rules.from_config(settings.permission, home)
    for hidden in rules.find_shadowed(general):
        yield _shadowed_text("permission", hidden.rules, hidden.by)
    for name, agent in sorted((name, agent) for name, agent in settings.agent.items() if name not in RESERVED):
        own = rules.from_config(agent.permission, home)
        for hidden in rules.find_shadowed(own):
            yield _shadowed_text(f"agent.{name}.permission", hidden.rules, hidden.by)
        for hidden in rules.find_shadowed((*(rule for rule in general if rule.action is Action.DENY), *own)):
            if lost := tuple(rule for rule in hidden.rules if rule in general and rule not in own):
                yield f"agent.{name}.permission: {_rule_text(hidden.by)} undoes for this agent {_rule_texts(lost)}."


def _shadowed_text(table: str, hidden: Ruleset, by: Rule) -> str:
    return (
        f"{table}: {_rule_texts(hidden)} {'has' if len(hidden) == 1 else 'have'} no effect: "
        f"{_rule_text(by)} comes later and covers {'it' if len(hidden) == 1 else 'them'}. The last rule that matches "
        "decides, so write the broader one first."
    )


def _rule_texts(shown: Ruleset) -> str:
    return ", ".join(map(_rule_text, shown))


def _rule_text(rule: Rule) -> str:
    return f"{rule.permission} {rule.pattern!r}: {rule.action}"
