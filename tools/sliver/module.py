"""Reads the functions of a module that keep to the sliver, statement by statement."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .constants import Constants, bounded
from .refusals import Place, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

ENTRANCES = ("fresh", "step", "charge", "settle")

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
ORDER = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Function:
    """A function that keeps to the sliver; `answer` is the C type of what it returns."""

    name: str
    summary: str
    parameters: tuple[str, ...]
    locals: tuple[str, ...]
    body: Sequence[ast.stmt]
    answer: str


class Sliver:
    """The functions of a module that keep to the sliver, callees first, and their constants."""

    def __init__(self, source: str, path: str) -> None:
        self.tree = ast.parse(source, path)
        self.place = Place(path)
        self.constants = Constants(self.tree, self.place)
        self.functions: dict[str, Function] = {}
        self._begun: set[str] = set()
        defs = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        self._defs = {node.name: node for node in defs}
        for name in ENTRANCES:
            if name in self._defs:
                self.function(name, self._defs[name])

    @property
    def names(self) -> list[str]:
        """The functions in the order of the module."""
        return [name for name in self._defs if name in self.functions]

    def function(self, name: str, at: ast.AST) -> Function:
        """The function that `at` calls by `name`, read once."""
        if name in self.functions:
            return self.functions[name]
        if name in self._begun:
            raise self.place.outside(at, f"recursion ({name})", "use while")
        if name not in self._defs:
            raise self.place.outside(
                at, f"a call of {name}", "call min, max or a function of this module"
            )
        self._begun.add(name)
        self.functions[name] = _Reading(self, self._defs[name]).function()
        return self.functions[name]


class _Reading:
    def __init__(self, module: Sliver, node: ast.FunctionDef) -> None:
        self.module = module
        self.place = module.place
        self.node = node
        self.parameters = self._parameters(node.args)
        self.locals = self._locals()
        self.answers: set[str] = set()
        self.writes = False

    def function(self) -> Function:
        summary = (ast.get_docstring(self.node) or "").partition("\n")[0]
        body = self.node.body[1:] if summary else self.node.body
        name = self.place.allowed(self.node.name, self.node)
        self._block(body)
        if not _returns(body):
            self.answers.add("void")
        answer, *others = self.answers
        if others:
            what = f"{name} answering in two ways"
            raise self.place.outside(self.node, what, "return alike throughout")
        if self.writes and answer != "void":
            # C is free to call it before or after it reads a cell in the same expression.
            what = f"{name} writing cells and answering"
            raise self.place.outside(self.node, what, "do one of the two")
        return Function(name, summary, self.parameters, self.locals, body, answer)

    def _parameters(self, args: ast.arguments) -> tuple[str, ...]:
        plain = ast.arguments(
            posonlyargs=[], args=args.args, kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        if ast.dump(plain) != ast.dump(args) or self.node.decorator_list:
            right = "name each parameter, without default or decorator"
            raise self.place.outside(self.node, f"such a def ({self.node.name})", right)
        return tuple(self.place.allowed(one.arg, one) for one in args.args)

    def _locals(self) -> tuple[str, ...]:
        stored = [
            (node.id, node)
            for node in ast.walk(ast.Module(self.node.body, []))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        stored.sort(key=lambda found: (found[1].lineno, found[1].col_offset))
        names = {self.place.allowed(name, node): None for name, node in stored}
        return tuple(name for name in names if name not in self.parameters)

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self._statement(node)
            if node is not body[-1] and _returns([node]):
                raise self.place.outside(node, "what follows a return", "remove it")

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call() as call):
                self._names(names)
                self._expect(call, many(len(names)))
            case ast.Assign(targets=[target], value=value):
                self._target(target)
                self._number(value)
            case ast.AugAssign(target=target):
                self._target(target)
                self._number(expanded(node))
            case ast.If(test=test, body=body, orelse=otherwise):
                self._condition(test)
                self._block(body)
                self._block(otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                self._condition(test)
                self._block(body)
            case ast.Return(value=value):
                self.answers.add(self._answer(value))
            case ast.Expr(value=ast.Call() as call):
                self.writes = True
                self._expect(call, "void")
            case _:
                raise self.place.outside(node, *describe(node))

    def _names(self, targets: Sequence[ast.expr]) -> None:
        for one in targets:
            if not isinstance(one, ast.Name):
                # Lua works out every index before it assigns, Python after.
                what = f"unpacking into {ast.unparse(one)}"
                raise self.place.outside(one, what, "unpack into names")
            self._target(one)

    def _target(self, node: ast.expr) -> None:
        match node:
            case ast.Name(id=name) if name != "cells":
                return
            case ast.Subscript():
                self.writes = True
                self._number(node)
            case _:
                right = "assign to a name or a cell"
                raise self.place.outside(node, f"assignment to {ast.unparse(node)}", right)

    def _answer(self, value: ast.expr | None) -> str:
        match value:
            case None:
                return "void"
            case ast.Tuple(elts=[_, *_] as parts):
                for part in parts:
                    self._number(part)
                return many(len(parts))
            case ast.Call() if (answer := self._call(value)) != "void":
                return answer
        self._number(value)
        return "long long"

    def _number(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                bounded(value, node, self.place)
            case ast.Name(id=name):
                self._name(name, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._number(operand)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, ARITHMETIC):
                self._dividend(left, op)
                self._number(left)
                self._number(right)
            case ast.Subscript(value=ast.Name(id="cells"), slice=index):
                self._index(index)
            case ast.Call():
                self._expect(node, "long long")
            case _:
                raise self.place.outside(node, *describe(node))

    def _name(self, name: str, node: ast.AST) -> None:
        if name == "cells":
            raise self.place.outside(node, "cells as a number", "read one of them: cells[row]")
        if name not in self.parameters and name not in self.locals:
            self.module.constants.use(name, node)

    def _dividend(self, left: ast.expr, op: ast.operator) -> None:
        match op, left:
            case ((ast.FloorDiv() | ast.Mod()), ast.UnaryOp()):
                right = "divide what is not negative; (a + b - 1) // b rounds up"
                raise self.place.outside(left, f"a negated dividend ({ast.unparse(left)})", right)

    def _index(self, index: ast.expr) -> None:
        if "cells" not in self.parameters:
            raise self.place.outside(
                index, "cells without a parameter of that name", "pass cells and row last"
            )
        if isinstance(index, ast.UnaryOp):
            right = "count from the first cell"
            raise self.place.outside(index, f"a negative index ({ast.unparse(index)})", right)
        self._number(index)

    def _condition(self, node: ast.expr) -> None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, ORDER):
                self._number(left)
                self._number(right)
            case ast.Compare(ops=[_, _, *_]):
                raise self.place.outside(
                    node, f"a chain ({ast.unparse(node)})", "join two with and"
                )
            case ast.Compare():
                raise self.place.outside(node, ast.unparse(node), "use == != < <= > >=")
            case ast.BoolOp(values=values):
                for value in values:
                    self._condition(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._condition(operand)
            case ast.Name() | ast.Constant() | ast.BinOp() | ast.Subscript() | ast.Call():
                what = f"a number as a condition ({ast.unparse(node)})"
                raise self.place.outside(node, what, "compare it with 0, which is true in Lua")
            case _:
                raise self.place.outside(node, *describe(node))

    def _expect(self, call: ast.Call, answer: str) -> None:
        given = self._call(call)
        if given != answer:
            right = f"it answers {given}, and {answer} is used here"
            raise self.place.outside(call, f"this use of {ast.unparse(call.func)}", right)

    def _call(self, call: ast.Call) -> str:
        """The C type that `call` answers with."""
        match call:
            case ast.Call(keywords=[ast.keyword(arg=word), *_]):
                raise self.place.outside(
                    call, f"a keyword argument ({word}=)", "pass it by position"
                )
            case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as args):
                for arg in args:
                    self._number(arg)
                return "long long"
            case ast.Call(func=ast.Name(id="min" | "max" as name)):
                raise self.place.outside(call, f"{name} of one", "give it two numbers or more")
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._own_call(self.module.function(name, call), args, call)
        raise self.place.outside(call, *describe(call.func))

    def _own_call(self, function: Function, args: Sequence[ast.expr], call: ast.Call) -> str:
        if len(args) != len(function.parameters):
            what = f"{function.name} with {len(args)} arguments"
            raise self.place.outside(call, what, f"it takes {len(function.parameters)}")
        for parameter, arg in zip(function.parameters, args, strict=True):
            match parameter, arg:
                case "cells", ast.Name(id="cells"):
                    continue
                case "cells", _:
                    raise self.place.outside(arg, f"{ast.unparse(arg)} as cells", "pass cells")
            self._number(arg)
        return function.answer


def many(count: int) -> str:
    """The C type of `count` numbers at once."""
    return f"({', '.join(['long long'] * count)}{',' if count == 1 else ''})"


def expanded(node: ast.AugAssign) -> ast.BinOp:
    """What `node` assigns: `target op value`."""
    return ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)


def _returns(body: Sequence[ast.stmt]) -> bool:
    match body:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(body=first, orelse=[_, *_] as second)]:
            return _returns(first) and _returns(second)
    return False
