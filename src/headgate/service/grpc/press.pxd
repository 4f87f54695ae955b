# How a whole answer is put together in C: its headers, the message, the headers that end it.
cdef extern from *:
    """
    static void headgate_number(char *at, unsigned long long value, int size) {
        while (size-- > 0) {
            at[size] = (char)(value & 0xFF);
            value >>= 8;
        }
    }
    static PyObject *headgate_press(
            PyObject *lead, PyObject *tail, long long stream, PyObject *message) {
        Py_ssize_t before, after, size;
        PyObject *made;
        char *at;
        if (lead == Py_None || tail == Py_None || message == Py_None) {
            PyErr_SetString(PyExc_TypeError, "an answer is bytes, not None");
            return NULL;
        }
        before = PyBytes_GET_SIZE(lead);
        after = PyBytes_GET_SIZE(tail);
        size = PyBytes_GET_SIZE(message);
        made = PyBytes_FromStringAndSize(NULL, before + 14 + size + after);
        if (made == NULL) return NULL;
        at = PyBytes_AS_STRING(made);
        /* Of both frames there is all but the number of their stream. */
        memcpy(at, PyBytes_AS_STRING(lead), (size_t)before);
        headgate_number(at + 5, (unsigned long long)stream, 4);
        at += before;
        headgate_number(at, (unsigned long long)size + 5, 3);
        at[3] = at[4] = 0;
        headgate_number(at + 5, (unsigned long long)stream, 4);
        at[9] = 0;
        headgate_number(at + 10, (unsigned long long)size, 4);
        memcpy(at + 14, PyBytes_AS_STRING(message), (size_t)size);
        at += 14 + size;
        memcpy(at, PyBytes_AS_STRING(tail), (size_t)after);
        headgate_number(at + 5, (unsigned long long)stream, 4);
        return made;
    }
    """
    bytes press "headgate_press"(bytes lead, bytes tail, long long stream, bytes message)
