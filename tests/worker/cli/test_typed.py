"""What is typed after --id is the id of a prompt, or an error that shows the form."""

import pytest

from worker.cli.typed import identity
from workflows.domain.errors import UsageError


def test_an_id_of_a_prompt_is_taken_and_none_is_none() -> None:
    assert identity("msg_1ff569784001NVQodmYbLJBt4v") == "msg_1ff569784001NVQodmYbLJBt4v"
    assert identity(None) is None


@pytest.mark.parametrize("typed", ["", "mine", "ses_1ff569784001NVQodmYbLJBt4v", "msg_1FF569784001NVQodmYbLJBt4v"])
def test_anything_else_is_refused_with_the_form_that_is_wanted(typed: str) -> None:
    with pytest.raises(UsageError, match=r"is no id of a prompt: write msg_, 12 hex digits"):
        identity(typed)
