"""The prompt of titles keeps its own rules: its ten examples are titles as it wants them."""

import re

from prompts import render_prompt
from workflows.domain.titles import MAX_TITLE_CHARS, title_of_answer

EXAMPLES = re.findall(r'^"(.+)" → (.+)$', render_prompt("agents/title"), re.MULTILINE)
EMPTY_WORDS = re.compile(r"\b(the|this|my|a|an|summari[sz]ing|generating)\b", re.IGNORECASE)
EXACT = re.compile(r"\S+\.\w+|[A-Z]+-\d+")  # files and error codes


def test_its_ten_examples_are_titles_by_its_own_rules() -> None:
    assert len(EXAMPLES) == 10 and len({title.split()[0] for _, title in EXAMPLES}) == 10
    for prompt, title in EXAMPLES:
        assert title_of_answer(title) == title and len(title) <= 50 <= MAX_TITLE_CHARS
        assert not EMPTY_WORDS.search(title) and not title.endswith(".")
        assert all(word.lstrip("@").rstrip(",") in title for word in EXACT.findall(prompt)), title
