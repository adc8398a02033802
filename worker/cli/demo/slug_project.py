"""The demo's project: a package with a failing test, and the model's answers."""

from pathlib import Path
from typing import Final

from pydantic import JsonValue

from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage

PROMPT: Final = "A test in tests/test_slug.py fails. Find out why, mend it, and run the tests."
TEST_COMMAND: Final = "python3 -m unittest -v"
INTERRUPTED_STEP: Final = 3  # the answer cut by the first kill
PRICES: Final = {"input": 3.0, "output": 15.0, "cache_read": 0.3}  # US dollars per million tokens, invented

MODULE: Final = "slugs/slug.py"
_LINE: Final = "    text = title.strip().lower()\n"
_FIXED_LINES: Final = _LINE + '    text = re.sub(r"[^\\w\\s-]", "", text)\n'
_BROKEN_MODULE: Final = f'''"""Slugs: titles in the form in which they stand in an address."""

import re


def slug(title: str) -> str:
    """The words of a title in lower case, with a hyphen between them."""
{_LINE}    return re.sub(r"[\\s_-]+", "-", text)
'''
FIXED_MODULE: Final = _BROKEN_MODULE.replace(_LINE, _FIXED_LINES)  # a second edit would repeat its line

FILES: Final = {
    MODULE: _BROKEN_MODULE,
    "tests/__init__.py": "",
    "tests/test_slug.py": """import unittest

from slugs.slug import slug


class SlugTest(unittest.TestCase):
    def test_punctuation_is_dropped(self) -> None:
        self.assertEqual(slug("Hello, World!"), "hello-world")
""",
    "AGENTS.md": "Run the tests with `recorded python3 -m unittest -v`. Change as little as possible.\n",
    "opencode.json": '{\n  "permission": {"edit": "ask", "bash": "ask"}\n}\n',
    ".gitignore": "__pycache__/\n",
}
# `recorded COMMAND...` logs its start and end. It waits for the gate: the demo controls how long it runs.
RECORDED: Final = """#!/bin/sh
echo "start $$" >> {ledger}
until [ -e {gate} ]; do sleep 0.05; done
"$@"; code=$?
echo "end $$" >> {ledger}
exit $code
"""


def _call(tool: str, **arguments: JsonValue) -> ScriptedCall:
    return ScriptedCall(name=tool, arguments=arguments)


_ANSWERS: Final = (
    ("I will look at the project first.", _call("glob", pattern="**/*.py"), _call("grep", pattern="def ")),
    ("I will read both.", _call("read", filePath=MODULE), _call("read", filePath="tests/test_slug.py")),
    (
        "The test wants 'hello-world' and gets 'hello,-world!': a line is missing.",
        _call("edit", filePath=MODULE, oldString=_LINE, newString=_FIXED_LINES),
    ),
    ("Now the tests.", _call("bash", command=f"recorded {TEST_COMMAND}")),
    ("The test passes: slug() now drops punctuation before it joins the words.",),
)


def script(hold: Path) -> Script:
    """The model's answers. The interrupted one's first request gets half, and the rest once `hold` exists."""
    answers = []
    for number, (text, *calls) in enumerate(_ANSWERS, start=1):
        used = ScriptedUsage(input=2000 + 350 * number, output=40 + 9 * number, cached=2048 * (number > 1))
        faults = {1: Hold(after=4, path=str(hold))} if number == INTERRUPTED_STEP else {}
        answers.append(ScriptedAnswer(text=text, tools=tuple(calls), usage=used, faults=faults))
    title = ScriptedAnswer(text="A failing slug test", usage=ScriptedUsage(input=600, output=8))
    return Script(answers=tuple(answers), auxiliary_answer=title)
