import pytest

from activities.project.excerpts import excerpt_json, excerpt_line

SECRETS = """{"provider": {"x": {
  "options": {"baseURL": "http://x", "apiKey": "s3cret", "headers": {"X-Plain": "s3cret"}, "timeout": "soon" },
  "name": "X",
}}, "mcp": {"m": {"headers": {"Any": "Bearer s3cret"}, "environment": {"MY_TOKEN": 's3cret', "PLAIN": "x"}}},
  "agent": {"build": {"options": {"apiKey": "{env:KEY}", "password": "s3cret"}}}, model: nope nope
}"""


@pytest.mark.parametrize(
    ("at", "excerpt"),
    [
        ('"name"', '"name": "X"'),
        ('"PLAIN"', '{"MY_TOKEN": [redacted], "PLAIN": "x"'),
        ("nope", 'sword": [redacted]}}}, model: nope nope'),
    ],
)
def test_what_is_found_is_shown_without_secrets(at: str, excerpt: str) -> None:
    shown = excerpt_json(SECRETS, SECRETS.index(at))

    assert excerpt in shown and len(shown) <= 80


@pytest.mark.parametrize("line", SECRETS.splitlines())
@pytest.mark.parametrize("column", [0, 40, 90])
def test_no_part_of_a_line_shows_a_secret(line: str, column: int) -> None:
    begin = SECRETS.index(line)

    assert "s3cret" not in excerpt_json(SECRETS, begin + min(column, len(line)))


def test_a_secret_stays_hidden_where_the_text_breaks_off() -> None:
    text = '{"provider": {"x": {"options": {"headers": {"A": "s3cret s3cret,\n}}}'

    assert "s3cret" not in excerpt_json(text, text.index('"s3cret'))


def test_a_minified_file_is_shown_where_it_is_wrong() -> None:
    text = "{" + ", ".join(f'"a{number}": {number}' for number in range(1000)) + ', "model": 5}'

    assert '"model": 5}' in excerpt_json(text, text.index('"model"'))


@pytest.mark.parametrize(
    "line", ["api_key: s3cret", "x: sk-abcdefghij0123456789klmnop", '  "Authorization" = "s3cret"']
)
def test_what_looks_like_a_secret_is_hidden_in_any_line(line: str) -> None:
    shown = excerpt_line(line)

    assert "s3cret" not in shown and "0123456789" not in shown and "[redacted]" in shown
