"""Asks as people see them."""

import pytest
from pydantic import JsonValue

from tests.worker.cli.inbox_entries import bash, entry
from worker.cli.render.ask_preview import describe_saved_rules, preview_ask
from workflows.domain.effects import Target
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.views.inbox import InboxEntry

DIFF = "Index: /p/a.txt\n=====\n--- /p/a.txt\n+++ /p/a.txt\n@@ -1,2 +1,2 @@\n-old\n+new\n same\n"
UNDECIDED = "  Asked because no rule decides about {} here."


def shown(ask: InboxEntry, *, whole: bool = False) -> list[str]:
    return [str(line) for line in preview_ask(ask, whole=whole).lines]


def test_a_command_is_shown_with_its_directory_and_its_size() -> None:
    assert shown(bash("git status\ngit diff")) == [
        "bash wants to run in /p/sub (2 lines, 19 characters)",
        "  │ git status",
        "  │ git diff",
        UNDECIDED.format("bash"),
    ]


def test_a_change_is_shown_as_its_difference_under_the_resolved_path() -> None:
    request = PermissionRequest(permission="edit", patterns=("a.txt",), metadata={"diff": DIFF})
    ask = entry("edit", {"filePath": "link.txt"}, request, targets=(Target(path="/p/a.txt", before="x", after="y"),))

    difference = ["  @@ -1,2 +1,2 @@", "1 -old", "1 +new", "2  same"]
    rows = [f"  │ {each}" for each in difference]
    assert shown(ask) == ["edit wants to change /p/a.txt (+1 −1)", *rows, UNDECIDED.format("edit")]


def test_a_patch_is_shown_as_its_differences_each_under_its_file() -> None:
    moved: JsonValue = {"type": "move", "filePath": "/p/a.txt", "movePath": "/p/b\n.txt", "patch": DIFF}
    gone: JsonValue = {"type": "delete", "filePath": "/p/c.txt", "patch": DIFF.partition("@@")[0]}
    request = PermissionRequest(
        permission="edit", patterns=("a.txt", "b\n.txt", "c.txt"), metadata={"diff": "", "files": [moved, gone]}
    )
    targets = [Target(path=f"/p/{name}.txt", before="x", after=after) for name, after in (("a", "y"), ("c", None))]
    ask = entry("apply_patch", {"patchText": "…"}, request, targets=tuple(targets))

    rows = [r"move /p/a.txt to /p/b\n.txt", "@@ -1,2 +1,2 @@", "1 -old", "1 +new", "2  same", "delete /p/c.txt"]
    assert shown(ask)[0] == "apply_patch wants to change /p/a.txt, /p/c.txt (+1 −1)"
    assert [each.removeprefix("  │").strip() for each in shown(ask)[1:7]] == rows


def test_a_change_without_a_difference_is_shown_by_its_arguments() -> None:
    head = DIFF.partition("@@")[0]
    request = PermissionRequest(permission="edit", patterns=("a.txt",), metadata={"diff": head})
    ask = entry(
        "write",
        {"filePath": "a.txt", "content": "x"},
        request,
        targets=(Target(path="/p/a.txt", before="x", after="x"),),
    )

    assert shown(ask)[:3] == [
        "write wants to write a file in /p/sub (2 lines, 26 characters)",
        "  │ filePath: a.txt",
        "  │ content: x",
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "lines"),
    [
        ("read", {"filePath": ".env"}, ["read wants to read in /p/sub", "  │ read .env"]),
        ("read", {"filePath": "a b", "limit": 9}, ["read wants to read in /p/sub", '  │ read "a b" limit=9']),
        (
            "glob",
            {"pattern": "**/*.py", "path": "src"},
            ["glob wants to search in /p/sub", "  │ glob **/*.py path=src"],
        ),
        ("grep", {"pattern": "a\nb"}, ["grep wants to search in /p/sub", r'  │ grep "a\nb"']),
        ("read", {"filePath": ["x"]}, ["read wants to read in /p/sub (1 line, 15 characters)", '  │ filePath: ["x"]']),
    ],
)
def test_calls_that_read_or_search_are_one_plain_line(
    tool: str, arguments: dict[str, JsonValue], lines: list[str]
) -> None:
    ask = entry(tool, arguments, PermissionRequest(permission=tool, patterns=("x",)))
    assert shown(ask)[:2] == lines


