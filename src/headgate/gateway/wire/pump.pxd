# How sockets are read, written and waited for, in C: a number of bytes, or below zero of an error.
cdef extern from *:
    """
    #include <errno.h>
    #include <sys/socket.h>
    #include <sys/uio.h>
    #ifdef __linux__
    #include <sys/epoll.h>
    #endif
    #define HEADGATE_GATHERED 16

    static Py_ssize_t headgate_receive(int number, PyObject *basin) {
        ssize_t size;
        do {
            size = recv(number, PyByteArray_AS_STRING(basin), PyByteArray_GET_SIZE(basin), MSG_DONTWAIT);
        } while (size < 0 && errno == EINTR);
        return size < 0 ? -errno : size;
    }

    static void headgate_vector(PyObject *part, struct iovec *vector) {
        if (PyBytes_Check(part)) {
            vector->iov_base = PyBytes_AS_STRING(part);
            vector->iov_len = (size_t)PyBytes_GET_SIZE(part);
        } else {
            vector->iov_base = PyMemoryView_GET_BUFFER(part)->buf;
            vector->iov_len = (size_t)PyMemoryView_GET_BUFFER(part)->len;
        }
    }

    static Py_ssize_t headgate_pour(int number, PyObject *parts) {
        struct iovec vectors[HEADGATE_GATHERED];
        struct msghdr message = {0};
        Py_ssize_t place, count = PyList_GET_SIZE(parts);
        ssize_t size;
        if (count > HEADGATE_GATHERED) count = HEADGATE_GATHERED;
        for (place = 0; place < count; place++)
            headgate_vector(PyList_GET_ITEM(parts, place), vectors + place);
        message.msg_iov = vectors;
        message.msg_iovlen = (size_t)count;
        do {
            size = count == 1
                ? send(number, vectors[0].iov_base, vectors[0].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
                : sendmsg(number, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        } while (size < 0 && errno == EINTR);
        return size < 0 ? -errno : size;
    }

    #ifdef __linux__
    static int headgate_wait(int number, PyObject *page, int most) {
        int count = epoll_wait(number, (struct epoll_event *)PyByteArray_AS_STRING(page), most, 0);
        return count < 0 ? 0 : count;
    }
    static int headgate_which(PyObject *page, Py_ssize_t place) {
        return ((struct epoll_event *)PyByteArray_AS_STRING(page))[place].data.fd;
    }
    static int headgate_what(PyObject *page, Py_ssize_t place) {
        return (int)((struct epoll_event *)PyByteArray_AS_STRING(page))[place].events;
    }
    #else
    static int headgate_wait(int number, PyObject *page, int most) { return 0; }
    static int headgate_which(PyObject *page, Py_ssize_t place) { return 0; }
    static int headgate_what(PyObject *page, Py_ssize_t place) { return 0; }
    #endif
    """
    Py_ssize_t receive "headgate_receive"(int number, bytearray basin)
    Py_ssize_t pour "headgate_pour"(int number, list parts)
    int wait "headgate_wait"(int number, bytearray page, int most)
    int which "headgate_which"(bytearray page, Py_ssize_t place)
    int what "headgate_what"(bytearray page, Py_ssize_t place)
