"""The sliver of Python a step is written in: reads a module, and refuses what falls outside.

What is inside means the same in Python, in C and in Lua 5.1, and that decides what is. Numbers and
conditions are apart, because zero is true in Lua: `if level` is outside, `if level != 0` inside,
and a comparison is never a number. A dividend is never negated, because C rounds towards zero
where the other two round down; that dividends are not negative otherwise is for each step to see
to. A literal is at most 2^53, the last whole number a Lua number counts up to. `cells` is the one
thing that is not a number: a row of them, read and written by index, passed on whole. A function
writes cells or answers, not both, because C may work out the parts of an expression in any order.

`step`, `charge` and `settle` are read, and every function of the module they call. A function of
another module cannot be called, since C functions are not imported by name; a constant can.
"""

from .module import ENTRANCES, Function, Sliver, expanded
from .refusals import SliverError

__all__ = ["ENTRANCES", "Function", "Sliver", "SliverError", "expanded"]
