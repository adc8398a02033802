"""Permission keys: words of OpenCode's configuration. Some are tools' names too; no code relies on that."""

from typing import Final

BASH: Final = "bash"
EDIT: Final = "edit"
EXTERNAL_DIRECTORY: Final = "external_directory"
LIST: Final = "list"
PLAN_ENTER: Final = "plan_enter"
READ: Final = "read"
SKILL: Final = "skill"
TASK: Final = "task"
TODOWRITE: Final = "todowrite"
WEBFETCH: Final = "webfetch"

# All that a tool may need, of those that are built and of those that are only known.
OF_TOOLS: Final = (BASH, EDIT, "glob", "grep", READ, SKILL, TASK, TODOWRITE, "wait", WEBFETCH, "websearch")

ASKABLE: Final = (*OF_TOOLS, EXTERNAL_DIRECTORY)  # that a person can be asked about

PATTERNLESS: Final = frozenset({TODOWRITE, "question", WEBFETCH, "websearch", "doom_loop"})  # take no patterns
SAME_AS_EDIT: Final = frozenset({"write", "patch", "multiedit", "apply_patch"})  # older words for `edit`
NEVER_ASKED: Final = frozenset({"question", PLAN_ENTER, "plan_exit"})  # they only decide what is offered

# Names of tools in agents of other programs, in small letters → the permissions that their work needs here.
_FOREIGN_TOOLS: Final = {
    **dict.fromkeys(("notebookedit", "editfiles", "createfile"), (EDIT,)),
    **dict.fromkeys(("bashoutput", "killshell", "killbash", "execute", "shell", "runcommands"), (BASH,)),
    **dict.fromkeys(("list", "ls"), ("glob",)),
    **dict.fromkeys(("todo", "todos", "todoread"), (TODOWRITE,)),
    "search": ("glob", "grep"),
    "notebookread": (READ,),
    "fetch": (WEBFETCH,),
    "web": (WEBFETCH, "websearch"),
    "agent": (TASK,),
    "askuserquestion": ("question",),
    "exitplanmode": ("plan_exit",),
}


def permissions_of_tool(name: str) -> tuple[str, ...]:
    """What a tool of this name needs, in the words of this or of another program; none for an unknown one."""
    key = current_key(name.partition("/")[0].lower())
    return (key,) if key in OF_TOOLS or key in NEVER_ASKED else _FOREIGN_TOOLS.get(key, ())


def current_key(key: str) -> str:
    """The permission that a key of a configuration is about."""
    return EDIT if key in SAME_AS_EDIT else key
