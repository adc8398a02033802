"""Rules of the code base that a reader cannot see at a glance, checked on the syntax trees."""

import ast
import builtins
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from activities import failpoints
from activities.tools.registry import TOOLS
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("workflows", "activities", "prompts", "worker")
DOMAIN = "workflows.domain"

# room → what of ours it may import; the innermost room that a module lies in counts
NEIGHBOURS = {
    "worker": ("worker", "workflows", "activities"),
    "workflows": ("workflows", "activities"),
    DOMAIN: (DOMAIN,),
    "activities": ("activities", "prompts", DOMAIN),
    "prompts": (),
}

# library → the modules that may import it, and what all others do instead
HOMES = {
    "litellm": (("activities.model.wires.litellm.litellm_model",), "call the port in activities/model/port.py"),
    "openai": (("activities.model.wires",), "call the port in activities/model/port.py"),
    "httpx": (
        ("activities.model.wires", "activities.web.web_fetcher"),
        "call the port in activities/model/port.py, or use aiohttp",
    ),
    "psycopg": (("activities.store",), "add a named query to activities/store/queries and a function beside it"),
    "psycopg_pool": (("activities.store",), "take the Database that you are given"),
    "jsonschema": (("activities.tools.json_schema",), "use activities.tools.json_schema"),
    "rich": (("worker.cli",), "return a value, and let worker/cli show it"),
    "html_to_markdown": (("activities.web.html_process",), "call convert_page of activities.web.html_conversion"),
    "PIL": (("activities.files.smaller_picture",), "call smaller_copy of activities.files.image_size"),
    "pyjson5": (("activities.project",), "use activities.project.jsonc"),
    "activities.model.wires.litellm.litellm_model": (("activities.model.wires.router",), "take a ModelPort"),
    "activities.model.wires.router": (
        ("worker.assemble", "worker.serve", "worker.probe"),  # the last for `doctor --model` alone, loaded by that only
        "take a ModelPort: litellm costs seconds to import",
    ),
    "worker.cli": ((), "a door draws: let the client judge, as worker/turn_preparation.py does, and return a value"),
    "pickle": ((), "cross processes with pydantic models: pickle can construct anything"),
    "marshal": ((), "cross processes with pydantic models"),
}
SUBPROCESS = (
    "activities.child_process",
    "activities.shell.supervisor",  # starts a command from its own process, by fork and exec
    "worker.stack",
)
STARTS_PROGRAM = (
    *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell", "Popen"),
    *("posix_spawn", "fork", "execv", "execve"),
)
DOORS = ("worker.cli", "worker.http", "worker.opencode")

# where a word may be written that is also the name of a tool, and what it means there
TOOL_WORDS = {
    "activities.tools": "a tool's own file",
    "workflows.domain.permissions.permission_keys": "permission keys, words of OpenCode's configuration",
    "workflows.domain.permissions.defaults": "rules in these words",
    "workflows.domain.agents.built_in": "rules in these words",
    "workflows.domain.call_display": "kinds of calls",
    "workflows.domain.context.prune": "whose results stay: their rows name a tool only",
    "activities.project.skill_files": "a folder of skills",
    "workflows.domain.questions": "a kind of asks",
    "worker.cli.render.call_result": "an item of a list of tasks",
    "workflows.domain.permissions.arity": "programs that a shell command runs",
    "activities.shell.analysis": "programs that a shell command runs",
    "activities.store.archives": "tables",
    "activities.model.failure_table": "what may help against a failure",
    "activities.model.wires.anthropic": "fields of a provider's usage",
    "worker.cli.commands.completion": "shells",
    "worker.cli.commands.demo": "a script in the place of a model, which names tools",
}
BEHIND_THE_DOORS = ("temporalio", "psycopg", "activities.store")

# an error whose base a library requires → why
LIBRARY_ERRORS = {
    "GivenUp": "Temporal reads in an ApplicationError that nothing is tried again",
    "ProviderPause": "Temporal reads in an ApplicationError when to try again",
}

IMPURE_MODULES = (
    *("asyncio", "io", "logging", "os", "shutil", "socket", "subprocess", "tempfile", "threading", "time"),
    *("urllib.request", "uuid"),
)
IMPURE_CALLS = frozenset({"open", "print", "input", "now", "utcnow", "today", "exists", "is_file", "is_dir", "iterdir"})
IMPURE_CALLS |= {"read_text", "read_bytes", "write_text", "write_bytes"}
DANGEROUS_CALLS = frozenset({"eval", "exec", "compile", "__import__"})

