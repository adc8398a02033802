"""Walk: from the syntax tree of a text to its commands; whatever it does not know becomes a reason to ask."""

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from tree_sitter import Node

from activities.files.resolve import is_directory
from activities.shell.analysis.heredocs import document
from activities.shell.analysis.places import Places, reached, stay, union
from activities.shell.analysis.program import CHANGES_DIRECTORY, Command, Program, Redirect, Word
from activities.shell.analysis.tree import find, leaves, parse, text_of
from activities.shell.analysis.variables import is_own
from activities.shell.analysis.words import Decoder, Undecidable
from activities.shell.analysis.work import MOST_PLACES, Work
from workflows.domain.errors import ToolError

T = TypeVar("T")

_MOST_COMMANDS: Final = 500
_DEEPEST: Final = 20  # nested constructs (security.md 2.3, 10)
_REFUSED: Final = 60  # nested constructs of which nothing is even asked about

_BETWEEN: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BETWEEN_WORDS: Final = re.compile(rb"(?:\\\n)*[ \t](?:[ \t]|\\\n)*")
_HARMLESS: Final = re.compile(r"LANG|LC_[A-Z]+|TZ|NO_COLOR|CI|TERM|COLUMNS|LINES")
_DESCRIPTOR: Final = re.compile(rb"\{(?:[^\s<>{}]|\\\n)+\}(?:\\\n)*[<>]")  # `{PATH}> f` sets PATH
_OPERATOR: Final = b"<>&|"  # the bytes that operators of redirections are made of
_NO_TARGETS: Final = frozenset({"file_descriptor", "ERROR"})
_NO_FILES: Final = re.compile(r"\d+|-")
_SYMBOLS: Final = "; ;; & && || | |& ! ( ) { } [ ] $( <( >( `"
_RESERVED: Final = "do done if then elif else fi for in while until case esac"
_SEPARATORS: Final = frozenset((*_SYMBOLS.split(), *_RESERVED.split()))
_OPERATORS: Final = frozenset({"=", "==", "=~", "!=", "!", "test_operator"})
_ASSIGNMENTS: Final = frozenset({"variable_assignment", "variable_assignments"})
_SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_LOOPS: Final = frozenset({"for_statement", "while_statement"})
_ORDERLY: Final = frozenset(
    {"program", "compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "case_statement"}
    | {"case_item", "negated_command"}
    | _LOOPS
)
_APART: Final = frozenset({"pipeline", "subshell"} | _SUBSTITUTIONS)
_VALUES: Final = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion"}
)
_SILENT: Final = _VALUES | {"comment", "variable_name", "extglob_pattern"}
_MOVING: Final = frozenset({"builtin", "command", "eval", "source", ".", "trap", "time"})
_ELSEWHERE: Final = re.compile(rb"CDPATH|cdable_vars")  # with them, `cd` does not go where it says
_MOVES: Final = re.compile(r"\b(?:cd|chdir|pushd|popd)\b")
_KEYWORDS: Final = frozenset({"if", "then", "else", "fi", "do", "done", "case", "esac", "{", "}", "!", "[["})


