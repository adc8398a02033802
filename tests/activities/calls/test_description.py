"""A call's description in Temporal's UI."""

from activities.calls.description import MAX_DESCRIPTION_CHARS, CallDescriber, describe_fully, describe_nothing
from activities.redact import Redactor
from activities.store.calls import CallRow
from activities.tools.registry import TOOLS


def call(**arguments: object) -> CallRow:
    return CallRow.model_validate(
        {
            **{"id": "prt_1", "session": "ses_1", "turn": "trn_1", "step": 1, "position": 0, "message": "msg_1"},
            **{
                "provider_id": "c1",
                "tool": "bash",
                "recovery": "reattachable",
                "display": TOOLS["bash"].display,
                "plan": None,
                "digest": None,
            },
            **{
                "loop_digest": "d",
                "revision": 0,
                "state": "prepared",
                "fence": None,
                "machine": None,
                "outcome": None,
                "claimed_at": None,
            },
            "arguments": arguments,
        }
    )


def test_names_only_says_nothing() -> None:
    describe: CallDescriber = describe_nothing
    assert describe(call(command="pytest -q")) is None


def test_in_full_says_what_the_call_is_about() -> None:
    assert describe_fully(Redactor())(call(command="pytest -q")) == "bash: pytest -q"


def test_secrets_and_control_characters_do_not_get_out() -> None:
    told = describe_fully(Redactor(lambda: ["hunter2hunter2"]))(call(command="login hunter2hunter2\n\x1b[2K"))
    assert told is not None and "hunter2hunter2" not in told and told.isprintable()


def test_long_words_are_cut() -> None:
    told = describe_fully(Redactor())(call(command="x" * 1000))
    assert told is not None and len(told) == MAX_DESCRIPTION_CHARS
