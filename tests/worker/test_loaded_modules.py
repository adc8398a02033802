"""What a process does not load when it starts: it would take memory and time, and few need it then."""

import subprocess
import sys
from typing import Final

import pytest

_SELDOM: Final = frozenset(
    {
        "PIL",
        "botocore",
        "google.auth",
        "jsonschema",
        "litellm",
        "openai",
        "prompt_toolkit",
        "psutil",
        "pygments",
        "rapidfuzz",
        "rich.text",
        "yaml",
    }
)
_COMMAND: Final = _SELDOM | {"activities.model.wires.http_client", "aiohttp", "httpx", "temporalio"}
_READS: Final = _COMMAND | {
    *("activities.model", "activities.project", "activities.store.journal", "worker.client"),
    *("workflows.domain.events", "workflows.domain.wire"),
}
_CLIENT: Final = _COMMAND | {
    *("activities.archive", "activities.model", "activities.project"),
    *("activities.store.generations", "worker.archives_client", "worker.copies_client", "worker.record_reader"),
    *("worker.schedules_client", "worker.session_reader", "worker.session_template", "worker.asides_client"),
    *("workflows.domain.config.config", "workflows.domain.config.turn_config"),
}
_ANSWERS: Final = _CLIENT | {
    *("activities.store.calls", "activities.store.events", "activities.store.prompts", "activities.store.stops"),
    *("workflows.domain.config.config", "workflows.domain.events.event", "workflows.domain.messages"),
    *("workflows.domain.prompt", "workflows.domain.wire"),
}
_LISTS: Final = _COMMAND | {
    *("activities.model", "activities.session", "activities.store.calls", "activities.store.events"),
    *("workflows.domain.config.config", "workflows.domain.events.event", "workflows.domain.messages"),
    *("workflows.domain.wire", "worker.stack.up"),
}
_SCHEDULES: Final = _LISTS - {"workflows.domain.messages"}  # a prompt stands in each
_SENDS: Final = _COMMAND | {
    *("activities.model.aws", "activities.model.failures", "activities.session", "activities.store.calls"),
    *("activities.store.events", "activities.store.stops", "worker.archives_client", "worker.stack.up"),
    *("workflows.domain.events.event", "workflows.domain.wire"),
}
_WORKER: Final = _SELDOM | {"click", "httpx._main", "worker.cli", "worker.client"}


@pytest.mark.parametrize(
    ("loaded", "absent"),
    [
        *(
            pytest.param([f"worker.cli.commands.{name}"], _COMMAND, id=name)
            for name in ("sessions", "record", "run", "watch", "grants", "stack", "models")
        ),
        pytest.param(["worker.cli.commands.asks", "worker.inbox_reader"], _READS, id="asks, which reads"),
        pytest.param(["worker.client"], _CLIENT, id="a client"),
        pytest.param(
            ["worker.cli.commands.asks", "worker.client", "activities.session.answers"], _ANSWERS, id="answer"
        ),
        *(
            pytest.param([f"worker.cli.commands.{name}", "worker.client", "worker.session_reader"], _LISTS, id=shown)
            for name, shown in (("sessions", "list of sessions"), ("stats", "statistics"))
        ),
        pytest.param(["worker.cli.commands.schedules", "worker.schedules_client"], _SCHEDULES, id="list of schedules"),
        pytest.param(
            [
                *("worker.cli.commands.send", "worker.client", "worker.session_reader"),
                *("activities.store.budgets", "activities.store.prompts"),
            ],
            _SENDS,
            id="send",
        ),
        pytest.param(["worker.serve"], _WORKER, id="a worker"),
    ],
)
def test_modules_that_it_seldom_needs_are_not_loaded_at_the_start(loaded: list[str], absent: frozenset[str]) -> None:
    text = f"import sys, {', '.join(loaded)}; print(*({set(absent)} & sys.modules.keys()))"

    ended = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, check=True)

    assert ended.stdout.split() == [], "Import it where it is used, with a comment: `# start-up time`."
