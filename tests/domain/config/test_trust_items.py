import pytest
from pydantic import JsonValue

from tests.domain.config.test_trust import decide, layers_of, rules_of
from workflows.domain.config.config import Config
from workflows.domain.config.trust import AppliedTrust, apply_trust
from workflows.domain.config.trust_items import ReferencedContent, TrustContent, TrustItem, find_changes
from workflows.domain.permissions.rules import Action


def accept(*, own: dict[str, JsonValue], project: dict[str, JsonValue]) -> AppliedTrust:
    return apply_trust(layers_of(own, project), rules_of, accepted=["project"])


def item(field: str, value: JsonValue, *contents: str, file: str = "/p/opencode.json") -> TrustItem:
    read = tuple(ReferencedContent(reference="{file:/p/key}", digest=each) for each in contents)
    return TrustItem(file=file, path=tuple(field.split("/")), value=value, why="", contents=read)


@pytest.mark.parametrize(
    ("field", "value", "effects"),
    [
        ("provider/x/options", {"baseURL": "https://e.test"}, ["sends the requests of provider x to https://e.test"]),
        ("provider/x/options", {"apiKey": "{config:/p/opencode.json#a}"}, ["asks provider x with the key (hidden)"]),
        ("provider/x/options", {"headers": {"A": "{env:T}"}}, ["sends provider x the header A: {env:T}"]),
        ("provider/x/options/googleAuthOptions", {"keyFilename": "k"}, ["sets googleAuthOptions.keyFilename of"]),
        ("provider/x/models/a/b.c/cost", {"input": 0}, ["sets b.c.cost.input of model x/a to 0"]),
        ("permission/bash/make *", "allow", ["allows bash `make *` without asking"]),
        ("agent/plan/permission/edit/*", "ask", ["asks about edit `*` for agent plan, which is denied otherwise"]),
        (
            "agent/a",
            {"steps": 9, "mode": "all"},
            ["lets agent a take 9 steps in", "changes who gives work to agent a, by"],
        ),
        (
            "agent/a",
            {"steps": None, "mode": None},
            ["lets agent a take any number of steps", "gives agent a its default"],
        ),
        ("agent/a/options/b", None, ["sends the models of agent a the option b without a value"]),
        ("tool_output/max_lines", None, ["gives the model more of a tool's output: max_lines becomes the default"]),
        ("provider/x/options", {}, ["sets provider.x.options to {}"]),
        ("permission/bash/{0} *", "ask", ["asks about bash `{0} *`, which is denied otherwise"]),
        ("holdfast", {"budget": {"day": {"cost": 5}}, "larger_model": "a/b"}, ["sets holdfast.budget", "lets the mo"]),
        ("permission", {"edit": "allow", "bash": {"*": "deny"}}, ["allows edit without asking", "deny: bash `*`"]),
    ],
)
def test_what_an_item_does_is_said_in_plain_words(field: str, value: JsonValue, effects: list[str]) -> None:
    said = [leaf.effect for leaf in item(field, value).leaves()]

    assert [text[: len(expected)] for text, expected in zip(said, effects, strict=True)] == effects


def test_the_digest_is_of_files_fields_values_and_contents_and_of_nothing_else() -> None:
    one = TrustContent(items=(item("model", "a/{file:/p/key}", "1"),))
    others = [
        item("model", "a/{file:/p/key}", "2"),
        item("model", "b/{file:/p/key}", "1"),
        item("small_model", "a/{file:/p/key}", "1"),
        item("model", "a/{file:/p/key}", "1", file="/p/other.json"),
    ]
    reworded = one.items[0].model_copy(update={"why": "another reason"})

    assert TrustContent(items=(reworded,)).digest == one.digest
    assert len({one.digest, *(TrustContent(items=(each,)).digest for each in others)}) == 5
    assert TrustContent.model_validate_json(one.model_dump_json()).digest == one.digest


