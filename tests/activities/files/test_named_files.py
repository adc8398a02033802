"""Which files the parts of a prompt name."""

import pytest

from activities.files.named_files import find_named_files
from activities.files.workspace import Workspace
from workflows.domain.messages import PLAIN_TEXT, FilePart
from workflows.domain.prompt import PromptContent


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("", {}),
        ("?start=10&end=20", {"offset": 10, "limit": 11}),
        ("?start=0", {"offset": 1}),
        ("?start=20&end=10", {"offset": 20, "limit": 1}),
        (f"?start={'9' * 5000}&end=x", {}),
    ],
)
def test_an_address_names_lines_by_numbers_that_a_file_can_have(
    workspace: Workspace, query: str, lines: dict[str, int]
) -> None:
    content = PromptContent(parts=(FilePart(mime=PLAIN_TEXT, url=f"file:///a.py{query}"),))

    (found,) = find_named_files(content, workspace)

    assert found.arguments == {"filePath": "/a.py", **lines}