@pytest.mark.parametrize(
    ("tool", "arguments", "lines"),
    [
        (
            "task",
            {"subagent_type": "explore", "description": "look into it", "prompt": "Read a.\nprompt: no"},
            [
                "task wants to hand work to a subagent in /p/sub (4 lines, 52 characters)",
                "  │ explore: look into it",
                "  │ prompt:",
                "  │   Read a.",
                "  │   prompt: no",
            ],
        ),
        (
            "todowrite",
            {
                "todos": [
                    {"content": "mend\nit", "status": "in_progress"},
                    {"content": "tell", "status": "pending", "priority": "high"},
                ]
            },
            [
                "todowrite wants to list its tasks in /p/sub (2 lines, 21 characters)",
                "  │ [~] mend\\nit",
                "  │ [ ] tell",
            ],
        ),
        (
            "write",
            {"filePath": "a b.txt", "content": ""},
            [
                "write wants to write a file in /p/sub (2 lines, 29 characters)",
                "  │ filePath: a b.txt",
                '  │ content: ""',
            ],
        ),
        (
            "poll",
            {"questions": ["one", "two"], "a\nb": " x", "sure": True},
            [
                "poll wants to act in /p/sub (3 lines, 47 characters)",
                '  │ questions: ["one", "two"]',
                '  │ a\\nb: " x"',
                "  │ sure: true",
            ],
        ),
    ],
)
def test_other_calls_are_shown_argument_by_argument(
    tool: str, arguments: dict[str, JsonValue], lines: list[str]
) -> None:
    ask = entry(tool, arguments, PermissionRequest(permission=tool, patterns=("x",)))
    assert shown(ask)[: len(lines)] == lines


def test_a_file_whose_name_holds_a_line_break_does_not_write_a_line_of_its_own() -> None:
    request = PermissionRequest(permission="edit", patterns=("a\n  digest 0",), metadata={"diff": DIFF})
    ask = entry("edit", {"filePath": "a"}, request, targets=(Target(path="/p/a\n  digest 0", before="x", after="y"),))

    assert shown(ask)[0] == r"edit wants to change /p/a\n  digest 0 (+1 −1)"


def test_a_hidden_part_is_reported_and_can_be_shown() -> None:
    ask = bash("\n".join(f"echo {number}" for number in range(100)))

    assert preview_ask(ask).hidden and not preview_ask(ask, whole=True).hidden
    assert len(shown(ask, whole=True)) == 102


def test_the_agents_own_words_stand_below_and_are_marked() -> None:
    assert shown(bash("rm -rf /", description="List files"))[1:] == [
        "  │ rm -rf /",
        UNDECIDED.format("bash"),
        "  Agent's description: List files",
    ]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (
            PermissionRequest(permission="external_directory", patterns=("/etc/*",)),
            "  It needs external_directory: /etc/*",
        ),
        (PermissionRequest(permission="doom_loop", patterns=("bash",)), "again and again"),
        (PermissionRequest(permission="bash", patterns=("x",), opaque="It holds $(…)."), "  Careful: It holds $(…)."),
    ],
)
def test_the_reason_of_an_ask_is_shown(request_: PermissionRequest, said: str) -> None:
    assert any(said in line for line in shown(entry("bash", {"command": "x"}, request_)))


def test_the_rule_that_always_would_save_is_named_if_there_is_one() -> None:
    nothing = entry("bash", {"command": "x"}, PermissionRequest(permission="bash", patterns=("x",)))

    assert describe_saved_rules(bash("git status")) == "bash: git status *"
    assert describe_saved_rules(nothing) is None


def test_a_command_says_which_files_it_changes_and_how_many_there_are() -> None:
    command = PermissionRequest(permission="bash", patterns=("rm -rf build a.txt",))
    change = PermissionRequest(permission="edit", patterns=("build", "a.txt"), metadata={"files": 4})

    assert "  It changes build, a.txt (4 files)" in shown(entry("bash", {"command": "x"}, command, change))


def test_an_ask_lists_why_each_of_its_requests_is_asked_about_and_all_that_always_would_save() -> None:
    command = PermissionRequest(permission="bash", patterns=("rm a",), always=("rm *",))
    outside = PermissionRequest(permission="external_directory", patterns=("/etc/*",), always=("/etc/*",))
    ask = entry("bash", {"command": "rm a"}, outside, command, PermissionRequest(permission="edit", patterns=("a",)))

    assert shown(ask)[2:] == [
        "  It needs external_directory: /etc/*",
        "  It changes a",
        UNDECIDED.format("external_directory"),
        UNDECIDED.format("bash"),
        UNDECIDED.format("edit"),
    ]
    assert describe_saved_rules(ask) == "external_directory: /etc/* and bash: rm *"


def test_cautions_about_a_command_are_shown_with_each_of_its_requests() -> None:
    command = "рm a"  # a cyrillic letter
    opaque = PermissionRequest(permission="bash", patterns=(command,), opaque="It hides.")
    edit = PermissionRequest(permission="edit", patterns=("a",), always=("a",))
    ask = entry("bash", {"command": command}, opaque, edit)

    rows = shown(ask.model_copy(update={"request": PermissionAsk(requests=(edit,))}))

    assert "  Careful: It hides." in rows and any("The program name 'рm' holds" in row for row in rows)


def test_cautions_about_a_file_are_shown_when_its_directory_is_asked_about() -> None:
    outside = PermissionRequest(permission="external_directory", patterns=("/etc/*",))
    edit = PermissionRequest(
        permission="edit", patterns=("/etc/a",), metadata={"diff": DIFF, "caution": "It is linked."}
    )
    ask = entry("edit", {"filePath": "/etc/a"}, outside, targets=(Target(path="/etc/a", before="x", after="y"),))
    plan = ask.plan.model_copy(update={"requests": (outside, edit)}) if ask.plan else None

    assert "  Careful: It is linked." in shown(ask.model_copy(update={"plan": plan}))
