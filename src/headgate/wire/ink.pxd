# How bytes are written on a page, a bytearray, and read off it again, in C.
cdef extern from *:
    """
    static Py_ssize_t headgate_inscribe(PyObject *page, Py_ssize_t place, PyObject *part) {
        Py_ssize_t size, end;
        if (part == Py_None) {
            PyErr_SetString(PyExc_TypeError, "a part is bytes, not None");
            return -1;
        }
        size = PyBytes_GET_SIZE(part);
        end = place + size;
        if (end > PyByteArray_GET_SIZE(page) && PyByteArray_Resize(page, 2 * end) < 0) return -1;
        memcpy(PyByteArray_AS_STRING(page) + place, PyBytes_AS_STRING(part), (size_t)size);
        return end;
    }
    static Py_ssize_t headgate_enter(
            PyObject *page, Py_ssize_t place, PyObject *name, PyObject *value) {
        Py_ssize_t lead, size, end;
        char *at;
        if (name == Py_None || value == Py_None) {
            PyErr_SetString(PyExc_TypeError, "a header's name and value are bytes, not None");
            return -1;
        }
        lead = PyBytes_GET_SIZE(name);
        size = PyBytes_GET_SIZE(value);
        end = place + lead + size + 4;
        if (end > PyByteArray_GET_SIZE(page) && PyByteArray_Resize(page, 2 * end) < 0) return -1;
        at = PyByteArray_AS_STRING(page) + place;
        memcpy(at, PyBytes_AS_STRING(name), (size_t)lead);
        at += lead;
        *at++ = ':';
        *at++ = ' ';
        memcpy(at, PyBytes_AS_STRING(value), (size_t)size);
        at += size;
        *at++ = '\\r';
        *at = '\\n';
        return end;
    }
    static PyObject *headgate_read(PyObject *page, Py_ssize_t size) {
        return PyBytes_FromStringAndSize(PyByteArray_AS_STRING(page), size);
    }
    """
    Py_ssize_t inscribe "headgate_inscribe"(bytearray page, Py_ssize_t place, bytes part) except -1
    Py_ssize_t enter "headgate_enter"(
        bytearray page, Py_ssize_t place, bytes name, bytes value) except -1
    bytes read "headgate_read"(bytearray page, Py_ssize_t size)
