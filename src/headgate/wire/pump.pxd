# How sockets are read, written and waited for, in C: a number of bytes, or below zero of an error.
cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <sys/socket.h>
    #include <sys/uio.h>
    #ifdef __linux__
    #include <sys/epoll.h>
    #endif
    #ifndef MSG_MORE
    #define MSG_MORE 0
    #endif
    #define HEADGATE_GATHERED 16

    static Py_ssize_t headgate_receive(int number, PyObject *basin, Py_ssize_t most) {
        ssize_t size;
        do {
            size = recv(number, PyByteArray_AS_STRING(basin), (size_t)most, MSG_DONTWAIT);
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

    static Py_ssize_t headgate_pour(int number, PyObject *parts, int more) {
        struct iovec vectors[HEADGATE_GATHERED];
        struct msghdr message = {0};
        int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
        Py_ssize_t place, count = PyList_GET_SIZE(parts);
        ssize_t size;
        if (count > HEADGATE_GATHERED) count = HEADGATE_GATHERED;
        for (place = 0; place < count; place++)
            headgate_vector(PyList_GET_ITEM(parts, place), vectors + place);
        message.msg_iov = vectors;
        message.msg_iovlen = (size_t)count;
        do {
            size = count == 1
                ? send(number, vectors[0].iov_base, vectors[0].iov_len, flags)
                : sendmsg(number, &message, flags);
        } while (size < 0 && errno == EINTR);
        return size < 0 ? -errno : size;
    }

    #ifdef __linux__
    static Py_ssize_t headgate_siphon(int source, int sink, Py_ssize_t size) {
        ssize_t moved;
        do {
            moved = splice(source, NULL, sink, NULL, (size_t)size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        } while (moved < 0 && errno == EINTR);
        return moved < 0 ? -errno : moved;
    }
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
    static Py_ssize_t headgate_siphon(int source, int sink, Py_ssize_t size) { return -ENOSYS; }
    static int headgate_wait(int number, PyObject *page, int most) { return 0; }
    static int headgate_which(PyObject *page, Py_ssize_t place) { return 0; }
    static int headgate_what(PyObject *page, Py_ssize_t place) { return 0; }
    #endif
    """
    Py_ssize_t receive "headgate_receive"(int number, bytearray basin, Py_ssize_t most)
    Py_ssize_t pour "headgate_pour"(int number, list parts, bint more)
    Py_ssize_t siphon "headgate_siphon"(int source, int sink, Py_ssize_t size)
    int wait "headgate_wait"(int number, bytearray page, int most)
    int which "headgate_which"(bytearray page, Py_ssize_t place)
    int what "headgate_what"(bytearray page, Py_ssize_t place)
