"""Render each algorithm's steps as Lua, and as the C declarations Cython compiles them by.

    python tools/twins.py            write x.lua and x.pxd beside every algorithms/x.py with a step
    python tools/twins.py --check    say which are stale or missing, and fail if any is

Modules named on the command line are rendered instead. What a step may be written in, and why, is
told in `tools/sliver`.

Two renderings are exact only within a range. `a // b` becomes `math.floor(a / b)`: for whole
numbers below 2^53 the quotient is rounded up to the next whole number only if it is that number.
Lua 5.1 defines `a % b` as `a - math.floor(a / b) * b`, exact for the same reason.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sliver import Function, Sliver, SliverError, expanded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
ALGORITHMS = ROOT / "src" / "headgate" / "algorithms"
RENDERED = "Rendered from {} by tools/twins.py; edit that file, not this one."

# How tightly Lua binds. Unlike in Python, `not` binds more tightly than a comparison.
OR, AND, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(1, 8)
SIGNS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Or: ("or", OR),
    ast.And: ("and", AND),
    ast.Eq: ("==", COMPARISON),
    ast.NotEq: ("~=", COMPARISON),
    ast.Lt: ("<", COMPARISON),
    ast.LtE: ("<=", COMPARISON),
    ast.Gt: (">", COMPARISON),
    ast.GtE: (">=", COMPARISON),
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.FloorDiv: ("/", PRODUCT),
    ast.Mod: ("%", PRODUCT),
}


def main(arguments: Sequence[str]) -> int:
    """Write or check the twins; 0 when all is well."""
    parser = argparse.ArgumentParser(description="Render each step as Lua and as C declarations.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on stale twins")
    parser.add_argument("modules", nargs="*", type=Path, help="modules to render (all algorithms)")
    wanted = parser.parse_args(arguments)
    treat = check if wanted.check else write
    failures = 0
    for module in wanted.modules or sorted(ALGORITHMS.glob("*.py")):
        path = Path(os.path.relpath(module))
        try:
            reports = [treat(twin, text) for twin, text in render(path).items()]
        except SliverError as outside:
            reports = [str(outside)]
        failures += sum(not report.startswith(("fresh", "wrote")) for report in reports)
        for report in reports:
            print(report)
    return 1 if failures else 0


def render(path: Path) -> dict[Path, str]:
    """The twins of the module at `path`: none where it has no step."""
    source = path.read_text("utf-8")
    if not re.search(r"^def step\(", source, re.MULTILINE):
        return {}
    contract = path.with_name("limit.pxd").read_text("utf-8")
    return {
        path.with_suffix(".lua"): render_lua(source, str(path)),
        path.with_suffix(".pxd"): render_pxd(source, str(path), contract),
    }


def check(twin: Path, text: str) -> str:
    """Whether `twin` holds `text` and nothing else."""
    if not twin.exists():
        return f"missing {twin}; run python tools/twins.py"
    if twin.read_bytes() != text.encode():
        return f"stale {twin}; run python tools/twins.py"
    return f"fresh {twin}"


def write(twin: Path, text: str) -> str:
    """Make `twin` hold `text`."""
    twin.write_bytes(text.encode())
    return f"wrote {twin}"


def render_lua(source: str, path: str) -> str:
    """The module as a Lua 5.1 chunk that returns its functions by name."""
    module = Sliver(source, path)
    parts = [f"-- {RENDERED.format(Path(path).name)}\n"]
    if module.constants.used:
        parts.append("".join(f"local {k} = {v}\n" for k, v in module.constants.used.items()))
    parts += map(lua_function, module.functions.values())
    exports = ", ".join(f"{name} = {name}" for name in module.names)
    return "\n".join([*parts, f"return {{{exports}}}\n"])


def lua_function(function: Function) -> str:
    """One function, its locals declared at its top, since that is how Python scopes them."""
    lines = [f"-- {function.summary}"] if function.summary else []
    lines.append(f"local function {function.name}({', '.join(function.parameters)})")
    if function.locals:
        lines.append(f"  local {', '.join(function.locals)}")
    return "\n".join([*lines, *_lua_block(function.body, "  "), "end\n"])


def _lua_block(body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.If():
                yield from _lua_if(node, indent, "if")
                yield f"{indent}end"
            case ast.While(test=test, body=inner):
                yield f"{indent}while {lua(test)} do"
                yield from _lua_block(inner, f"{indent}  ")
                yield f"{indent}end"
            case _:
                yield indent + _lua_statement(node)


def _lua_if(node: ast.If, indent: str, word: str) -> Iterator[str]:
    yield f"{indent}{word} {lua(node.test)} then"
    yield from _lua_block(node.body, f"{indent}  ")
    match node.orelse:
        case [ast.If() as otherwise]:
            yield from _lua_if(otherwise, indent, "elseif")
        case [_, *_] as otherwise:
            yield f"{indent}else"
            yield from _lua_block(otherwise, f"{indent}  ")


def _lua_statement(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[target], value=value):
            return f"{lua(target)} = {lua(value)}"
        case ast.AugAssign(target=target):
            return f"{lua(target)} = {lua(expanded(node))}"
        case ast.Return(value=ast.expr() as value):
            return f"return {lua(value)}"
        case ast.Return():
            return "return"
        case ast.Expr(value=value):
            return lua(value)
    raise AssertionError(ast.dump(node))


def lua(node: ast.expr, level: int = OR) -> str:
    """An expression, in parentheses where it binds less tightly than `level`."""
    text, tightness = _lua_expression(node)
    return text if tightness >= level else f"({text})"


def _lua_expression(node: ast.expr) -> tuple[str, int]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"not {lua(operand, UNARY)}", UNARY
        case ast.UnaryOp(operand=operand):
            # Two minus signs in a row would begin a comment.
            return f"-{lua(operand, ATOM)}", UNARY
        case ast.BoolOp(op=joint, values=values):
            sign, level = SIGNS[type(joint)]
            return f" {sign} ".join(lua(value, level + 1) for value in values), level
        case ast.BinOp(left=left, op=op, right=right):
            return _lua_pair(left, op, right)
        case ast.Compare(left=left, ops=[order], comparators=[right]):
            return _lua_pair(left, order, right)
    return _lua_atom(node), ATOM


def _lua_pair(left: ast.expr, op: ast.AST, right: ast.expr) -> tuple[str, int]:
    sign, level = SIGNS[type(op)]
    text = f"{lua(left, level)} {sign} {lua(right, level + 1)}"
    return (f"math.floor({text})", ATOM) if isinstance(op, ast.FloorDiv) else (text, level)


def _lua_atom(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=value):
            return str(value)
        case ast.Tuple(elts=parts):
            return ", ".join(lua(part) for part in parts)
        case ast.Subscript(value=value, slice=index):
            return f"{lua(value)}[{lua(one_more(index))}]"
        case ast.Call(func=ast.Name(id=name), args=args):
            prefix = "math." if name in ("min", "max") else ""
            return f"{prefix}{name}({', '.join(lua(arg) for arg in args)})"
    raise AssertionError(ast.dump(node))


def one_more(index: ast.expr) -> ast.expr:
    """`index + 1`, for tables that count from one; a literal in it takes up the 1."""
    match index:
        case ast.Constant(value=int(number)):
            return ast.Constant(number + 1)
        case ast.BinOp(left=left, op=ast.Add() as op, right=ast.Constant() as right):
            return ast.BinOp(left, op, one_more(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)):
            return left
        case ast.BinOp(
            left=ast.BinOp(op=ast.Add(), right=ast.Constant()) as left,
            op=(ast.Add() | ast.Sub()) as op,
            right=right,
        ):
            return ast.BinOp(one_more(left), op, right)
    return ast.BinOp(index, ast.Add(), ast.Constant(1))


def render_pxd(source: str, path: str, contract: str) -> str:
    """The C declarations of the module, its limits' methods as `contract` (limit.pxd) has them."""
    module = Sliver(source, path)
    named = dict(re.findall(r"^ctypedef (.*) (\w+)$", contract, re.MULTILINE))
    functions = "".join(pxd_function(one, named) for one in module.functions.values())
    limits = [
        _pxd_class(node, methods(contract))
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and "Limit" in map(ast.unparse, node.bases)
    ]
    text = functions + "".join(limits)
    shared = ["Limit", *(name for name in named.values() if re.search(rf"\b{name}\b", text))]
    heading = f"# {RENDERED.format(Path(path).name)}\n"
    heading += "cimport cython\n" if "@cython" in functions else ""
    heading += f"from headgate.algorithms.limit cimport {', '.join(shared)}\n"
    constants = "".join(f"cdef long long {name}\n" for name in module.constants.used)
    return "\n".join(part for part in [heading, constants, functions, *limits] if part)


