# Where the cells of a block of memory begin, in C. Whoever asks keeps the block for as long as it uses
# them; a typed view would do the same, and double the size of every module that knows of it.
cdef extern from *:
    """
    static long long *headgate_begin(PyObject *block) {
        Py_buffer view;
        long long *found;
        if (PyObject_GetBuffer(block, &view, PyBUF_WRITABLE) < 0) return NULL;
        found = (long long *)view.buf;
        PyBuffer_Release(&view);
        return found;
    }
    """
    long long* begin "headgate_begin"(object block) except NULL
