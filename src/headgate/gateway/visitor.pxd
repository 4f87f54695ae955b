# Compiled as it is; there are no C types in it, for its classes have heirs of Python.
