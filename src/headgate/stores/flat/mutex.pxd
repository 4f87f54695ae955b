# A mutex in shared memory that outlives its holder, and fences for the compiler, in C.
cdef extern from *:
    """
    #include <errno.h>
    #include <pthread.h>
    #include <time.h>

    /* Six cells of eight bytes are kept for it, on every machine we know. */
    typedef char headgate_fits[sizeof(pthread_mutex_t) <= 48 ? 1 : -1];

    /* Whoever dies between two stores leaves them in the order of the program: the processor keeps
       it, so only the compiler has to be told. */
    #define headgate_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

    #if defined(__x86_64__) || defined(__i386__)
    #define headgate_pause() __builtin_ia32_pause()
    #else
    #define headgate_pause() headgate_fence()
    #endif

    #ifdef __linux__
    static inline int headgate_make(long long *cell) {
        pthread_mutexattr_t kind;
        int code = pthread_mutexattr_init(&kind);
        if (code) return code;
        pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        code = pthread_mutex_init((pthread_mutex_t *)cell, &kind);
        pthread_mutexattr_destroy(&kind);
        return code;
    }

    /* The last holder may have died; what it left half done, the desk knows. */
    static inline int headgate_inherit(long long *cell, int code) {
        return code == EOWNERDEAD ? pthread_mutex_consistent((pthread_mutex_t *)cell) : code;
    }
    #else
    static inline int headgate_make(long long *cell) { return ENOTSUP; }
    static inline int headgate_inherit(long long *cell, int code) { return code; }
    #endif

    static inline int headgate_attempt(long long *cell) {
        return headgate_inherit(cell, pthread_mutex_trylock((pthread_mutex_t *)cell));
    }

    static inline void headgate_unlock(long long *cell) {
        pthread_mutex_unlock((pthread_mutex_t *)cell);
    }

    static inline int headgate_spin(long long *cell, long long tries) {
        int code = EBUSY;
        while (code == EBUSY && tries-- > 0) {
            headgate_pause();
            code = headgate_attempt(cell);
        }
        return code;
    }

    /* Waits until it was free once, at the latest until the monotonic clock shows `until`
       microseconds. It is not kept: who holds it while waiting for the interpreter's lock would
       stop all other processes for as long. */
    static inline void headgate_linger(long long *cell, long long until) {
        Py_BEGIN_ALLOW_THREADS
    #if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
        struct timespec moment = {until / 1000000, until % 1000000 * 1000};
        int code = pthread_mutex_clocklock((pthread_mutex_t *)cell, CLOCK_MONOTONIC, &moment);
        if (headgate_inherit(cell, code) == 0) headgate_unlock(cell);
    #else
        /* The older call waits by a clock that people set: a nap is safer. */
        struct timespec nap = {0, 100000};
        nanosleep(&nap, NULL);
    #endif
        Py_END_ALLOW_THREADS
    }
    """
    int make "headgate_make"(long long* cell) noexcept
    int attempt "headgate_attempt"(long long* cell) noexcept
    int spin "headgate_spin"(long long* cell, long long tries) noexcept
    void linger "headgate_linger"(long long* cell, long long until) noexcept
    void unlock "headgate_unlock"(long long* cell) noexcept
    void fence "headgate_fence"() noexcept nogil
