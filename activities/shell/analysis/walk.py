"""Collects the commands in a text's syntax tree; unknown syntax is a reason to ask."""

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from tree_sitter import Node

from activities.files.real_paths import is_directory
from activities.shell.analysis import syntax_tree
from activities.shell.analysis.budget import MAX_DIRECTORIES, WorkBudget
from activities.shell.analysis.directories import DirectoriesAfter, cd_target, unchanged_directories, union
from activities.shell.analysis.program import CHANGES_DIRECTORY, Command, Redirect, ShellProgram, Word
from activities.shell.analysis.syntax_tree import (
    BETWEEN_WORDS,
    SourceText,
    find_nodes,
    heredoc_text,
    leaves,
    node_text,
    parse,
)
from activities.shell.analysis.variables import is_private_name
from activities.shell.analysis.words import WordDecoder
from workflows.domain.errors import ToolError, UndecodableWord

T = TypeVar("T")

_MAX_COMMANDS: Final = 500
_MAX_DEPTH: Final = 20  # nested constructs (security.md 2.3, 10)
_REFUSED_DEPTH: Final = 60  # nested constructs: refused unasked

_HARMLESS: Final = re.compile(r"LANG|LC_[A-Z]+|TZ|NO_COLOR|CI|TERM|COLUMNS|LINES")
_NO_FILES: Final = re.compile(r"\d+|-")
_KEYWORDS: Final = frozenset({"if", "then", "else", "fi", "do", "done", "case", "esac", "{", "}", "!", "[["})