def test_the_difference_to_what_was_accepted_is_by_value() -> None:
    before = TrustContent(
        items=(
            item("provider/x/options", {"baseURL": "http://a", "apiKey": "{file:/p/key}", "proxy": "http://b"}, "1"),
            item("permission/bash/make *", "allow"),
        )
    )
    now = TrustContent(
        items=(item("provider/x/options", {"baseURL": "http://c", "apiKey": "{file:/p/key}", "timeout": 9}, "2"),)
    )

    changes = [(each.kind, each.leaf.field, each.content) for each in find_changes(before, now)]

    assert changes == [
        ("changed", "provider.x.options.baseURL", False),
        ("changed", "provider.x.options.apiKey", True),
        ("added", "provider.x.options.timeout", False),
        ("removed", "provider.x.options.proxy", False),
        ("removed", "permission.bash.make *", False),
    ]
    assert [*find_changes(now, now)] == []


def test_accepted_items_count_as_the_users_own() -> None:
    project: dict[str, JsonValue] = {
        "provider": {"x": {"options": {"baseURL": "http://e"}}},
        "permission": {"bash": {"npm *": "allow", "npm publish *": "deny"}, "read": "allow"},
        "agent": {"build": {"steps": 9}},
        "subagent_depth": 2,
    }

    applied = accept(own={"permission": {"bash": "ask"}, "agent": {"build": {"steps": 5}}}, project=project)

    assert applied.config.provider["x"].options.base_url == "http://e"
    assert (applied.config.agent["build"].steps, applied.config.subagent_depth) == (9, 2)
    assert decide(applied.config, "bash", "npm test") is Action.ALLOW
    assert decide(applied.config, "bash", "npm publish x") is Action.DENY  # an exception of what was accepted
    assert decide(applied.config, "bash", "ls") is Action.ASK
    assert decide(applied.config, "read", ".env") is Action.ALLOW


def test_what_was_harmless_without_trust_loosens_nothing_with_it() -> None:
    """Nobody was asked about a rule that tightens around the user's own."""
    own: dict[str, JsonValue] = {"permission": {"bash": {"rm *": "deny"}, "webfetch": "deny", "edit": "ask"}}
    project: dict[str, JsonValue] = {"permission": {"bash": {"*": "ask"}, "edit": {"a/*": "allow"}}}

    applied = accept(own=own, project=project)

    assert [each.untrusted.field for each in applied.items] == ["permission.edit.a/*"]
    decided = [("bash", "rm x"), ("webfetch", "u"), ("edit", "b"), ("edit", "a/b"), ("bash", "ls")]
    assert [decide(applied.config, *each).value for each in decided] == ["deny", "deny", "ask", "allow", "ask"]
    assert decide(applied.own, "edit", "a/b") is Action.ALLOW and decide(applied.own, "bash", "ls") is Action.ALLOW


def test_the_bounds_of_a_subagent_are_an_item_although_its_rules_are_no_looser() -> None:
    project: dict[str, JsonValue] = {
        "agent": {
            "mine": {"permission": {"task": "allow", "todowrite": "deny"}},
            "boss": {"mode": "primary", "permission": {"task": "allow"}},
        }
    }

    applied = apply_trust(layers_of({}, project), rules_of)
    accepted = accept(own={}, project=project)

    assert [each.untrusted.field for each in applied.items] == ["agent.mine.permission.task"]
    assert "mine" not in applied.own.agent and "task" in accepted.own.agent["mine"].permission


@pytest.mark.parametrize("address", ["https://o.test", "HTTPS://o.test", "http://o.test"])
def test_what_an_organisation_publishes_is_never_of_the_project(address: str) -> None:
    assert item("model", "a/b").is_of_project and not item("model", "a/b", file=address).is_of_project


def test_an_empty_project_has_no_item() -> None:
    assert apply_trust(layers_of({"model": "a/b"}, {}), rules_of) == (Config(model="a/b"), Config(model="a/b"), ())
