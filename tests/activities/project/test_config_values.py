import json

from activities.project.config_loader import load_merged
from activities.project.config_values import MergedConfig, to_tree
from activities.redact import Redactor
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.fields import JsonObject

OWN: JsonObject = {
    "model": "x/m",
    "tools": {"write": False},
    "instructions": ["a.md"],
    "provider": {
        "x": {"options": {"apiKey": "s3cret-one", "headers": {"X-Plain": "s3cret-two", "X-Env": "{env:TOKEN}"}}}
    },
    "agent": {
        "build": {
            "maxSteps": 7,
            "prompt": "{file:p.md}",
            "reasoningEffort": "high",
            "options": {"token": "s3cret-three"},
        }
    },
}
PROJECT: JsonObject = {
    "provider": {"x": {"options": {"baseURL": "https://user:s3cret-four@e"}}},
    "permission": {"bash": {"git *": "ask"}},
    "instructions": ["b.md", "a.md", "c known-secret-five"],
    "mcp": {"m": {"headers": {"Authorization": "Bearer s3cret-six"}}},
}
REDACTOR = Redactor(lambda: ["known-secret-five"])


async def merged(project_home: ProjectHome) -> MergedConfig:
    """Of these files, each field on a line of its own."""
    project_home.write("opencode.json", json.dumps(OWN, indent=1), under=project_home.config)
    project_home.write("p.md", "From a file.", under=project_home.config)
    project_home.write("opencode.json", json.dumps(PROJECT, indent=1))
    project_home.write(".opencode/agent/r.md", "---\ndescription: Reviews\n---\nYou review.")
    return await load_merged(project_home.workspace(), project_home.sources(), project_home.managed)


async def test_each_value_is_found_where_it_is_written(project_home: ProjectHome) -> None:
    values = [*(await merged(project_home)).list_values(REDACTOR)]

    placed = {
        ".".join(each.path): (each.value, str(each.file).removeprefix(f"{project_home.home}/"), str(each.position))
        for each in values
    }
    own, project = ".config/opencode/opencode.json", "code/project/opencode.json"
    assert placed == {
        "model": ("x/m", own, "2:2"),
        "permission.edit": ("deny", own, "4:3"),
        "permission.bash.git *": ("ask", project, "11:4"),
        "instructions.0": ("a.md", project, "16:3"),
        "instructions.1": ("b.md", project, "15:3"),
        "instructions.2": ("c kno[redacted]", project, "17:3"),
        "provider.x.options.apiKey": ("[redacted]", own, "12:5"),
        "provider.x.options.headers.X-Plain": ("[redacted]", own, "14:6"),
        "provider.x.options.headers.X-Env": ("{env:TOKEN}", own, "15:6"),
        "agent.build.prompt": (f"{{file:{project_home.config}/p.md}}", own, "23:4"),
        "agent.build.options.reasoningEffort": ("high", own, "24:4"),
        "agent.build.options.token": ("[redacted]", own, "26:5"),
        "agent.build.steps": (7, own, "22:4"),
        "agent.r.description": ("Reviews", "code/project/.opencode/agent/r.md", "2:1"),
        "agent.r.prompt": ("You review.", "code/project/.opencode/agent/r.md", "None"),
    }


async def test_a_null_is_where_it_is_written_and_a_held_default_where_it_is_chosen(project_home: ProjectHome) -> None:
    own = {"default_agent": "a", "agent": {"a": {"steps": 5}}}
    project_home.write("opencode.json", json.dumps(own), under=project_home.config)
    file = project_home.write("opencode.json", '{"model": null, "default_agent": null}')
    project_home.write(".opencode/agent/b.md", "B")

    found = await load_merged(project_home.workspace(), project_home.sources(), project_home.managed)

    assert {".".join(each.path): each.file for each in found.list_values(REDACTOR)}["model"] == str(file)
    assert [(each.field, each.file) for each in found.held] == [("default_agent", str(file))]


async def test_the_values_make_a_file_in_opencodes_shape_without_secrets(project_home: ProjectHome) -> None:
    tree = to_tree([*(await merged(project_home)).list_values(REDACTOR)])

    assert "s3cret" not in json.dumps(tree) and "secret-five" not in json.dumps(tree)
    project_home.write("opencode.json", "{}")
    project_home.write("opencode.json", json.dumps(tree), under=project_home.config)
    again = await load_merged(project_home.workspace(), project_home.sources(), project_home.managed)
    assert [".".join(each.path) for each in again.list_values(REDACTOR)] == [
        ".".join(each.path) for each in (await merged(project_home)).list_values(REDACTOR)
    ]


async def test_what_has_no_effect_is_shown_without_secrets(project_home: ProjectHome) -> None:
    found, file = await merged(project_home), str(project_home.project / "opencode.json")

    assert [each.field for each in found.held] == ["provider.x.options"]
    assert "s3cret" not in str(found.value_of(file, "provider.x.options", REDACTOR))
    assert found.value_of(file, "mcp", REDACTOR) == {"m": {"headers": {"Authorization": "[redacted]"}}}
    assert found.value_of(file, "permission.bash.git *", REDACTOR) == "ask"
    assert found.value_of(file, "nothing", REDACTOR) is None
