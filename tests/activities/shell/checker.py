"""The project of the case files in which shell commands are checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from activities.files.workspace import Workspace
from activities.shell.shell_requests import shell_requests
from activities.turn_context import TurnContext
from tests import cases
from workflows.domain.agents.built_in import BUILD
from workflows.domain.errors import ToolError
from workflows.domain.ids import GrantId
from workflows.domain.permissions import defaults
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.grants import Grant, asked_rules
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Ruleset, from_config
from workflows.domain.permissions.rulesets import Rulesets

ALLOW, ASK, DENY = Action.ALLOW, Action.ASK, Action.DENY
FILES = """README.md a.txt big.txt package.json VICTIM.txt .env .env.example sub/x src/a.txt bin/ls evil evil.sh
    evil.awk evil.mk evil.so rgrc magic a.tar pyevil/x gitexec/x evilrepo/.git/config .git/config"""
ABSENT = {  # what a policy does not mention (cases/README.md)
    "bash": {"*": "ask"},
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    "edit": {"*": "ask"},
    "external_directory": {"*": "ask"},
}


@dataclass(frozen=True)
class CommandChecker:
    """A project with its surroundings, below a scratch directory that the cases call `/`."""

    root: Path
    workspace: Workspace

    def requests(self, command: str, workdir: str = ".", rules: Ruleset = ()) -> tuple[PermissionRequest, ...]:
        there = (self.workspace.directory / workdir).resolve()
        moved = command.replace("/ws/", f"{self.root}/ws/")
        return shell_requests(moved, there, TurnContext(self.workspace, Rulesets.of(rules))).requests

    def shown(self, texts: tuple[str, ...]) -> list[str]:
        return [text.replace(f"{self.root}/", "/") for text in texts]

    def defaults(self, **config: str | Mapping[str, str]) -> Ruleset:
        own = from_config({name: _actions(value) for name, value in config.items()}, str(self.workspace.home))
        return defaults.agent_rules(BUILD.rules, own, data=self.workspace.data, temporary=self.workspace.temporary)

    def policy(self, name: str) -> Ruleset:
        written = {key: value for key, value in cases.document("policies")[name].items() if key != "note"}
        entries = {**{key: value for key, value in ABSENT.items() if key not in written}, **written}
        return from_config({key: _actions(value) for key, value in entries.items()}, str(self.workspace.home))

    def verdict(self, command: str, rules: Ruleset, grants: tuple[Grant, ...] = ()) -> Action:
        try:
            requests = self.requests(command, rules=rules)
        except ToolError:
            return DENY
        found = [evaluate_request(request, rules, grants).action for request in requests]
        return max(found, key=lambda action: action.strictness, default=ALLOW)

    def outside(self, command: str) -> tuple[str, ...]:
        """The patterns outside the project that a command asks for."""
        found = (request for request in self.requests(command) if request.permission == "external_directory")
        return tuple(pattern for request in found for pattern in self.shown(request.patterns))

    def saved(self, command: str) -> tuple[Grant, ...]:
        """The grants that "always" would make for a command."""
        rules, time = self.defaults(bash="ask"), datetime(2026, 1, 1, tzinfo=UTC)
        return tuple(
            Grant(
                id=GrantId("gra_1"),
                permission=request.permission,
                patterns=Rulesets.of(rules).savable_patterns(request),
                author="ada",
                time=time,
                asked=asked_rules(request, rules),
            )
            for request in self.requests(command)
            if evaluate_request(request, rules).action is ASK
        )


def make_checker(root: Path) -> CommandChecker:
    """The directories of the cases, below an empty one."""
    project, home = root / "ws" / "proj", root / "home" / "u"
    for name in FILES.split():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x\n")
    (project / ".git/config").write_text("[core]\n\tbare = false\n")
    (project / "link_to_env").symlink_to(".env")
    (root / "ws" / "ext" / "sub").mkdir(parents=True)
    (root / "ws" / "ext" / "f.txt").write_text("x\n")
    home.mkdir(parents=True)
    (root / "tmp").mkdir()
    return CommandChecker(root, Workspace(project, project, data=root / "data", home=home, temporary=root / "tmp"))


def _actions(value: Any) -> Action | dict[str, Action]:
    return Action(value) if isinstance(value, str) else {key: Action(each) for key, each in value.items()}
