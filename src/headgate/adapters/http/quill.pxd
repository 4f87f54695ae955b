# How the field of one policy is written, in C: its opening, what is left, and for how many seconds.
cdef extern from *:
    """
    static char *headgate_figure(char *end, long long number) {
        do *--end = (char)('0' + number % 10); while (number /= 10);
        return end;
    }
    static PyObject *headgate_write(PyObject *opening, long long left, long long seconds) {
        char figures[48], *const end = figures + sizeof figures, *at = end;
        const Py_ssize_t lead = PyBytes_GET_SIZE(opening);
        PyObject *found;
        if (seconds >= 0) {
            at = headgate_figure(at, seconds);
            memcpy(at -= 3, ";t=", 3);
        }
        at = headgate_figure(at, left);
        found = PyBytes_FromStringAndSize(NULL, lead + (end - at));
        if (found != NULL) {
            memcpy(PyBytes_AS_STRING(found), PyBytes_AS_STRING(opening), (size_t)lead);
            memcpy(PyBytes_AS_STRING(found) + lead, at, (size_t)(end - at));
        }
        return found;
    }
    """
    bytes write "headgate_write"(bytes opening, long long left, long long seconds)