class SyntaxWalker:
    """`decoder`: word decoders by the shell's possible directories."""

    def __init__(
        self, decoder: Callable[[tuple[Path, ...]], WordDecoder], budget: WorkBudget, *, directory_unknown: bool = False
    ) -> None:
        self.decoder = decoder
        self.directory_unknown = directory_unknown  # the shell's directory may only be known at run time
        self.depth = 0
        self.loop_depth = 0
        self.has_error = False
        self.program = ShellProgram(budget=budget)
        self.source = SourceText("", self.program)

    def read(self, text: str, directories: tuple[Path, ...]) -> ShellProgram:
        self.source = SourceText(text, self.program)
        root = parse(self.source.content)
        self.has_error = root.has_error
        if root.has_error:
            self.program.add_opaque("it is not valid bash")
        self.source.check_ends(root)
        with self.program.within_budget():
            self.visit(root, directories)
        return self.program

    def visit(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        """Returns where the shell may be afterwards."""
        if len(directories) > MAX_DIRECTORIES:  # the rest is analysed in some of them: denies still match
            self.program.guard(f"it may run in more than {MAX_DIRECTORIES} directories")
            directories = directories[:MAX_DIRECTORIES]
        self.program.budget.spend(len(directories))
        if node.type == "command":
            return self.command(node, directories)
        if not node.is_named:
            if node.type not in syntax_tree.SEPARATORS and node.type.strip():
                self.program.add_opaque(f"it has {node.type!r} where it is not expected")
            return unchanged_directories(directories)
        if node.type in syntax_tree.VALUES:
            self.decode_words([node], directories)
        if node.type == "extglob_pattern" and re.search(r"[$`(]", node_text(node)):
            self.program.add_opaque("it uses a pattern with more than wildcards")
        if node.type in syntax_tree.SILENT:
            return unchanged_directories(directories)
        self.depth += 1
        try:
            return self._nested(node, directories)
        finally:
            self.depth -= 1

    def _nested(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        if self.depth > _REFUSED_DEPTH:
            raise ToolError("The command is nested too deeply: put its steps into a script, or run them one by one.")
        if self.depth > _MAX_DEPTH:
            self.program.guard("it is nested too deeply")
        if node.type != "heredoc_redirect":
            self.source.check_gaps(node)
        match node.type:
            case "list" if len(node.children) == 3:
                return self.and_or_list(node, directories)
            case "redirected_statement":
                return self.redirected_statement(node, directories)
            case kind if kind in syntax_tree.ORDERLY:
                return self.compound(node, directories)
            case kind if kind in syntax_tree.APART:
                return self.subshell(node, directories)
            case "test_command" if node_text(node.children[0]) == "[":
                return self.test_command(node, directories)
        if not node.is_error:
            sets = node.type in syntax_tree.ASSIGNMENTS
            self.program.add_opaque("it sets variables" if sets else f"it uses a {node.type.replace('_', ' ')}")
        self.visit_loop(lambda: self.visit_unknown(node, directories))
        return unchanged_directories(directories)

    def visit_loop(self, visit: Callable[[], T]) -> T:
        """Visit what may run again: a change of directory in it also affects what precedes that."""
        directory_unknown = self.directory_unknown
        commands, redirects = len(self.program.commands), len(self.program.redirects)
        self.loop_depth += 1
        found = visit()
        if self.directory_unknown and not directory_unknown:
            del self.program.commands[commands:], self.program.redirects[redirects:]
            found = visit()
        self.loop_depth -= 1
        return found

    def compound(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        """Commands in sequence, each after any outcome of the previous; a loop repeats."""
        if node.type in syntax_tree.LOOPS:
            return self.visit_loop(lambda: self.sequence(node, directories))
        return self.sequence(node, directories)

    def sequence(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        if node.type == "compound_statement" and (node.text or b"")[1:2].strip():
            self.program.add_opaque("it has a brace without a space before the next word")
        variable = node.child_by_field_name("variable")
        if variable is not None and not is_private_name(node_text(variable)):
            self.program.add_ask_reason(f"it sets a variable that programs may read ({node_text(variable)})")
        after = unchanged_directories(directories)
        for child in node.children:
            after = self.visit(child, after.in_any_case)
            after = DirectoriesAfter(
                after.on_success, union(directories, after.in_any_case) if node.type != "program" else after.in_any_case
            )
        return after

    def and_or_list(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        """`A && B || C`, which the tree nests as pairs."""
        rest: list[tuple[Node, Node]] = []
        while node.type == "list" and len(node.children) == 3:
            self.source.check_gaps(node)
            rest.append((node.children[1], node.children[2]))
            node = node.children[0]
        after = self.visit(node, directories)
        for operator, right in reversed(rest):
            both = operator.type == "&&"
            then = self.visit(right, after.on_success if both else after.in_any_case)
            on_success = then.on_success if both else union(after.on_success, then.on_success)
            after = DirectoriesAfter(on_success, union(after.in_any_case, then.in_any_case))
        return after

    def subshell(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        """Walk what runs in a subshell: a part of a pipeline, parentheses, a substitution."""
        if node.type in syntax_tree.SUBSTITUTIONS:
            self.program.add_ask_reason("it uses command substitution")
        after, directory_unknown = directories, self.directory_unknown
        for child in node.children:
            if child.type in ("file_redirect", "heredoc_redirect"):
                self.program.add_opaque("it redirects inside a substitution")
                self.visit_unknown(child, directories)
            else:
                after = self.visit(child, directories if node.type == "pipeline" else after).in_any_case
        self.directory_unknown = directory_unknown
        return unchanged_directories(directories)

    def redirected_statement(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        body = node.child_by_field_name("body")
        if body is not None and body.type == "command":
            return self.command(body, directories, node)
        after = unchanged_directories(directories) if body is None else self.visit(body, directories)
        # A list's redirection belongs to its last command, which may run where the others have changed to.
        here = union(directories, after.in_any_case) if body is not None and body.type == "list" else directories
        words, _ = self.redirects(node, here)
        if body is None or words:
            self.program.add_opaque("it redirects without a command")
        if words:
            self.add_command(Command(node_text(node).strip(), tuple(words), here))
        return after

    def redirects(self, node: Node, directories: tuple[Path, ...]) -> tuple[list[Word], str | None]:
        """Returns the words after a node's redirections, and the text fed to the command."""
        words: list[Word] = []
        stdin_text: str | None = None
        for child in node.children_by_field_name("redirect"):
            if child.type == "file_redirect":
                words += self.file_redirect(child, directories)
            elif child.type == "heredoc_redirect":
                stdin_text = self.heredoc(child, directories)
            else:
                stdin_text = self.decode_words([each for each in child.children if each.is_named], directories)[0].text
        return words, stdin_text

    def file_redirect(self, node: Node, directories: tuple[Path, ...]) -> list[Word]:
        """Returns the words after the target, which the tree takes for further targets."""
        targets = [child for child in node.children if child.is_named and child.type not in syntax_tree.NO_TARGETS]
        words = self.decode_words(targets, directories)
        for one, two in pairwise(targets):
            self.source.check_blank(one.end_byte, two.start_byte, BETWEEN_WORDS)
        if not words:
            return []
        operator = self.source.redirect_operator(targets[0])
        if operator == "<>":
            self.program.guard("'<>' opens a file for reading and writing")
        if not (operator in (">&", "<&") and _NO_FILES.fullmatch(words[0].known)):
            if self.known_only_at_run_time(words[0]):
                self.program.guard("it redirects to or from a file that is only known at run time")
            self.program.redirects.append((Redirect(words[0], writes=operator not in ("<", "<&")), directories))
        return words[1:]

    def known_only_at_run_time(self, target: Word) -> bool:
        if target.text is None or target.pattern is not None:
            return True
        return (self.directory_unknown and not target.text.startswith("/")) or (
            self.has_error and target.text != "/dev/null"
        )

    def heredoc(self, node: Node, directories: tuple[Path, ...]) -> str | None:
        for child in node.children:
            if child.type == "file_redirect":
                self.program.add_opaque("it redirects after a here-document")
                self.file_redirect(child, directories)
            elif child.is_named and not child.type.startswith("heredoc"):
                self.visit(child, directories)
            elif child.type == "heredoc_body":
                self.substitutions(child, directories)
        try:
            return heredoc_text(node)
        except UndecodableWord as reason:
            self.program.add_opaque(str(reason))
            return None

    def command(self, node: Node, directories: tuple[Path, ...], shown: Node | None = None) -> DirectoriesAfter:
        """`shown`: the statement with its redirections, for clients."""
        self.source.check_gaps(node, BETWEEN_WORDS)
        at = len(self.program.commands)  # before the commands in its words
        assigned = [child for child in node.children if child.type == "variable_assignment"]
        names = tuple(self.assignment(child, directories) for child in assigned)
        redirects = node.children_by_field_name("redirect")
        apart = {each.id for each in (*assigned, *redirects)}
        words = self.decode_words([each for each in node.children if each.id not in apart], directories)
        inner, stdin_text = self.redirects(node, directories)
        outer, document = self.redirects(shown, directories) if shown else ([], None)
        source = node_text(shown or node).strip()
        return self.add_command(
            Command(
                source,
                (*words, *inner, *outer),
                directories,
                names,
                document or stdin_text,
                directory_unknown=self.directory_unknown,
            ),
            at,
        )

    def assignment(self, node: Node, directories: tuple[Path, ...]) -> str:
        """Returns the assigned name; analyses the value like a word."""
        name, value = (node.child_by_field_name(field) for field in ("name", "value"))
        if name is not None and name.type != "variable_name":
            self.program.add_opaque("it sets an element of an array")
            self.visit_unknown(name, directories)
        self.decode_words([value] if value is not None else [], directories)
        return node_text(name) if name is not None else ""

    def test_command(self, node: Node, directories: tuple[Path, ...]) -> DirectoriesAfter:
        """`[ … ]`, as a command named `[`."""
        pieces = [leaf for leaf in leaves(node) if leaf.type not in ("[", "]")]
        if any(leaf.type in ("<", ">") for leaf in pieces):
            self.program.guard("it redirects inside a test")
        words = self.decode_words(pieces, directories)
        return self.add_command(Command(node_text(node), (Word("[", "["), *words), directories))

    def add_command(self, command: Command, at: int | None = None) -> DirectoriesAfter:
        if not command.words:
            self.program.add_opaque("it sets variables")
            return unchanged_directories(command.directories)
        if len(self.program.commands) >= _MAX_COMMANDS:
            self.program.guard("it contains too many commands")
        if any(not _HARMLESS.fullmatch(name) for name in command.assignments):
            self.program.add_ask_reason("it sets environment variables for a command")
        if not command.has_plain_name or command.words[0].text in _KEYWORDS:
            self.program.add_opaque(f"{command.words[0].source!r} is not a plain program name")
        self.program.commands.insert(len(self.program.commands) if at is None else at, command)
        self.directory_unknown = self.directory_unknown or command.may_change_directory
        if command.name in CHANGES_DIRECTORY:
            return self.change_directory(command)
        return unchanged_directories(command.directories)

    def change_directory(self, command: Command) -> DirectoriesAfter:
        self.program.budget.spend(sum(len(directory.parts) for directory in command.directories))
        to = cd_target(command, self.decoder(command.directories).home)
        if to is None or self.loop_depth or self.source.may_lead_cd_elsewhere:
            self.directory_unknown = True
            self.program.add_opaque("it changes to a directory that is only known at run time")
            return unchanged_directories(command.directories)
        self.program.directories += to
        certain = len(self.program.commands) == 1 and all(map(is_directory, to))
        return unchanged_directories(to) if certain else DirectoriesAfter(to, union(command.directories, to))

    def decode_words(self, nodes: Iterable[Node], directories: tuple[Path, ...]) -> list[Word]:
        """Visits the commands inside. An undecodable word is an unknown one."""
        words: list[Word] = []
        for node in nodes:
            self.substitutions(node, directories)
            source = node_text(node)
            if self.source.keeps_descriptor(node):
                self.program.add_opaque("it keeps the number of a file in a variable")
            if node.type in syntax_tree.OPERATORS:
                words.append(Word(source, source))
                continue
            decoded, unclear = self.decoder(() if self.directory_unknown else directories).words(node)
            if unclear is None:
                self.program.budget.spend(len(decoded))
            else:
                self.program.add_opaque(unclear)
            words += decoded
        return words

    def substitutions(self, node: Node, directories: tuple[Path, ...]) -> None:
        for found in find_nodes(node, syntax_tree.SUBSTITUTIONS):
            self.visit(found, directories)

    def visit_unknown(self, node: Node, directories: tuple[Path, ...]) -> None:
        """Visit the commands and files below a node that is not understood, for denies."""
        for found in find_nodes(node, frozenset({"command", "file_redirect"}) | syntax_tree.SUBSTITUTIONS):
            if found.type == "file_redirect":
                self.file_redirect(found, directories)
            else:
                self.visit(found, directories)