IMPORTED_PROGRAMS = (
    "activities.calls.planner.planner_process",
    "activities.shell.supervisor.entrypoint",
    "activities.web.html_process",
)

FAILPOINTS = frozenset({"failpoint", "io_failpoint", "armed_action"})
LONGEST_FILE = 400
LONGEST_FUNCTION = 60
PUBLIC_HOSTS = ("pypi.org", "files.pythonhosted.org")


@dataclass(frozen=True)
class Module:
    """One source file and its syntax tree."""

    path: Path

    @cached_property
    def name(self) -> str:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        return DOMAIN if within(self.name, (DOMAIN,)) else self.name.partition(".")[0]

    @cached_property
    def imports(self) -> tuple[tuple[str, ast.stmt], ...]:
        """Every imported name, module or member, with its statement."""
        return tuple(
            (name, node) for node in ast.walk(self.tree) for name in imported(node) if isinstance(node, ast.stmt)
        )

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call, by the last word of the called name."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func).rpartition(".")[2], node

    def at(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@cache
def modules() -> tuple[Module, ...]:
    return tuple(Module(path) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))


def ours() -> Iterator[tuple[Module, str, ast.stmt]]:
    return ((module, name, node) for module in modules() for name, node in module.imports)


def files() -> list[Path]:
    """What is or will be tracked."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_every_room_imports_only_its_neighbours() -> None:
    wrong = [
        f"{module.at(node)}: {module.room} imports {name}, of ours it may import only {NEIGHBOURS[module.room]}. "
        f"Move what both need to {DOMAIN}, or pass it in as an argument."
        for module, name, node in ours()
        if within(name, ROOMS) and not within(name, NEIGHBOURS[module.room])
    ]
    assert not wrong, "\n".join(wrong)


def test_no_object_of_a_model_library_is_changed() -> None:
    wrong = [
        f"{module.at(node)}: {ast.unparse(node)} is set: configure the library by its arguments and settings"
        for module in modules()
        if module.name.startswith("activities.model.wires.")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        if ast.unparse(node.value) != "self"
    ]
    settings = [module.at(node) for module in modules() for name, node in module.calls() if name == "setattr"]
    assert not wrong, "\n".join(wrong)
    assert len(settings) == 1, f"only litellm's own settings are set by name: {settings}"


def test_libraries_stay_where_they_are_at_home() -> None:
    wrong = [
        f"{module.at(node)}: {library} may be imported in {', '.join(homes) or 'no module'} only: {instead}."
        for module, name, node in ours()
        for library, (homes, instead) in HOMES.items()
        if within(name, (library,)) and not within(module.name, (*homes, library))
    ]
    assert not wrong, "\n".join(wrong)


def test_doors_reach_the_engine_and_the_store_through_the_client_only() -> None:
    wrong = [
        f"{module.at(node)}: {module.name} imports {name}: call Holdfast (worker/client.py) instead."
        for module, name, node in ours()
        if within(module.name, DOORS) and within(name, BEHIND_THE_DOORS)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_tool_is_named_in_its_own_file_only() -> None:
    wrong = [
        f"{module.at(node)}: {node.value!r} is a tool's name: what others need to know of a tool is data that it gives "
        "(display, permission, quick, recovery); a permission is in workflows/domain/permissions/permission_keys.py."
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and node.value in TOOLS and not within(module.name, tuple(TOOL_WORDS))
        if node.value not in ("question", "skill", "wait")
        or not within(module.name, ("worker.cli",))  # words for people
    ]
    assert not wrong, "\n".join(wrong)


def test_programs_are_started_in_few_places() -> None:
    imports = ((m, node) for m, name, node in ours() if within(name, ("subprocess", "pty")))
    calls = ((module, node) for module in modules() for name, node in module.calls() if name in STARTS_PROGRAM)
    wrong = [
        f"{module.at(node)}: start programs in {', '.join(SUBPROCESS)} only, and call those."
        for module, node in (*imports, *calls)
        if not within(module.name, SUBPROCESS)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_environment_is_read_in_settings_only() -> None:
    wrong = [
        f"{module.at(node)}: take the value from Settings, or a mapping as an argument."
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "putenv")
        if isinstance(node.value, ast.Name) and node.value.id == "os" and module.name != "worker.settings"
    ]
    assert not wrong, "\n".join(wrong)


def test_the_domain_is_pure() -> None:
    domain = [module for module in modules() if module.room == DOMAIN]
    imports = [(m, node, name) for m in domain for name, node in m.imports if not allowed_in_domain(name)]
    calls = [(m, node, name) for m in domain for name, node in m.calls() if name in IMPURE_CALLS]
    waits = [(m, node, "async") for m in domain for node in ast.walk(m.tree) if isinstance(node, ast.AsyncFunctionDef)]
    wrong = [
        f"{module.at(node)}: {what}: the domain decides, without I/O, clock or chance. Take the value as an argument."
        for module, node, what in (*imports, *calls, *waits)
    ]
    assert not wrong, "\n".join(wrong)


def allowed_in_domain(name: str) -> bool:
    standard = name.partition(".")[0] in sys.stdlib_module_names and not within(name, IMPURE_MODULES)
    return standard or within(name, (DOMAIN, "pydantic"))


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module.name: {target(name, known()) for name in at_import(module)} for module in modules()}
    try:
        TopologicalSorter({name: targets & known() - {name} for name, targets in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"{' → '.join(error.args[1])}: move what they share into a module of its own.")


def test_no_folders_beside_each_other_import_each_other() -> None:
    pairs = {parting(module.name, target(name, known())) for module, name, _ in ours() if within(name, ROOMS)}
    both = sorted({" and ".join(sorted(pair)) for pair in pairs if pair[::-1] in pairs and are_folders(*pair)})
    assert not both, f"{', '.join(both)} import each other: move what one needs of the other to where it is used."


def parting(one: str, other: str) -> tuple[str, str]:
    """Where two modules' names part: `a.b` and `a.c` of `a.b.x` and `a.c.y.z`."""
    ones, others = one.split("."), other.split(".")
    same = next((at for at, (a, b) in enumerate(zip(ones, others, strict=False)) if a != b), 0)
    return ".".join(ones[: same + 1]), ".".join(others[: same + 1])


