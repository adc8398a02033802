import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.redact import Redactor

VALUE = 'p@ss w"ord/Ünïque+42'
REDACTOR = Redactor(lambda: [VALUE])


@pytest.mark.parametrize(
    "form", [VALUE, quote(VALUE), quote(VALUE, safe=""), json.dumps(VALUE), json.dumps(VALUE, ensure_ascii=False)]
)
def test_a_known_value_is_removed_in_every_common_encoding(form: str) -> None:
    redacted = REDACTOR.text(f"before {form} after")

    assert form.strip('"')[4:] not in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


@given(before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_known_value_is_removed_at_every_offset_in_base64(before: str, after: str) -> None:
    encoded = base64.b64encode((before + VALUE + after).encode()).decode()

    kept, mark, rest = REDACTOR.text(encoded).partition("[redacted]")

    assert mark
    assert len(kept) + len(rest) <= len(encoded) - len(base64.b64encode(VALUE.encode())) + 8


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-" + "api03-" + "Zq1" * 12,
        "AIza" + "b7" * 17 + "x",
        "ghp_" + "aB3" * 12,
        "AKIA" + "ABCDEFGH12345678",
        "xoxb-" + "1234567890-abc",
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3",
    ],
)
def test_what_looks_like_a_key_is_removed_without_being_known(secret: str) -> None:
    redacted = Redactor().text(f"key={secret}\n")

    assert redacted == f"key={secret[:3]}[redacted]\n"


def test_of_a_connection_string_only_the_password_is_removed() -> None:
    assert Redactor().text("postgres://me:hunter2@db/x") == "postgres://me:[redacted]@db/x"


@pytest.mark.parametrize("line_break", ["\n", "\\n"])
def test_a_private_key_is_removed_between_its_borders(line_break: str) -> None:
    key = line_break.join(("-----BEGIN RSA PRIVATE KEY-----", "MIIEow" * 9, "-----END RSA PRIVATE KEY-----"))

    assert "owMII" not in Redactor().text(f'"{key}", and more')
    assert Redactor().text(f'"{key}", and more').endswith('-----END RSA PRIVATE KEY-----", and more')


def test_a_private_key_that_was_cut_off_is_removed_too() -> None:
    assert "owMII" not in Redactor().text("-----BEGIN PRIVATE KEY-----\n" + "MIIEow" * 9)


@pytest.mark.parametrize(
    "text", ["risk-assessment-and-mitigation-plan-2024", "https://example.com/a:b/c", "password policy", "task-12"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_a_value_of_a_few_characters_is_no_secret() -> None:
    assert Redactor(lambda: ["", "abc"]).text("abc abcd") == "abc abcd"


def test_a_value_is_found_without_the_line_end_that_its_file_had() -> None:
    assert "first-secret" not in Redactor(lambda: [" first-secret\r\n"]).text("no such key: first-secret")


def test_a_value_that_came_later_is_kept_out_as_well() -> None:
    values = ["first-secret"]
    redactor = Redactor(lambda: values)
    assert "second-secret" in redactor.text("second-secret")
    values.append("second-secret")
    assert "second-secret" not in redactor.text("second-secret")
