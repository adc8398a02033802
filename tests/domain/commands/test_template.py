"""Templates of slash commands."""

import subprocess

import pytest

from tests import cases
from tests.cases import Case
from workflows.domain.commands.template import (
    ExpandedTemplate,
    expand_template,
    find_hints,
    find_shell_references,
    render_references,
    split_arguments,
)
from workflows.domain.errors import UsageError
from workflows.domain.file_references import FileReference
from workflows.domain.messages import TextPart
from workflows.domain.prompt import PromptContent, UsedCommand

# What a case's text becomes where it is decided otherwise.
_LITERAL = {
    "$(echo sub)": "Arg in shell: $(echo sub)",
    "$& and $$": "All: $& and $$",
    "!`echo injected`": "All: !`echo injected`",
}


TEMPLATES = [case for case in cases.entries("commands_template") if "template" in case.input]


@pytest.mark.cases
@pytest.mark.parametrize("case", TEMPLATES, ids=lambda case: f"commands_template-{case.number}")
def test_a_template_becomes_this_text(case: Case) -> None:
    expanded = expand_template(case.input["template"], case.input["arguments"])
    text = render_references(expanded.text, expanded.shell, [_run(each.command) for each in expanded.shell])
    assert text == (_LITERAL[case.input["arguments"]] if case.holdfast else case.expected["text"])
    assert _named_files(expanded) == case.expected["file_references"]


@pytest.mark.parametrize("case", cases.load("markdown_refs", op="shell_references"))
def test_shell_references_are_found(case: Case) -> None:
    assert find_shell_references(case.input["text"]) == case.expected


def test_arguments_are_words_or_quoted() -> None:
    assert split_arguments("it's x") == ["it", "s", "x"]
    assert split_arguments("a \"b c\" 'd e' [Image 1]") == ["a", "b c", "d e", "[Image 1]"]


def test_placeholders_are_hints() -> None:
    assert find_hints("$10 $2 $ARGUMENTS $2 !`cat $1` $0") == ("$1", "$2", "$10", "$ARGUMENTS")


def test_an_argument_is_never_read_for_placeholders_or_references() -> None:
    expanded = expand_template("a $1 b $2", "$2 '!`id`'")
    assert expanded == ExpandedTemplate(text="a $2 b !`id`", arguments=((2, 4), (7, 12)))


def test_a_template_names_files_by_arguments_but_no_argument_does() -> None:
    expanded = expand_template("Look at @$1 and !`cat @z`.", "a.py @b.py")
    assert _named_files(expanded) == ["a.py"]


def test_references_stand_where_the_trimmed_text_has_them() -> None:
    expanded = expand_template("\n\n !`a` and !`b` \n", "")
    assert [expanded.text[each.start : each.end] for each in expanded.shell] == ["!`a`", "!`b`"]


@pytest.mark.parametrize("value", ["a b", "$(id)", "`id`", "it's", '"; id; "', "\\", "a\nb", "*", "--x", "$HOME"])
@pytest.mark.parametrize("word", ["$ARGUMENTS", "'$ARGUMENTS'", '"$ARGUMENTS"', "'a'$ARGUMENTS", "$(:)$ARGUMENTS"])
def test_an_argument_is_one_word_in_the_shell(word: str, value: str) -> None:
    (reference,) = expand_template(f"!`printf '<%s>' {word}`", value).shell
    assert _run(reference.command) == f"<{'a' if word.startswith(chr(39) + 'a') else ''}{value}>"


def test_no_argument_is_no_word_in_the_shell() -> None:
    (reference,) = expand_template('!`git diff $1 "$2"`', "").shell
    assert reference.command == 'git diff  ""'


def test_an_escaped_placeholder_is_the_shells_own() -> None:
    (reference,) = expand_template('!`awk "{print \\$1}" $1`', "f").shell
    assert reference.command == 'awk "{print \\$1}" f'


@pytest.mark.parametrize(
    "command",
    [
        'echo "$(cat $1)"',
        "cat <<E\n$1\nE",
        "echo $(($1))",
        "echo # $1",
        "echo $'$1'",
        "echo ${x:-$1}",
        'echo "${x:-$1}"',
    ],
)
def test_a_placeholder_that_cannot_be_quoted_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match=r"\$1 after .* cannot be quoted"):
        expand_template(f"!`{command}`", "x")


def _named_files(expanded: ExpandedTemplate) -> list[str]:
    command = UsedCommand(name="x", template="", typed_at=expanded.arguments)
    content = PromptContent(parts=(TextPart(text=expanded.text),), command=command)
    return [each.path for each in content.references.values() if isinstance(each, FileReference)]


def _run(command: str) -> str:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout


def test_a_placeholder_behind_a_backslash_is_the_text_itself() -> None:
    template = r"Costs \$1.2M, $1 and \$ARGUMENTS; \$0 and \x stay"

    assert expand_template(template, "a b").text == r"Costs $1.2M, a b and $ARGUMENTS; \$0 and \x stay"
    assert find_hints(template) == ("$1",)
    assert expand_template(r"awk '{print \$1}'", "file").text == "awk '{print $1}'\n\nfile"
