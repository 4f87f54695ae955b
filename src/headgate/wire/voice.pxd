# llhttp, as httptools brings it along, without the objects that httptools makes of each word.
#
# Its functions are looked up in httptools' own library. How its settings are laid out differs
# between versions; so it is found out: each slot gets a callback of its own, a request is parsed,
# and where they were called tells which is which. Where that does not succeed, nobody comes here.
cdef extern from *:
    """
    #include <dlfcn.h>
    #include <string.h>

    #define HEADGATE_SLOTS 48
    #define HEADGATE_LOGGED 128
    #define HEADGATE_ROOM 32
    #define HEADGATE_KEPT 1024
    #define HEADGATE_NAMES 1024
    #define HEADGATE_SHORT 32

    enum { HEADGATE_BEGIN, HEADGATE_URL, HEADGATE_NAME, HEADGATE_VALUE, HEADGATE_HEADED,
           HEADGATE_BODY, HEADGATE_END, HEADGATE_KINDS };

    typedef struct { Py_ssize_t place, size; int kind, code; } headgate_word;

    /* The parser comes first: callbacks get its address, and so that of the voice. */
    typedef struct {
        unsigned long long parser[64];
        headgate_word *words;
        Py_ssize_t count, room;
        const char *data;
    } headgate_voice;

    typedef int (*headgate_callback)(headgate_voice *, const char *, size_t);

    static struct {
        void (*init)(void *, int, const void *);
        int (*execute)(void *, const char *, size_t);
        int (*keep)(const void *);
        unsigned char (*turn)(void *);
        unsigned char (*major)(void *);
        unsigned char (*minor)(void *);
        unsigned char (*method)(void *);
        int (*status)(void *);
        const char *(*name)(int);
        const char *(*place)(const void *);
    } headgate_llhttp;

    /* More slots than any version has; those that are not used stay empty. */
    static void *headgate_settings[HEADGATE_SLOTS + 16];

    static int headgate_note(headgate_voice *voice, int kind, Py_ssize_t place, Py_ssize_t size) {
        headgate_word *word;
        if (voice->count == voice->room) {
            Py_ssize_t room = voice->room ? 2 * voice->room : HEADGATE_ROOM;
            void *words = PyMem_Realloc(voice->words, (size_t)room * sizeof(headgate_word));
            if (words == NULL) return -1;
            voice->words = (headgate_word *)words;
            voice->room = room;
        }
        word = voice->words + voice->count++;
        word->kind = kind;
        word->code = headgate_llhttp.status(voice);
        word->place = place;
        word->size = size;
        return 0;
    }

    #define HEADGATE_SPAN(kind) \\
        static int headgate_on_##kind(headgate_voice *voice, const char *at, size_t size) { \\
            return headgate_note(voice, kind, at - voice->data, (Py_ssize_t)size); \\
        }
    HEADGATE_SPAN(HEADGATE_URL)
    HEADGATE_SPAN(HEADGATE_NAME)
    HEADGATE_SPAN(HEADGATE_VALUE)
    HEADGATE_SPAN(HEADGATE_BODY)
    static int headgate_on_begin(headgate_voice *voice, const char *at, size_t size) {
        return headgate_note(voice, HEADGATE_BEGIN, 0, 0);
    }
    static int headgate_on_end(headgate_voice *voice, const char *at, size_t size) {
        return headgate_note(voice, HEADGATE_END, 0, 0);
    }
    /* What is known of a head: its method and version, whether it stays, whether it turns. */
    static int headgate_on_headed(headgate_voice *voice, const char *at, size_t size) {
        int version = 10 * headgate_llhttp.major(voice) + headgate_llhttp.minor(voice);
        int turn = headgate_llhttp.turn(voice) ? 1 : 0;
        /* As with httptools, who turns to another protocol has no body before it. */
        return headgate_note(voice, HEADGATE_HEADED,
            1000 * headgate_llhttp.method(voice) + version,
            (headgate_llhttp.keep(voice) ? 1 : 0) + 2 * turn) < 0 ? -1 : turn;
    }

    /* What was called when a request was parsed: which slot, and with what. */
    static struct { int slot; const char *at; size_t size; } headgate_log[HEADGATE_LOGGED];
    static int headgate_logged;
    static int headgate_log_call(int slot, const char *at, size_t size) {
        if (headgate_logged == HEADGATE_LOGGED) return -1;
        headgate_log[headgate_logged].slot = slot;
        headgate_log[headgate_logged].at = at;
        headgate_log[headgate_logged++].size = size;
        return 0;
    }
    #define HEADGATE_PROBE(n) \\
        static int headgate_probe_##n(headgate_voice *voice, const char *at, size_t size) { \\
            return headgate_log_call(n, at, size); \\
        }
    #define HEADGATE_EIGHT(make, t) \\
        make(t##0) make(t##1) make(t##2) make(t##3) make(t##4) make(t##5) make(t##6) make(t##7)
    #define HEADGATE_ALL(make) \\
        HEADGATE_EIGHT(make, 1) HEADGATE_EIGHT(make, 2) HEADGATE_EIGHT(make, 3) \\
        HEADGATE_EIGHT(make, 4) HEADGATE_EIGHT(make, 5) HEADGATE_EIGHT(make, 6)
    HEADGATE_ALL(HEADGATE_PROBE)
    #define HEADGATE_NAMED(n) headgate_probe_##n,
    static const headgate_callback headgate_probes[HEADGATE_SLOTS] = {
        HEADGATE_ALL(HEADGATE_NAMED)
    };
    #define HEADGATE_NUMBERED(n) n,
    static const int headgate_numbers[HEADGATE_SLOTS] = { HEADGATE_ALL(HEADGATE_NUMBERED) };

    static int headgate_slot(const char *at, size_t size) {
        int place;
        for (place = 0; place < headgate_logged; place++)
            if (headgate_log[place].at == at && headgate_log[place].size == size) return place;
        return -1;
    }

    static int headgate_install(int call, headgate_callback callback) {
        int slot;
        if (call < 0) return -1;
        for (slot = 0; slot < HEADGATE_SLOTS; slot++)
            if (headgate_numbers[slot] == headgate_log[call].slot) {
                if (headgate_settings[slot] != NULL) return -1;
                headgate_settings[slot] = (void *)callback;
                return 0;
            }
        return -1;
    }

    static int headgate_learn(void) {
        static const char text[] = "POST /ab HTTP/1.1\\r\\nHost: cd\\r\\nContent-Length: 2\\r\\n\\r\\nef";
        const size_t size = sizeof text - 1;
        headgate_voice voice;
        int slot, url, name, value, body;
        memset(&voice, 0, sizeof voice);
        headgate_logged = 0;
        for (slot = 0; slot < HEADGATE_SLOTS; slot++)
            headgate_settings[slot] = (void *)headgate_probes[slot];
        headgate_llhttp.init(&voice, 1, headgate_settings);
        slot = headgate_llhttp.execute(&voice, text, size);
        memset(headgate_settings, 0, sizeof headgate_settings);
        if (slot != 0 || headgate_logged < HEADGATE_KINDS) return -1;
        url = headgate_slot(text + 5, 3);
        name = headgate_slot(text + 19, 4);
        value = headgate_slot(text + 25, 2);
        body = headgate_slot(text + size - 2, 2);
        return headgate_install(0, headgate_on_begin) < 0
            || headgate_install(url, headgate_on_HEADGATE_URL) < 0
            || headgate_install(name, headgate_on_HEADGATE_NAME) < 0
            || headgate_install(value, headgate_on_HEADGATE_VALUE) < 0
            || headgate_install(body - 1, headgate_on_headed) < 0
            || headgate_install(body, headgate_on_HEADGATE_BODY) < 0
            || headgate_install(headgate_logged - 1, headgate_on_end) < 0 ? -1 : 0;
    }

    static int headgate_reach(const char *path) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) return 0;
    #define HEADGATE_FIND(field, symbol) \\
        *(void **)&headgate_llhttp.field = dlsym(library, "llhttp_" symbol); \\
        if (headgate_llhttp.field == NULL) return 0;
        HEADGATE_FIND(init, "init")
        HEADGATE_FIND(execute, "execute")
        HEADGATE_FIND(keep, "should_keep_alive")
        HEADGATE_FIND(turn, "get_upgrade")
        HEADGATE_FIND(major, "get_http_major")
        HEADGATE_FIND(minor, "get_http_minor")
        HEADGATE_FIND(method, "get_method")
        HEADGATE_FIND(status, "get_status_code")
        HEADGATE_FIND(name, "method_name")
        HEADGATE_FIND(place, "get_error_pos")
        return headgate_learn() == 0;
    }

    static headgate_voice *headgate_raise(headgate_voice *voice, int kind) {
        if (voice == NULL) {
            voice = (headgate_voice *)PyMem_Calloc(1, sizeof(headgate_voice));
            if (voice == NULL) {
                PyErr_NoMemory();
                return NULL;
            }
        }
        memset(voice->parser, 0, sizeof voice->parser);
        headgate_llhttp.init(voice, kind, headgate_settings);
        return voice;
    }

    static void headgate_hush(headgate_voice *voice) {
        if (voice != NULL) PyMem_Free(voice->words);
        PyMem_Free(voice);
    }

    static int headgate_hear(headgate_voice *voice, PyObject *data) {
        Py_ssize_t size;
        if (PyBytes_Check(data)) {
            voice->data = PyBytes_AS_STRING(data);
            size = PyBytes_GET_SIZE(data);
        } else if (PyMemoryView_Check(data)) {
            voice->data = (const char *)PyMemoryView_GET_BUFFER(data)->buf;
            size = PyMemoryView_GET_BUFFER(data)->len;
        } else {
            PyErr_SetString(PyExc_TypeError, "what is read is bytes, or a view of them");
            return -1;
        }
        if (voice->room > HEADGATE_KEPT) {
            PyMem_Free(voice->words);
            voice->words = NULL;
            voice->room = 0;
        }
        voice->count = 0;
        return headgate_llhttp.execute(voice, voice->data, (size_t)size);
    }
    static Py_ssize_t headgate_stop(headgate_voice *voice) {
        return headgate_llhttp.place(voice) - voice->data;
    }
    static PyObject *headgate_word_of(headgate_voice *voice, Py_ssize_t number) {
        headgate_word *word = voice->words + number;
        return PyBytes_FromStringAndSize(voice->data + word->place, word->size);
    }
    /* Names of headers are few; those of late are at hand, with what Python knows of their hash. */
    static PyObject *headgate_names[HEADGATE_NAMES];
    static PyObject *headgate_name_of(headgate_voice *voice, Py_ssize_t number) {
        headgate_word *word = voice->words + number;
        const unsigned char *at = (const unsigned char *)voice->data + word->place;
        const size_t size = (size_t)word->size;
        PyObject **slot, *found;
        if (size == 0 || size > HEADGATE_SHORT) return headgate_word_of(voice, number);
        slot = headgate_names
            + (131 * size + 31 * at[0] + 7 * at[size / 2] + at[size - 1]) % HEADGATE_NAMES;
        found = *slot;
        if (found == NULL || (size_t)PyBytes_GET_SIZE(found) != size
                || memcmp(PyBytes_AS_STRING(found), at, size) != 0) {
            found = headgate_word_of(voice, number);
            if (found == NULL) return NULL;
            Py_XDECREF(*slot);
            *slot = found;
        }
        Py_INCREF(found);
        return found;
    }
    /* Whether a name is followed by its value, and that by something else: both are whole. */
    static int headgate_alone(headgate_voice *voice, Py_ssize_t number) {
        headgate_word *word = voice->words + number;
        return number + 2 < voice->count && word[1].kind == HEADGATE_VALUE
            && word[2].kind != HEADGATE_VALUE;
    }
    #define headgate_count(voice) ((voice)->count)
    #define headgate_kind(voice, number) ((voice)->words[number].kind)
    #define headgate_code(voice, number) ((voice)->words[number].code)
    #define headgate_place(voice, number) ((voice)->words[number].place)
    #define headgate_size(voice, number) ((voice)->words[number].size)
    #define headgate_method(code) headgate_llhttp.name(code)
    """
    ctypedef struct Voice "headgate_voice":
        pass
    int reach "headgate_reach"(const char *path)
    Voice *speak "headgate_raise"(Voice *voice, int kind) except NULL
    void hush "headgate_hush"(Voice *voice)
    int hear "headgate_hear"(Voice *voice, object data) except -1
    Py_ssize_t stop "headgate_stop"(Voice *voice)
    bytes word "headgate_word_of"(Voice *voice, Py_ssize_t number)
    bytes name "headgate_name_of"(Voice *voice, Py_ssize_t number)
    Py_ssize_t count "headgate_count"(Voice *voice)
    int kind "headgate_kind"(Voice *voice, Py_ssize_t number)
    bint alone "headgate_alone"(Voice *voice, Py_ssize_t number)
    int code "headgate_code"(Voice *voice, Py_ssize_t number)
    Py_ssize_t place "headgate_place"(Voice *voice, Py_ssize_t number)
    Py_ssize_t size "headgate_size"(Voice *voice, Py_ssize_t number)
    const char *method "headgate_method"(int code)
