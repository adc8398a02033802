import json

from activities.project.checked_config import CheckedConfig
from activities.project.config_loader import read_checked
from activities.project.config_values import list_values, to_tree
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
    "mcp": {"m": {"type": "remote", "url": "https://e", "headers": {"Authorization": "Bearer s3cret-six"}}},
}
REDACTOR = Redactor(lambda: ["known-secret-five"])


async def merged(project_home: ProjectHome) -> CheckedConfig:
    """Of these files."""
    project_home.write("opencode.json", json.dumps(OWN), under=project_home.config)
    project_home.write("p.md", "From a file.", under=project_home.config)
    project_home.write("opencode.json", json.dumps(PROJECT))
    project_home.write(".opencode/agent/r.md", "---\ndescription: Reviews\n---\nYou review.")
    return await read_checked(project_home.workspace(), project_home.sources(), project_home.managed)


async def test_each_value_has_the_file_that_it_is_written_in(project_home: ProjectHome) -> None:
    values = [*list_values(await merged(project_home), REDACTOR)]

    placed = {
        ".".join(each.path): (each.value, str(each.file).removeprefix(f"{project_home.home}/")) for each in values
    }
    own, project = ".config/opencode/opencode.json", "code/project/opencode.json"
    assert placed == {
        "model": ("x/m", own),
        "permission.edit": ("deny", own),
        "permission.bash.git *": ("ask", project),
        "instructions.0": ("a.md", project),
        "instructions.1": ("b.md", project),
        "instructions.2": ("c kno[redacted]", project),
        "provider.x.options.apiKey": ("[redacted]", own),
        "provider.x.options.headers.X-Plain": ("[redacted]", own),
        "provider.x.options.headers.X-Env": ("{env:TOKEN}", own),
        "agent.build.prompt": (f"{{file:{project_home.config}/p.md}}", own),
        "agent.build.options.reasoningEffort": ("high", own),
        "agent.build.options.token": ("[redacted]", own),
        "agent.build.steps": (7, own),
        "agent.r.steps": (7, "None"),  # as one's default agent has
        "agent.r.description": ("Reviews", "code/project/.opencode/agent/r.md"),
        "agent.r.prompt": ("You review.", "code/project/.opencode/agent/r.md"),
    }


async def test_a_null_is_where_it_is_written_and_a_held_default_where_it_is_chosen(project_home: ProjectHome) -> None:
    own = {"default_agent": "a", "agent": {"a": {"steps": 5}}}
    project_home.write("opencode.json", json.dumps(own), under=project_home.config)
    file = project_home.write("opencode.json", '{"model": null, "default_agent": null}')
    project_home.write(".opencode/agent/b.md", "B")

    found = await read_checked(project_home.workspace(), project_home.sources(), project_home.managed)

    assert {".".join(each.path): each.file for each in list_values(found, REDACTOR)}["model"] == str(file)
    assert [(each.path, each.file) for each in found.held] == [(("default_agent",), str(file))]


async def test_the_values_make_a_file_in_opencodes_shape_without_secrets(project_home: ProjectHome) -> None:
    tree = to_tree([*list_values(await merged(project_home), REDACTOR)])

    assert "s3cret" not in json.dumps(tree) and "secret-five" not in json.dumps(tree)
    project_home.write("opencode.json", "{}")
    project_home.write("opencode.json", json.dumps(tree), under=project_home.config)
    again = await read_checked(project_home.workspace(), project_home.sources(), project_home.managed)
    assert [".".join(each.path) for each in list_values(again, REDACTOR)] == [
        ".".join(each.path) for each in list_values(await merged(project_home), REDACTOR)
    ]