def pxd_function(function: Function, named: dict[str, str]) -> str:
    """A declaration; a tuple goes by its name where the contract has `named` it.

    To Cython a named tuple and the same one written out are two types.
    """
    parameters = ", ".join(
        f"long long{'*' if name == 'cells' else ''} {name}" for name in function.parameters
    )
    narrow = ", ".join(f"{name}=cython.longlong" for name in literal_locals(function))
    wide = f"@cython.locals({narrow})\n" if narrow else ""
    answer = named.get(function.answer, function.answer)
    return f"{wide}cdef {answer} {function.name}({parameters}) noexcept nogil\n"


def literal_locals(function: Function) -> list[str]:
    """The locals worked out from literals and each other alone.

    Cython makes them `long`, which has 32 bits on Windows; all others meet a `long long`.
    """
    literal = {*function.locals, "min", "max"}
    met = [
        (name.id, {one.id for one in ast.walk(node) if isinstance(one, ast.Name)})
        for node in ast.walk(ast.Module(list(function.body), []))
        if isinstance(node, ast.Assign | ast.AugAssign)
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    for _ in met:
        literal -= {name for name, others in met if not others <= literal}
    return [name for name in function.locals if name in literal]


def _pxd_class(node: ast.ClassDef, contract: dict[str, str]) -> str:
    lines = [f"cdef class {node.name}(Limit):"]
    for part in node.body:
        match part:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                kind = "long long" if ast.unparse(annotation) == "int" else "object"
                lines.append(f"    cdef readonly {kind} {name}")
    lines += [
        f"    {contract[part.name]}"
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name in contract
    ]
    return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"]) + "\n"


def methods(contract: str) -> dict[str, str]:
    """The methods that `contract` declares for `Limit`, by name, each on one line."""
    body = contract.partition("cdef class Limit:\n")[2]
    found = re.findall(r"^    (cdef .*?(\w+)\(\s*self[^)]*\).*)$", body, re.MULTILINE)
    return {
        name: " ".join(line.split()).replace("( ", "(").replace(" )", ")") for line, name in found
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