def are_folders(one: str, other: str) -> bool:
    """Two of one folder, that is; the domain is a room of its own within `workflows`."""
    return one != other and all((ROOT / each.replace(".", "/")).is_dir() for each in (one, other)) and "." in one


@cache
def known() -> frozenset[str]:
    return frozenset(module.name for module in modules())


def at_import(module: Module) -> Iterator[str]:
    """What is imported with the module, not within functions."""
    inside = {id(node) for function in functions(module) for node in ast.walk(function)}
    return (name for name, node in module.imports if id(node) not in inside)


def target(name: str, known: frozenset[str]) -> str:
    return name if name in known else name.rpartition(".")[0]


def test_no_import_is_relative() -> None:
    wrong = [
        f"{module.at(node)}: write the whole name of the module."
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_inside_a_function_says_why() -> None:
    wrong = [
        f"{module.at(node)}: import at the top of the file, or write the reason (start-up time) beside it."
        for module in modules()
        for function in functions(module)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        if not has_reason(module.text.splitlines(), node.lineno - 1)
    ]
    assert not wrong, "\n".join(wrong)


def has_reason(text: list[str], number: int) -> bool:
    """Whether a comment stands in the line, or above its block of imports."""
    if "#" in text[number]:
        return True
    above = text[number - 1].strip()
    return above.startswith("#") or (above.startswith(("import ", "from ")) and has_reason(text, number - 1))


def test_packages_hold_nothing_themselves() -> None:
    wrong = [
        f"{module.path.relative_to(ROOT)}: leave only a docstring here, and import modules by their own names."
        for module in modules()
        if module.path.name == "__init__.py" and module.room != "prompts"
        if module.tree.body[1:] or not (ast.get_docstring(module.tree) or not module.text.strip())
    ]
    assert not wrong, "\n".join(wrong)


def test_nobody_else_installs_packages_of_our_names() -> None:
    owners = {room: set(packages_distributions().get(room, [])) - {"holdfast"} for room in ROOMS}
    wrong = [f"{', '.join(others)} installs {room!r}, too: remove it." for room, others in owners.items() if others]
    assert not wrong, "\n".join(wrong)


def test_files_and_functions_stay_short() -> None:
    long_files = [module.at(module.tree) for module in modules() if len(module.text.splitlines()) > LONGEST_FILE]
    long_functions = [
        module.at(node) for module in modules() for node in functions(module) if lines(node) > LONGEST_FUNCTION
    ]
    assert not long_files, f"more than {LONGEST_FILE} lines, so more than one noun: {', '.join(long_files)}"
    assert not long_functions, f"more than {LONGEST_FUNCTION} lines: {', '.join(long_functions)}"


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(module.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_every_module_says_what_it_is_for() -> None:
    wrong = [
        module.at(module.tree) for module in modules() if module.text.strip() and not ast.get_docstring(module.tree)
    ]
    assert not wrong, f"begin with a docstring of one sentence: {', '.join(wrong)}"


def test_no_waivers_and_nothing_left_behind() -> None:
    waiver = re.compile(r"#\s*(noqa|pragma|TODO|FIXME|XXX)|#\s*type: ignore(?!\[[\w-]+\]\s+#)")
    wrong = [
        f"{module.path.relative_to(ROOT)}:{number}: mend it; `type: ignore` needs its code and a reason behind it."
        for module in modules()
        for number, line in enumerate(module.text.splitlines(), start=1)
        if waiver.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_text_is_never_run_as_python() -> None:
    wrong = [
        f"{module.at(node)}: turn data into pydantic models instead."
        for module in modules()
        for name, node in module.calls()
        if name in DANGEROUS_CALLS and isinstance(node.func, ast.Name)
    ]
    assert not wrong, "\n".join(wrong)


def test_errors_stand_in_one_file() -> None:
    found = [(m, node) for m in modules() for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef)]
    classes = {node.name: node for _, node in found}
    outside = [(m, node) for m, node in found if is_error(node.name, classes) and m.name != "workflows.domain.errors"]
    private = {f"{m.name}.{node.name}" for m, node in outside if node.name.startswith("_")}
    wrong = [
        f"{m.at(node)}: move {node.name} to workflows/domain/errors.py, with a signature of plain values."
        for m, node in outside
        if not node.name.startswith("_") and node.name not in LIBRARY_ERRORS
    ]
    shared = [f"{m.at(node)}: {name} is private: move it there." for m, name, node in ours() if name in private]
    known = {node.name for _, node in outside if not is_error(node.name, classes, library=False)}
    assert not wrong + shared, "\n".join(wrong + shared)
    assert set(LIBRARY_ERRORS) <= known, f"no error of a library is the base of {set(LIBRARY_ERRORS) - known}"


def is_error(name: str, classes: dict[str, ast.ClassDef], *, library: bool = True) -> bool:
    """Whether the class derives from one of Python's exceptions, or of a library's, too."""
    if name in classes:
        return any(is_error(ast.unparse(base), classes, library=library) for base in classes[name].bases)
    known = getattr(builtins, name, None)
    ours_or_python = isinstance(known, type) and issubclass(known, BaseException)
    return ours_or_python or (library and name.endswith(("Error", "Exception")))


def test_retry_policies_stand_in_one_file() -> None:
    wrong = [
        f"{module.at(node)}: name a policy of workflows/policies.py."
        for module in modules()
        for name, node in module.calls()
        if name == "RetryPolicy" and module.name != "workflows.policies"
    ]
    assert not wrong, "\n".join(wrong)


def test_a_program_that_may_open_a_client_of_temporal_leaves_without_the_interpreters_end() -> None:
    may_open = [module for module in map(Module, programs()) if "temporalio.client" in reached(module.name)]
    wrong = [
        f"{module.name}: Temporal's client, which it may open, may abort the interpreter's end with another code: call "
        "exit_process from worker/exit_process.py at the end."
        for module in may_open
        if not {"exit_process", "_exit"} & {name for name, _ in module.calls()}
    ]
    assert {"worker.serve", "worker.prepare", "worker.cli.main", "bench.floor"} <= {each.name for each in may_open}
    assert not wrong, "\n".join(wrong)


def programs() -> list[Path]:
    """What is started by itself: by its name, or by a line that imports its `main`."""
    found = [path for path in files() if path.suffix == ".py"]
    started = [path for path in found if '\nif __name__ == "__main__":' in path.read_text("utf-8")]
    return [*started, *(ROOT / f"{name.replace('.', '/')}.py" for name in IMPORTED_PROGRAMS)]


@cache
def everything() -> dict[str, Module]:
    """By name, with tests and benches."""
    return {module.name: module for module in map(Module, files()) if module.path.suffix == ".py"}


def reached(name: str) -> frozenset[str]:
    """The modules that it may load, at once or later, and theirs."""
    found, next_ones, all_names = {name}, [name], frozenset(everything())
    while next_ones:
        module = everything().get(next_ones.pop())
        names = {target(each, all_names) for each, _ in module.imports} if module else set()
        next_ones += names - found
        found |= names
    return frozenset(found)


def test_every_failpoint_is_in_the_table() -> None:
    wrong = [
        f"{module.at(node)}: add the name to NAMES in activities/failpoints.py, or use one that is there."
        for module in modules()
        for name, node in module.calls()
        if name in FAILPOINTS and literal(node) not in (None, *failpoints.NAMES)
    ]
    assert not wrong, "\n".join(wrong)


def test_workflows_have_no_failpoints() -> None:
    wrong = [m.at(node) for m, name, node in ours() if m.room in ("workflows", DOMAIN) and "failpoint" in name]
    assert not wrong, f"watch the history and kill from outside instead: {', '.join(wrong)}"


def literal(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def test_every_prompt_is_there_and_is_used() -> None:
    there = {str(path.relative_to(ROOT / "prompts").with_suffix("")) for path in (ROOT / "prompts").rglob("*.md")}
    named = {name for _, node in loads() if (name := literal(node)) is not None}
    families = {prefix for module, node in loads() for prefix in prefixes(node)}
    unused = {name for name in there - named if not name.startswith(tuple(families) or ("\0",))}
    assert not named - there, f"load() names prompts that do not exist: {sorted(named - there)}"
    assert not unused, f"no load() names these prompts, remove them or use them: {sorted(unused)}"


def test_a_built_in_agent_is_one_value_and_a_prompt() -> None:
    named = [
        f"{module.at(node)}: use a constant of workflows/domain/agents/built_in.py, or a field of Agent."
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in BUILT_IN
        if module.name != "workflows.domain.agents.built_in"
    ]
    assert not named, "\n".join(named)
    prompts = {path.stem for path in (ROOT / "prompts/agents").glob("*.md")}
    agents = (*BUILT_IN.values(), *HIDDEN.values())
    assert {agent.prompt_file for agent in agents if agent.prompt_file} == prompts


def loads() -> Iterator[tuple[Module, ast.Call]]:
    """Every call of `prompts.load`, under either name."""
    for module in modules():
        known = [name for name, _ in module.imports if within(name, ("prompts",))]
        calls = {"prompts.render_prompt"} | ({"render_prompt"} if "prompts.render_prompt" in known else set())
        for _, node in module.calls():
            if known and ast.unparse(node.func) in calls:
                yield module, node


def prefixes(call: ast.Call) -> list[str]:
    """The literal beginning of a composed name, as in f"tools/{name}"."""
    first = call.args[0] if call.args else None
    parts = first.values[:1] if isinstance(first, ast.JoinedStr) else []
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_prompts_get_exactly_the_values_that_they_name() -> None:
    wrong = [
        f"{module.at(node)}: {literal(node)!r} has the gaps {sorted(gaps)}."
        for module, node in loads()
        if (file := ROOT / "prompts" / f"{literal(node)}.md").is_file()
        if (gaps := set(re.findall(r"\{\{(\w+)\}\}", file.read_text("utf-8")))) != {word.arg for word in node.keywords}
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_names_this_machine() -> None:
    here = re.compile(rf"{re.escape(str(ROOT))}\b")
    wrong = [str(path.relative_to(ROOT)) for path, text in texts() if here.search(text)]
    assert not wrong or len(ROOT.parts) <= 2, f"write paths relative to the project: {', '.join(wrong)}"


def test_packages_come_from_the_public_index() -> None:
    host = re.compile(r"(?:registry = \"|index-url[\"'\s=]+|url = \")https?://([^/\"\s]+)")
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts()
        for name in sorted(set(host.findall(text)) - set(PUBLIC_HOSTS))
        if path.suffix in (".toml", ".lock", ".cfg", ".txt", "")
    ]
    assert not wrong, "a mirror is a matter of one machine, keep it in the environment:\n" + "\n".join(wrong)


def texts() -> Iterator[tuple[Path, str]]:
    return ((path, path.read_text("utf-8", errors="replace")) for path in files())