class Walk:
    """Collects what one text would do; `decoder` decodes words by where the shell may be."""

    def __init__(self, decoder: Callable[[tuple[Path, ...]], Decoder], work: Work, *, lost: bool = False) -> None:
        self.decoder = decoder
        self.lost = lost  # whether the shell may be in directories that are only known at run time
        self.depth = 0
        self.repeats = 0
        self.broken = False
        self.source = b""
        self.program = Program(work=work)

    def read(self, text: str, places: tuple[Path, ...]) -> Program:
        """Analyse a text that starts in one of `places`."""
        self.source = text.encode()
        root = parse(self.source)
        self.broken = root.has_error
        if root.has_error:
            self.opaque("it is not valid bash")
        if root.children:
            first, last = root.children[0].start_byte, root.children[-1].end_byte
            self.between(0, first)
            self.between(last, len(self.source))
        with self.program.checked():
            self.visit(root, places)
        return self.program

    def opaque(self, reason: str) -> None:
        if reason not in self.program.opaque:
            self.program.opaque.append(reason)

    def doubt(self, reason: str) -> None:
        if reason not in self.program.doubts:
            self.program.doubts.append(reason)

    def visit(self, node: Node, places: tuple[Path, ...]) -> Places:
        """Take one node and all below it; returns where the shell may be afterwards."""
        if len(places) > MOST_PLACES:  # what is left of the text is looked at in some of them: denies still see it
            self.program.guard(f"it may run in more than {MOST_PLACES} directories")
            places = places[:MOST_PLACES]
        self.program.work.spend(len(places))
        if node.type == "command":
            return self.command(node, places)
        if not node.is_named:
            if node.type not in _SEPARATORS and node.type.strip():
                self.opaque(f"it has {node.type!r} where it is not expected")
            return stay(places)
        if node.type in _VALUES:
            self.values([node], places)
        if node.type == "extglob_pattern" and re.search(r"[$`(]", text_of(node)):
            self.opaque("it uses a pattern with more than wildcards")
        if node.type in _SILENT:
            return stay(places)
        self.depth += 1
        try:
            return self._nested(node, places)
        finally:
            self.depth -= 1

    def _nested(self, node: Node, places: tuple[Path, ...]) -> Places:
        if self.depth > _REFUSED:
            raise ToolError("The command is nested too deeply: put its steps into a script, or run them one by one.")
        if self.depth > _DEEPEST:
            self.program.guard("it is nested too deeply")
        if node.type != "heredoc_redirect":
            self.gaps(node)
        match node.type:
            case "list" if len(node.children) == 3:
                return self.chain(node, places)
            case "redirected_statement":
                return self.redirected(node, places)
            case kind if kind in _ORDERLY:
                return self.orderly(node, places)
            case kind if kind in _APART:
                return self.apart(node, places)
            case "test_command" if text_of(node.children[0]) == "[":
                return self.bracket(node, places)
        if not node.is_error:
            sets = node.type in _ASSIGNMENTS
            self.opaque("it sets variables" if sets else f"it uses a {node.type.replace('_', ' ')}")
        self.repeated(lambda: self.strays(node, places))
        return stay(places)

    def repeated(self, visit: Callable[[], T]) -> T:
        """Visit what may run more than once: a change of directory in it holds for what stands before that, too."""
        lost, commands, redirects = self.lost, len(self.program.commands), len(self.program.redirects)
        self.repeats += 1
        found = visit()
        if self.lost and not lost:
            del self.program.commands[commands:], self.program.redirects[redirects:]
            found = visit()
        self.repeats -= 1
        return found

    def orderly(self, node: Node, places: tuple[Path, ...]) -> Places:
        """One after the other, whatever became of the one before; in a loop again and again."""
        if node.type in _LOOPS:
            return self.repeated(lambda: self.steps(node, places))
        return self.steps(node, places)

    def steps(self, node: Node, places: tuple[Path, ...]) -> Places:
        if node.type == "compound_statement" and (node.text or b"")[1:2].strip():
            self.opaque("it has a brace without a space before the next word")
        variable = node.child_by_field_name("variable")
        if variable is not None and not is_own(text_of(variable)):
            self.doubt(f"it sets a variable that programs may read ({text_of(variable)})")
        after = stay(places)
        for child in node.children:
            after = self.visit(child, after.anyhow)
            after = Places(after.done, union(places, after.anyhow) if node.type != "program" else after.anyhow)
        return after

    def chain(self, node: Node, places: tuple[Path, ...]) -> Places:
        """`A && B || C`, which the tree holds as pairs of pairs."""
        rest: list[tuple[Node, Node]] = []
        while node.type == "list" and len(node.children) == 3:
            self.gaps(node)
            rest.append((node.children[1], node.children[2]))
            node = node.children[0]
        after = self.visit(node, places)
        for operator, right in reversed(rest):
            both = operator.type == "&&"
            then = self.visit(right, after.done if both else after.anyhow)
            done = then.done if both else union(after.done, then.done)
            after = Places(done, union(after.anyhow, then.anyhow))
        return after

    def apart(self, node: Node, places: tuple[Path, ...]) -> Places:
        """What runs in a shell of its own: a pipeline's parts, groups in parentheses, substitutions."""
        if node.type in _SUBSTITUTIONS:
            self.doubt("it uses command substitution")
        after, lost = places, self.lost
        for child in node.children:
            if child.type in ("file_redirect", "heredoc_redirect"):
                self.opaque("it redirects inside a substitution")
                self.strays(child, places)
            else:
                after = self.visit(child, places if node.type == "pipeline" else after).anyhow
        self.lost = lost
        return stay(places)

    def redirected(self, node: Node, places: tuple[Path, ...]) -> Places:
        body = node.child_by_field_name("body")
        if body is not None and body.type == "command":
            return self.command(body, places, node)
        after = stay(places) if body is None else self.visit(body, places)
        # The redirection of a list is that of its last command, which may run where the others have gone.
        here = union(places, after.anyhow) if body is not None and body.type == "list" else places
        words, _ = self.redirects(node, here)
        if body is None or words:
            self.opaque("it redirects without a command")
        if words:
            self.note(Command(text_of(node).strip(), tuple(words), here))
        return after

    def redirects(self, node: Node, places: tuple[Path, ...]) -> tuple[list[Word], str | None]:
        """Note the redirections at a node; returns the words of its command that stand behind one, and what is fed."""
        words: list[Word] = []
        fed: str | None = None
        for child in node.children_by_field_name("redirect"):
            if child.type == "file_redirect":
                words += self.file(child, places)
            elif child.type == "heredoc_redirect":
                fed = self.heredoc(child, places)
            else:
                fed = self.values([each for each in child.children if each.is_named], places)[0].text
        return words, fed

    def file(self, node: Node, places: tuple[Path, ...]) -> list[Word]:
        """Note where a redirection leads; the tree takes the words behind it for further targets: they are returned."""
        targets = [child for child in node.children if child.is_named and child.type not in _NO_TARGETS]
        words = self.values(targets, places)
        for one, two in pairwise(targets):
            self.between(one.end_byte, two.start_byte, _BETWEEN_WORDS)
        if not words:
            return []
        operator = self.operator(targets[0])
        if operator == "<>":
            self.program.guard("'<>' opens a file for reading and writing")
        if not (operator in (">&", "<&") and _NO_FILES.fullmatch(words[0].known)):
            if self.only_then_known(words[0]):
                self.program.guard("it redirects to or from a file that is only known at run time")
            self.program.redirects.append((Redirect(words[0], writes=operator not in ("<", "<&")), places))
        return words[1:]

    def only_then_known(self, target: Word) -> bool:
        """Whether only a run of the text tells which file a redirection leads to."""
        if target.text is None or target.pattern is not None:
            return True
        return (self.lost and not target.text.startswith("/")) or (self.broken and target.text != "/dev/null")

    def operator(self, target: Node) -> str:
        """The operator before the target of a redirection, from the text: the tree has no `<>`."""
        before = self.source[: target.start_byte].replace(b"\\\n", b"").rstrip(b" \t")
        return before[len(before.rstrip(_OPERATOR)) :].decode()

    def heredoc(self, node: Node, places: tuple[Path, ...]) -> str | None:
        for child in node.children:
            if child.type == "file_redirect":
                self.opaque("it redirects after a here-document")
                self.file(child, places)
            elif child.is_named and not child.type.startswith("heredoc"):
                self.visit(child, places)
            elif child.type == "heredoc_body":
                self.substitutions(child, places)
        try:
            return document(node)
        except Undecidable as reason:
            self.opaque(str(reason))
            return None

    def command(self, node: Node, places: tuple[Path, ...], shown: Node | None = None) -> Places:
        """Note a simple command; `shown` is the statement with its redirections, which clients see."""
        self.gaps(node, _BETWEEN_WORDS)
        at = len(self.program.commands)  # before the commands inside its words
        assigned = [child for child in node.children if child.type == "variable_assignment"]
        names = tuple(self.assignment(child, places) for child in assigned)
        redirects = node.children_by_field_name("redirect")
        apart = {each.id for each in (*assigned, *redirects)}
        words = self.values([each for each in node.children if each.id not in apart], places)
        inner, fed = self.redirects(node, places)
        outer, document = self.redirects(shown, places) if shown else ([], None)
        source = text_of(shown or node).strip()
        return self.note(Command(source, (*words, *inner, *outer), places, names, document or fed, lost=self.lost), at)

    def assignment(self, node: Node, places: tuple[Path, ...]) -> str:
        """The name that is set; its value is looked at like a word."""
        name, value = (node.child_by_field_name(field) for field in ("name", "value"))
        if name is not None and name.type != "variable_name":
            self.opaque("it sets an element of an array")
            self.strays(name, places)
        self.values([value] if value is not None else [], places)
        return text_of(name) if name is not None else ""

    def bracket(self, node: Node, places: tuple[Path, ...]) -> Places:
        """`[ … ]`: the words of a test, as a command named `[`."""
        pieces = [leaf for leaf in leaves(node) if leaf.type not in ("[", "]")]
        if any(leaf.type in ("<", ">") for leaf in pieces):
            self.program.guard("it redirects inside a test")
        words = self.values(pieces, places)
        return self.note(Command(text_of(node), (Word("[", "["), *words), places))

    def note(self, command: Command, at: int | None = None) -> Places:
        if not command.words:
            self.opaque("it sets variables")
            return stay(command.directories)
        if len(self.program.commands) >= _MOST_COMMANDS:
            self.program.guard("it contains too many commands")
        if any(not _HARMLESS.fullmatch(name) for name in command.assignments):
            self.doubt("it sets environment variables for a command")
        if not command.plainly_named or command.words[0].text in _KEYWORDS:
            self.opaque(f"{command.words[0].source!r} is not a plain program name")
        self.program.commands.insert(len(self.program.commands) if at is None else at, command)
        self.lost = self.lost or _moves_unseen(command)
        return self.moved(command) if command.name in CHANGES_DIRECTORY else stay(command.directories)

    def moved(self, command: Command) -> Places:
        """Where the shell is after a change of directory."""
        self.program.work.spend(sum(len(place.parts) for place in command.directories))
        to = reached(command, self.decoder(command.directories).home)
        if to is None or self.repeats or _ELSEWHERE.search(self.source):
            self.lost = True
            self.opaque("it changes to a directory that is only known at run time")
            return stay(command.directories)
        self.program.directories += to
        certain = len(self.program.commands) == 1 and all(map(is_directory, to))
        return stay(to) if certain else Places(to, union(command.directories, to))

    def values(self, nodes: Iterable[Node], places: tuple[Path, ...]) -> list[Word]:
        """The words of some nodes, and the commands inside them. What cannot be decoded is an unknown word."""
        words: list[Word] = []
        for node in nodes:
            self.substitutions(node, places)
            source = text_of(node)
            if _DESCRIPTOR.match(self.source, node.start_byte):
                self.opaque("it keeps the number of a file in a variable")
            if node.type in _OPERATORS:
                words.append(Word(source, source))
                continue
            try:
                decoded = self.decoder(() if self.lost else places).words(node)
                self.program.work.spend(len(decoded))
                words += decoded
            except Undecidable as reason:
                self.opaque(str(reason))
                words += reason.words or [Word(source, None)]
        return words

    def substitutions(self, node: Node, places: tuple[Path, ...]) -> None:
        for found in find(node, _SUBSTITUTIONS):
            self.visit(found, places)

    def strays(self, node: Node, places: tuple[Path, ...]) -> None:
        """The commands and files below a node that is not understood: denies still see them."""
        for found in find(node, frozenset({"command", "file_redirect"}) | _SUBSTITUTIONS):
            if found.type == "file_redirect":
                self.file(found, places)
            else:
                self.visit(found, places)

    def gaps(self, node: Node, allowed: re.Pattern[bytes] = _BETWEEN) -> None:
        """Every byte between two children is a blank: else the tree and the shell may see different words."""
        for one, two in pairwise(node.children):
            self.between(one.end_byte, two.start_byte, allowed)

    def between(self, start: int, end: int, allowed: re.Pattern[bytes] = _BETWEEN) -> None:
        if allowed.fullmatch(self.source[start:end]) is None:
            self.opaque("it has unexpected characters between its words")


def _moves_unseen(command: Command) -> bool:
    """Whether a command may change the directory in a way that is not followed."""
    if command.words[0].text is None or command.name == "popd":
        return True
    return command.name in _MOVING and _MOVES.search(command.canonical) is not None
