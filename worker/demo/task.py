"""The task that the demo plays: a small package with a failing test, and what the scripted model says to it."""

from pathlib import Path
from typing import Final

from pydantic import JsonValue

from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage

MODEL: Final = "demo/scripted"
PROMPT: Final = "A test in tests/test_slug.py fails. Find out why, mend it, and run the tests."
TOKEN: Final = "run-tests"
TESTS: Final = ("python3", "-m", "unittest", "-v")
CUT_SHORT: Final = 2  # the answer, counted from 0, that the first kill interrupts

MODULE: Final = "slugs/slug.py"
_LINE: Final = "    text = title.strip().lower()\n"
_MENDED: Final = _LINE + '    text = re.sub(r"[^\\w\\s-]", "", text)\n'
_BROKEN_MODULE: Final = f'''"""Slugs: titles in the form in which they stand in an address."""

import re


def slug(title: str) -> str:
    """The words of a title in lower case, with a hyphen between them."""
{_LINE}    return re.sub(r"[\\s_-]+", "-", text)
'''
MENDED_MODULE: Final = _BROKEN_MODULE.replace(_LINE, _MENDED)  # an edit that is made twice would add its line twice

FILES: Final = {
    MODULE: _BROKEN_MODULE,
    "slugs/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_slug.py": """import unittest

from slugs.slug import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_hyphens(self) -> None:
        self.assertEqual(slug("A Day at the Sea"), "a-day-at-the-sea")

    def test_blanks_at_the_ends_are_dropped(self) -> None:
        self.assertEqual(slug("  Hello  "), "hello")

    def test_punctuation_is_dropped(self) -> None:
        self.assertEqual(slug("Hello, World!"), "hello-world")
""",
    "AGENTS.md": "Run the tests with `effect run-tests python3 -m unittest -v`. Change as little as possible.\n",
    "opencode.json": '{\n  "permission": {"edit": "ask", "bash": "ask"}\n}\n',
    ".gitignore": "__pycache__/\n",
}
PRICES: Final = {"input": 3.0, "output": 15.0, "cache_read": 0.3}  # US dollars for a million tokens, made up


def script(hold: Path) -> Script:
    """What the model answers; its third answer stops half way, the first time, until `hold` exists."""
    read = [_call("read", filePath=MODULE), _call("read", filePath="tests/test_slug.py")]
    edit = _call("edit", filePath=MODULE, oldString=_LINE, newString=_MENDED)
    answers = (
        _answer("I will look at the project first.", _call("glob", pattern="**/*.py"), _call("grep", pattern="def ")),
        _answer("Here are the function and its tests; I will read both.", *read),
        _answer(
            "The test wants 'hello-world' and gets 'hello,-world!': punctuation is kept.",
            _todos("in_progress", "pending"),
        ).model_copy(update={"faults": {1: Hold(after=4, path=str(hold))}, "delay": 0.02}),
        _answer("One line is missing: it drops whatever is no letter, digit, blank or hyphen.", edit),
        _answer("Now the tests.", _call("bash", command=" ".join(("effect", TOKEN, *TESTS)))),
        _answer("All three pass.", _todos("completed", "completed")),
        _answer("The test passes: slug() now drops punctuation before it joins the words."),
    )
    return Script(answers=tuple(_used(answer, number) for number, answer in enumerate(answers)), aside=_TITLE)


_TITLE: Final = ScriptedAnswer(text="A failing slug test", usage=ScriptedUsage(input=0, output=0))


def _answer(text: str, *calls: ScriptedCall) -> ScriptedAnswer:
    return ScriptedAnswer(text=text, tools=calls)


def _used(answer: ScriptedAnswer, number: int) -> ScriptedAnswer:
    """The answer with token counts that grow as a conversation's do, most of the prompt from the cache."""
    prompt = 2400 + 350 * number
    usage = ScriptedUsage(input=prompt, output=40 + 9 * number, cached=2048 + 256 * number if number else 0)
    return answer.model_copy(update={"usage": usage})


def _call(tool: str, **arguments: JsonValue) -> ScriptedCall:
    return ScriptedCall(name=tool, arguments=arguments)


def _todos(mend: str, run: str) -> ScriptedCall:
    tasks = (("Drop punctuation in slug()", mend), ("Run the tests", run))
    todos: list[JsonValue] = [{"content": what, "status": status, "priority": "high"} for what, status in tasks]
    return _call("todowrite", todos=todos)
