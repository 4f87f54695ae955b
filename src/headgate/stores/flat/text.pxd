# The bytes of a string without a copy, in C.
cdef extern from *:
    """
    /* Leaves `size` as it is where there are none: UTF-8 has no lone surrogates. */
    static inline const unsigned char *headgate_utf8(PyObject *key, Py_ssize_t *size) {
        const char *text = PyUnicode_AsUTF8AndSize(key, size);
        if (text == NULL) {
            PyErr_Clear();
            *size = -1;
        }
        return (const unsigned char *)text;
    }
    """
    const unsigned char* utf8 "headgate_utf8"(object key, Py_ssize_t* size) noexcept
