"""The constants a step may name: whole numbers, worked out so that each twin can write them."""

from __future__ import annotations

import ast
import operator
from pathlib import Path
from typing import TYPE_CHECKING

from .refusals import INTEGERS, Place

if TYPE_CHECKING:
    from collections.abc import Callable

# The last whole number up to which a Lua number holds every one.
LARGEST = 1 << 53

FOLDS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


class Constants:
    """A module's constants, of which those in `used` have been asked for."""

    def __init__(self, tree: ast.Module, place: Place) -> None:
        self.used: dict[str, int] = {}
        self._tree = tree
        self._place = place

    def use(self, name: str, at: ast.AST) -> None:
        """Note that `at` names the constant `name`, the module's own or a neighbour's."""
        value = self._value(name, at)
        self.used[self._place.allowed(name, at)] = bounded(value, at, self._place)

    def _value(self, name: str, at: ast.AST) -> int:
        for node in self._tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                    return self._fold(value)
                case ast.ImportFrom(module=str(module), names=names):
                    for one in names:
                        if (one.asname or one.name) == name:
                            return self._neighbour(module, at)._value(one.name, at)
        right = "use a parameter, a local or a constant of the module"
        raise self._place.outside(at, f"the name {name}", right)

    def _neighbour(self, module: str, at: ast.AST) -> Constants:
        beside = Path(self._place.path).with_name(f"{module.rpartition('.')[2]}.py")
        if not module.startswith("headgate.algorithms.") or not beside.exists():
            right = "import constants from headgate.algorithms"
            raise self._place.outside(at, f"a name of {module}", right)
        return Constants(ast.parse(beside.read_text("utf-8")), Place(str(beside)))

    def _fold(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return value
            case ast.Name(id=name):
                return self._value(name, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._fold(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in FOLDS:
                return FOLDS[type(op)](self._fold(left), self._fold(right))
        raise self._place.outside(node, f"a constant like {ast.unparse(node)}", INTEGERS)


def bounded(value: int, at: ast.AST, place: Place) -> int:
    """`value`, unless a Lua number would round it."""
    if abs(value) > LARGEST:
        raise place.outside(at, f"an integer beyond 2^53 ({value})", "use a smaller one")
    return value
