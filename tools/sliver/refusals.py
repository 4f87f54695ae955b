"""What to say of Python outside the sliver: what it is, and what would be right."""

from __future__ import annotations

import ast
from dataclasses import dataclass

INTEGERS = "use integers"
CELLS = "use parameters and cells"
BRANCH = "use an if statement"

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AnnAssign: ("an annotated assignment", "write name = value"),
    ast.Assert: ("assert", "check it where the limit is built"),
    ast.Break: ("break", "end the loop by its condition"),
    ast.Continue: ("continue", BRANCH),
    ast.Dict: ("a dictionary", CELLS),
    ast.DictComp: ("a comprehension", "use while"),
    ast.Expr: ("a bare expression", "assign it, or remove it"),
    ast.For: ("a for loop", "use while"),
    ast.FunctionDef: ("a function in a function", "write it at module level"),
    ast.GeneratorExp: ("a comprehension", "use while"),
    ast.IfExp: ("a conditional expression", BRANCH),
    ast.JoinedStr: ("an f-string", INTEGERS),
    ast.Lambda: ("a lambda", "write a def at module level"),
    ast.List: ("a list", CELLS),
    ast.ListComp: ("a comprehension", "use while"),
    ast.NamedExpr: ("a walrus", "assign on a line of its own"),
    ast.Pass: ("pass", "leave the branch out"),
    ast.Raise: ("raise", "return an answer"),
    ast.Set: ("a set", CELLS),
    ast.SetComp: ("a comprehension", "use while"),
    ast.Slice: ("a slice", "read one cell at a time"),
    ast.Starred: ("a star", "pass each number by position"),
    ast.Tuple: ("a tuple within", "return it, or unpack a call: a, b = f(x)"),
    ast.While: ("else on a while loop", BRANCH),
}

SIGNS: dict[type[ast.AST], str] = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Invert: "~",
    ast.LShift: "<<",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.RShift: ">>",
    ast.UAdd: "+",
}

KINDS: dict[type, str] = {bool: "a truth value", float: "a float", str: "a string"}

# Words of Lua and of C declarations, and the functions both twins lean on.
WORDS = """
do elseif end function local nil repeat then until true false goto math min max
char const double enum float int long object short signed struct union unsigned void
"""
TAKEN = frozenset(WORDS.split())


class SliverError(Exception):
    """What falls outside the sliver, where, and what would be right."""


@dataclass(frozen=True)
class Place:
    """The file being read, which every refusal names."""

    path: str

    def outside(self, at: ast.AST, what: str, right: str) -> SliverError:
        """The refusal of `what` on the line of `at`."""
        line = getattr(at, "lineno", 1)
        return SliverError(f"{self.path}:{line}: {what} is outside the sliver; {right}")

    def allowed(self, name: str, at: ast.AST) -> str:
        """`name`, unless it means something else in Lua or C."""
        if name in TAKEN:
            raise self.outside(
                at, f"the name {name}", "it is a word of Lua or C, so choose another"
            )
        return name


def describe(node: ast.AST) -> tuple[str, str]:
    """What `node` is and what to write instead, for a node that has no place where it stands."""
    if type(node) in REFUSED:
        return REFUSED[type(node)]
    text = ast.unparse(node)
    match node:
        case ast.Constant(value=value):
            return f"{KINDS.get(type(value), 'a constant')} ({text})", INTEGERS
        case ast.Attribute():
            return f"an attribute ({text})", "pass it as a parameter"
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare():
            return _operation(node, text)
        case ast.Assign():
            return f"this assignment ({text})", "assign one number to one name"
    return f"{type(node).__name__.lower()} ({text})", "use integers, if, while and return"


def _operation(node: ast.expr, text: str) -> tuple[str, str]:
    match node:
        case ast.BinOp(op=ast.Div()):
            return "true division (/)", "use //"
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) if type(op) in SIGNS:
            return f"the operator {SIGNS[type(op)]}", "use + - * // %"
    return f"a condition as a number ({text})", BRANCH
