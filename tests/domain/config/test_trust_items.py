import pytest
from pydantic import JsonValue

from workflows.domain.config.trust_items import Places, ReferencedContent, TrustContent, TrustItem, find_changes

PLACES = Places(root="/home/u/p", home="/home/u")


def item(field: str, value: JsonValue, *contents: str, file: str = "/home/u/p/opencode.json") -> TrustItem:
    read = tuple(ReferencedContent(reference="{file:/home/u/p/key}", digest=each) for each in contents)
    return TrustItem(file=file, path=tuple(field.split("/")), value=value, contents=read)


@pytest.mark.parametrize(
    ("field", "value", "effect"),
    [
        ("provider/x", {"options": {"baseURL": "https://e.test", "apiKey": "{config:/p/o.json#a}"}}, "requests to"),
        ("agent/a/options", {"b": None, "c": {"d": 1}}, "sends with the requests of agent a: b: null; c.d: 1"),
        ("permission", {"bash": {"{0} *": "ask"}}, "judges the calls of all agents: bash.{0} *: ask"),
        ("agent/plan/permission", {"edit": "ask"}, "judges the calls of agent plan: edit: ask"),
        ("agent/a/steps", 9, "sets it: 9"),
        ("agent/a/prompt", "{file:~/x}", "tells agent a what is outside of the project: {file:~/x}"),
        ("command/go/template", ["ls", "make"], 'runs where a person types /go: ["ls", "make"]'),
        ("command/go/agent", "bold", "has an agent that your own files know do what /go says: bold"),
        ("default_agent", "bold", "makes an agent work here that your own files know: bold"),
        ("skills/urls/https:", "https://a.test", "fetches skills from the net: https://a.test"),
    ],
)
def test_what_an_item_does_is_said_in_plain_words(field: str, value: JsonValue, effect: str) -> None:
    said = item(field, value).effect

    assert effect in said
    assert "o.json" not in said and ("(hidden)" in said) is (field == "provider/x")


def content(*starts: TrustItem, rules: tuple[TrustItem, ...] = (), places: Places = PLACES) -> TrustContent:
    return TrustContent(places=places, starts=starts, rules=rules)


def test_the_digest_is_of_files_fields_values_and_contents() -> None:
    one = content(item("model", "a/{file:/home/u/p/key}", "1"))
    others = [
        item("model", "a/{file:/home/u/p/key}", "2"),
        item("model", "b/{file:/home/u/p/key}", "1"),
        item("small_model", "a/{file:/home/u/p/key}", "1"),
        item("model", "a/{file:/home/u/p/key}", "1", file="/home/u/p/other.json"),
    ]

    assert len({one.digest, *(content(each).digest for each in others)}) == 5
    assert TrustContent.model_validate_json(one.model_dump_json()).digest == one.digest


def test_the_digest_of_rules_is_of_their_order() -> None:
    rules: list[dict[str, JsonValue]] = [{"a": "allow", "b": "ask"}, {"b": "ask", "a": "allow"}]
    first, second = (content(rules=(item("permission", {"bash": each}),)) for each in rules)

    assert first.rules_digest != second.rules_digest and first.digest != second.digest


def test_digests_are_equal_on_every_machine() -> None:
    def there(root: str, home: str) -> TrustContent:
        options: JsonValue = {"a": f"{{file:{root}/key}}", "b": f"{{file:{home}/k}}"}
        hidden: JsonValue = {"c": f"{{config:{root.replace(' ', '%20')}/opencode.json#model}}"}
        items = (item("agent/a/options", each, file=f"{root}/opencode.json") for each in (options, hidden))
        return content(*items, places=Places(root=root, home=home))

    assert there("/home/u/p", "/home/u").digest == there("/srv/check out/p", "/root").digest


def test_ones_own_rules_are_sealed_with_it_and_are_no_part_of_its_digest() -> None:
    one = content(item("model", "x"))
    other = one.model_copy(update={"own_rules": "changed"})

    assert one.digest == other.digest and one.sealed != other.sealed


def test_the_difference_to_what_was_accepted_is_by_item() -> None:
    kept = item("default_agent", "a")
    before = content(item("provider/x", {"a": 1}), kept, item("command/c/agent", "d"), rules=(item("permission", {}),))
    now = content(item("provider/x", {"a": 2}), kept, item("skills/urls/u", "u"), rules=(item("permission", {}),))

    changes = [(each.before and each.before.value, each.now and each.now.value) for each in find_changes(before, now)]

    assert changes == [({"a": 1}, {"a": 2}), (None, "u"), ("d", None)]
    assert find_changes(now, now) == []


@pytest.mark.parametrize("address", ["https://o.test", "HTTPS://o.test", "http://o.test"])
def test_what_an_organisation_publishes_is_never_of_the_project(address: str) -> None:
    assert item("model", "a/b").is_of_project and not item("model", "a/b", file=address).is_of_project
