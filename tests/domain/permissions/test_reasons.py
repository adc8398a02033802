"""Why a person is asked."""

from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.rulesets import Rulesets

SUBJECTS = st.sampled_from(("git clean -fd", "git status", "rm x", "src/a.py", ".env", ".git/config", "*"))
PATTERNS = st.sampled_from(("*", "git *", "git clean *", "rm *", "*.env", "src/*", "git clean -fd"))
REQUESTS = st.builds(
    PermissionRequest,
    permission=st.sampled_from(("bash", "read", "edit", "external_directory", loop_guard.PERMISSION)),
    patterns=st.lists(SUBJECTS, max_size=2).map(tuple),
    spellings=st.lists(st.lists(SUBJECTS, max_size=2).map(tuple), max_size=2).map(tuple),
    required_words=st.lists(st.lists(st.sampled_from(("clean", "-fd")), max_size=2).map(tuple), max_size=2).map(tuple),
    opaque=st.sampled_from((None, "It changes the shell, so it cannot be checked.")),
    guarded=st.booleans(),
    changes=st.booleans(),
)
RULES = st.builds(
    Rule,
    permission=st.sampled_from(("*", "bash", "read", "edit")),
    pattern=PATTERNS,
    action=st.sampled_from(Action),
)


@given(request=REQUESTS, rules=st.lists(RULES, max_size=5).map(tuple))
@settings(max_examples=500)
def test_an_ask_always_says_why(request: PermissionRequest, rules: Ruleset) -> None:
    if evaluate_request(request, rules).action is Action.ASK:
        assert Rulesets.of(rules).reasons(request)
