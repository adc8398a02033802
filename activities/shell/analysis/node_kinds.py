"""Kinds of nodes of a bash text's syntax tree, as the grammar names them."""

from typing import Final

NO_TARGETS: Final = frozenset({"file_descriptor", "ERROR"})
_SYMBOLS: Final = "; ;; & && || | |& ! ( ) { } [ ] $( <( >( `"
_RESERVED: Final = "do done if then elif else fi for in while until case esac"
SEPARATORS: Final = frozenset((*_SYMBOLS.split(), *_RESERVED.split()))
OPERATORS: Final = frozenset({"=", "==", "=~", "!=", "!", "test_operator"})
ASSIGNMENTS: Final = frozenset({"variable_assignment", "variable_assignments"})
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
LOOPS: Final = frozenset({"for_statement", "while_statement"})
ORDERLY: Final = frozenset(
    {"program", "compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "case_statement"}
    | {"case_item", "negated_command"}
    | LOOPS
)
APART: Final = frozenset({"pipeline", "subshell"} | SUBSTITUTIONS)
VALUES: Final = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion"}
)
SILENT: Final = VALUES | {"comment", "variable_name", "extglob_pattern"}
