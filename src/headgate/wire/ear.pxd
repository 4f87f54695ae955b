# C types of ear.py, for Cython.
cdef class Ear:
    cpdef data_received(self, data)
    cpdef passed(self, Py_ssize_t size)
    cpdef on_message_begin(self)
    cpdef on_url(self, bytes part)
    cpdef on_header(self, bytes name, bytes value)
    cpdef on_headers_complete(self)
    cpdef on_body(self, part)
    cpdef on_message_complete(self)
