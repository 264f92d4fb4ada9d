/* What is done for each record of `logging`: the field for `%(tid)s`, the question of whether it is reported, and the
 * noting of a plain one. It is that of `capture.py` and `plain.py`. What is not usual is left to these.
 */
#include "native.h"
#include "wire.h"

/* What the reader was given, in this order. */
#define GIVEN(each)                                                                                                    \
    each(record_type)  /* of `logging`; others are foreign */                                                         \
    each(look_at_odd)  /* as `look`, for what is not usual */                                                         \
    each(prefix)       /* of the names of the agent's own loggers */                                                  \
    each(current)      /* the variable of the active span */                                                          \
    each(joined_entry) /* what is active, or continued, where the variable has what is past */                         \
    each(suppress)     /* the variable: True in the agent's own tasks */                                              \
    each(work)         /* the variable of the record that is being reported */                                        \
    each(task_name)                                                                                                    \
    each(nowhere)                                                                                                      \
    each(no_trace)     /* what `%(tid)s` shows where there is none */                                                 \
    each(more)         /* the fields that the layout shows beside the usual ones */                                   \
    each(offer)        /* takes what was noted, where it is LogRows */                                                 \
    each(warn)         /* called with an error of that */

#define DECLARE(name) PyObject *name;
#define VISIT(name) Py_VISIT(self->name);
#define CLEAR(name) Py_CLEAR(self->name);
#define COUNT(name) +1

typedef struct {
    PyObject_HEAD
    GIVEN(DECLARE)
    long long level;
    Py_ssize_t letters; /* so many are never too long for a text; below 0: no record is plain */
} RecordReader;

#define NAMES(each)                                                                                                    \
    each(ended) each(frame) each(find_trace_id) each(note_origin) each(tid) each(levelno) each(name) each(reporting)   \
    each(going_on) each(get_name)
#define DECLARE_NAME(name) static PyObject *name_##name;
NAMES(DECLARE_NAME)

/* The fields of a record that each plain one has, in the order of `PlainRecord`; behind these, what must be None. */
static const char *const field_names[] = {
    "levelname", "name", "threadName", "created", "msecs", "msg", "args", "exc_info", "exc_text", "stack_info",
};
enum { LEVEL, LOGGER, THREAD, CREATED, MILLISECONDS, MESSAGE, ARGS, EXC_INFO, EXC_TEXT, STACK_INFO, READ };
static PyObject *fields[READ];
/* What is noted of it: those as far as the message, and `more`, `task`, `origin`. */
enum { MORE = MESSAGE + 1, TASK, ORIGIN, NOTED };

/* -- looking ----------------------------------------------------------------------------------------------------- */

/* An attribute; NULL without an exception where there is none. */
static int
find_attribute(PyObject *object, PyObject *name, PyObject **value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, value);
#else
    return _PyObject_LookupAttr(object, name, value);
#endif
}

/* Whether the attribute is true; -1 with an exception. */
static int
is_true(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    if (value == NULL) {
        return -1;
    }
    int found = PyObject_IsTrue(value);
    Py_DECREF(value);
    return found;
}

/* What is active, or what the next local span continues, or None: as `active_entry`. */
static PyObject *
active_entry(RecordReader *self)
{
    PyObject *entry = NULL, *frame = NULL;
    if (PyContextVar_Get(self->current, Py_None, &entry) < 0 || entry == Py_None) {
        return entry;
    }
    if (PyObject_TypeCheck(entry, Request_Type) && !((Request *)entry)->ended) {
        return entry; /* as most are */
    }
    int is_inner = is_true(entry, name_ended);
    if (is_inner == 0) {
        frame = PyObject_GetAttr(entry, name_frame);
        is_inner = frame == NULL ? -1 : frame != Py_None;
        Py_XDECREF(frame);
    }
    if (is_inner == 0) {
        return entry;
    }
    PyObject *found = is_inner < 0 ? NULL : PyObject_CallOneArg(self->joined_entry, entry);
    Py_DECREF(entry);
    return found;
}

/* The trace's id; empty where the trace is not recorded. */
static PyObject *
find_trace_id(PyObject *entry)
{
    PyObject *found = PyObject_TypeCheck(entry, Request_Type) ? request_trace_id((Request *)entry) : NULL;
    if (found == NULL && PyErr_Occurred()) {
        return NULL;
    }
    return found != NULL ? found : PyObject_CallMethodNoArgs(entry, name_find_trace_id);
}

/* Sets the field for the application's own formatters, unless there is one. */
static int
set_trace_id(RecordReader *self, PyObject *record, PyObject *entry)
{
    PyObject *value;
    int has_one = find_attribute(record, name_tid, &value);
    if (has_one) {
        Py_XDECREF(value);
        return has_one < 0 ? -1 : 0;
    }
    PyObject *trace_id = NULL;
    if (entry != Py_None) {
        trace_id = find_trace_id(entry);
        if (trace_id == NULL) {
            return -1;
        }
        if (PyObject_IsTrue(trace_id) == 0) {
            Py_CLEAR(trace_id); /* its trace is not recorded */
        }
    }
    int done = PyObject_SetAttr(record, name_tid, trace_id != NULL ? trace_id : self->no_trace);
    Py_XDECREF(trace_id);
    return done;
}

/* Whether the record is reported: 0, 1, or -1 with an exception; 2 where its fields are not of the usual types. */
static int
is_wanted(RecordReader *self, PyObject *record)
{
    int overflow, answer = 2;
    PyObject *name = NULL, *level = PyObject_GetAttr(record, name_levelno);
    if (level == NULL) {
        return -1;
    }
    if (PyLong_CheckExact(level)) {
        long long number = PyLong_AsLongLongAndOverflow(level, &overflow);
        answer = overflow ? overflow > 0 : number >= self->level;
    }
    Py_DECREF(level);
    if (answer != 1) {
        return answer;
    }
    name = PyObject_GetAttr(record, name_name);
    if (name == NULL) {
        return -1;
    }
    answer = 2;
    if (PyUnicode_CheckExact(name)) {
        Py_ssize_t is_ours = PyUnicode_Tailmatch(name, self->prefix, 0, PY_SSIZE_T_MAX, -1);
        answer = is_ours < 0 ? -1 : !is_ours;
    }
    Py_DECREF(name);
    return answer;
}

/* What was active when the record came, or None; False where it is not reported. */
static PyObject *
look(PyObject *reader, PyObject *record)
{
    RecordReader *self = (RecordReader *)reader;
    if ((PyObject *)Py_TYPE(record) != self->record_type) {
        return PyObject_CallOneArg(self->look_at_odd, record);
    }
    PyObject *entry = active_entry(self);
    int wanted = entry == NULL || set_trace_id(self, record, entry) < 0 ? -1 : is_wanted(self, record);
    if (wanted == 1) {
        return entry;
    }
    Py_XDECREF(entry);
    if (wanted == 2) {
        return PyObject_CallOneArg(self->look_at_odd, record);
    }
    /* a record that cannot be read; its handlers may cope with it */
    return wanted == 0 || forgive() ? Py_NewRef(Py_False) : NULL;
}

/* -- noting ------------------------------------------------------------------------------------------------------ */

/* Whether no code of the application makes a text of it. */
static int
is_plain(PyObject *value)
{
    return PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || value == Py_None;
}

static int
are_plain(PyObject *args)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(args); at++) {
        if (!is_plain(PyTuple_GET_ITEM(args, at))) {
            return 0;
        }
    }
    return 1;
}

static int
is_usual(PyObject *value, int field)
{
    switch (field) {
    case CREATED: case MILLISECONDS:
        return PyFloat_CheckExact(value);
    case ARGS:
        return PyTuple_CheckExact(value) && are_plain(value);
    case EXC_INFO: case EXC_TEXT: case STACK_INFO:
        return value == Py_None;
    default:
        return PyUnicode_CheckExact(value);
    }
}

/* Reads a field into the row; of the arguments, fills them into the message. */
static int
read_field(RecordReader *self, PyObject *record, PyObject *dict, PyObject **row, int field)
{
    PyObject *value = dict == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(dict, fields[field]));
    if (value == NULL && (PyErr_Occurred() || (value = PyObject_GetAttr(record, fields[field])) == NULL)) {
        return FAILED;
    }
    int done = is_usual(value, field) ? WRITTEN : NOT_MINE;
    if (done == WRITTEN && field == ARGS && PyTuple_GET_SIZE(value) > 0) {
        Py_SETREF(row[MESSAGE], PyUnicode_Format(row[MESSAGE], value));
        done = row[MESSAGE] == NULL ? FAILED : WRITTEN;
    }
    if (field < ARGS) {
        row[field] = value;
    } else {
        Py_DECREF(value);
    }
    return done;
}

/* Whether the fields of a record are what its dict has: no attribute of its class hides one. The class is asked once
 * for each of its versions. */
static int
has_fields_in_dict(RecordReader *self)
{
#if PY_VERSION_HEX < 0x030D0000
    static unsigned int asked;
    PyTypeObject *type = (PyTypeObject *)self->record_type;
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) || type->tp_getattro != PyObject_GenericGetAttr) {
        return 0;
    }
    if (asked != type->tp_version_tag) {
        for (int field = 0; field < READ; field++) {
            if (_PyType_Lookup(type, fields[field]) != NULL) {
                return 0;
            }
        }
        asked = type->tp_version_tag;
    }
    return 1;
#else
    return 0;
#endif
}

/* Reads the fields into the row, and the message with its arguments filled in. */
static int
read_fields(RecordReader *self, PyObject *record, PyObject **row)
{
    /* a handler that made a text of the record has used its dict, so it is there */
    PyObject *dict = has_fields_in_dict(self) ? PyObject_GenericGetDict(record, NULL) : NULL;
    PyErr_Clear();
    int done = WRITTEN;
    for (int field = 0; field < READ && done == WRITTEN; field++) {
        done = read_field(self, record, dict, row, field);
    }
    Py_XDECREF(dict);
    if (done != WRITTEN) {
        return done;
    }
    return PyUnicode_GET_LENGTH(row[MESSAGE]) > self->letters ? NOT_MINE : WRITTEN;
}

static int
read_more(RecordReader *self, PyObject *record, PyObject **row)
{
    Py_ssize_t count = PyTuple_GET_SIZE(self->more);
    PyObject *more = PyList_New(0);
    int done = more == NULL ? FAILED : WRITTEN;
    for (Py_ssize_t at = 0; done == WRITTEN && at < count; at++) {
        PyObject *value = PyObject_GetAttr(record, PyTuple_GET_ITEM(self->more, at));
        if (value == NULL) {
            done = FAILED;
        } else if (!is_plain(value) || (PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) > self->letters)) {
            done = NOT_MINE;
        } else {
            done = PyList_Append(more, value);
        }
        Py_XDECREF(value);
    }
    if (done == WRITTEN) {
        row[MORE] = PyList_AsTuple(more);
        done = row[MORE] == NULL ? FAILED : WRITTEN;
    }
    Py_XDECREF(more);
    return done;
}

/* The origin, or who can say it later, or None. */
static PyObject *
note_origin(PyObject *entry)
{
    if (entry == Py_None) {
        return Py_NewRef(entry);
    }
    if (PyObject_TypeCheck(entry, Request_Type)) {
        Request *request = (Request *)entry;
        if (request->trace_id != Py_None && request->span == Py_None) {
            return Py_NewRef(entry);
        }
    }
    return PyObject_CallMethodNoArgs(entry, name_note_origin);
}

/* What asyncio has in C, once it is loaded: importing it is not for us to do. */
static PyObject *
find_asyncio(const char *name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "_asyncio");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    if (found == NULL) {
        PyErr_Clear();
    }
    return found;
}

PyObject *
running_task(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    static PyObject *current_task;
    if (current_task == NULL && (current_task = find_asyncio("current_task")) == NULL) {
        return NULL;
    }
    PyObject *task = PyObject_CallNoArgs(current_task);
#else
    /* `current_task` is no C function yet; these two are what it looks at */
    static PyObject *running_loop, *current_tasks;
    if (running_loop == NULL && (running_loop = find_asyncio("_get_running_loop")) == NULL) {
        return NULL;
    }
    if (current_tasks == NULL && (current_tasks = find_asyncio("_current_tasks")) == NULL) {
        return NULL;
    }
    PyObject *loop = PyObject_CallNoArgs(running_loop), *task = NULL;
    if (loop != NULL && loop != Py_None && PyDict_CheckExact(current_tasks)) {
        task = Py_XNewRef(PyDict_GetItemWithError(current_tasks, loop));
    }
    Py_XDECREF(loop);
#endif
    if (task == Py_None) {
        Py_CLEAR(task);
    }
    if (task == NULL && PyErr_Occurred()) {
        forgive();
    }
    return task;
}

static PyObject *
find_task_name(RecordReader *self)
{
    PyObject *task = running_task();
    if (task == NULL && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *name = task == NULL ? NULL : PyObject_CallMethodNoArgs(task, name_get_name);
    Py_XDECREF(task);
    if (name != NULL && PyUnicode_CheckExact(name)) {
        return name;
    }
    Py_XDECREF(name);
    if (PyErr_Occurred() && !forgive()) {
        return NULL;
    }
    return PyObject_CallNoArgs(self->task_name);
}

static int
read_place(RecordReader *self, PyObject *entry, PyObject **row)
{
    PyObject *origin = note_origin(entry);
    if (origin == Py_None) {
        Py_SETREF(origin, Py_NewRef(self->nowhere));
    }
    row[ORIGIN] = origin;
    if (origin == NULL) {
        return FAILED;
    }
    row[TASK] = find_task_name(self);
    return row[TASK] == NULL ? FAILED : WRITTEN;
}

/* The fields of a `PlainRecord`. */
static int
read_plain(RecordReader *self, PyObject *record, PyObject *entry, PyObject **row)
{
    int done = read_fields(self, record, row);
    if (done == WRITTEN && PyTuple_GET_SIZE(self->more) == 0) {
        row[MORE] = Py_NewRef(self->more);
    } else if (done == WRITTEN) {
        done = read_more(self, record, row);
    }
    if (done == WRITTEN) {
        done = read_place(self, entry, row);
    }
    return done;
}

/* Hands the fields over: True. An error costs this record only, as in `LogCapture`. */
static PyObject *
offer_row(RecordReader *self, PyObject *const *row)
{
    if (log_rows_append((LogRows *)self->offer, row, Py_None) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyObject *error = take_error();
        PyObject *done = self->warn == Py_None ? Py_NewRef(error) : PyObject_CallOneArg(self->warn, error);
        Py_XDECREF(error);
        Py_XDECREF(done);
        if (done == NULL) {
            return NULL;
        }
    }
    Py_RETURN_TRUE;
}

/* The fields as a tuple, which is made last: nothing that calls Python sees one that is not whole. */
static PyObject *
as_tuple(PyObject *const *row)
{
    PyObject *noted = PyTuple_New(NOTED);
    for (int field = 0; noted != NULL && field < NOTED; field++) {
        PyTuple_SET_ITEM(noted, field, Py_NewRef(row[field]));
    }
    return noted;
}

/* Whether this is inside the reporting of another record, or in the agent's own tasks; -1 with an exception. */
static int
is_inside(RecordReader *self, PyObject *thread)
{
    PyObject *suppressed = NULL, *work = NULL;
    int found = is_true(thread, name_reporting);
    if (found == 0) {
        found = PyContextVar_Get(self->suppress, Py_False, &suppressed) < 0 ? -1 : PyObject_IsTrue(suppressed);
        Py_XDECREF(suppressed);
    }
    if (found == 0) {
        found = PyContextVar_Get(self->work, Py_None, &work);
        if (found == 0 && work != Py_None) {
            found = is_true(work, name_going_on);
        }
        Py_XDECREF(work);
    }
    return found;
}

/* Ends the mark on this thread, with whatever exception is set. */
static void
end_reporting(PyObject *thread)
{
    PyObject *error = take_error();
    if (PyObject_SetAttr(thread, name_reporting, Py_False) < 0) {
        PyErr_Clear();
    }
    if (error != NULL) {
        give_back_error(error);
    }
}

/* As `note` of the Python class; True: it is handed over already. */
static PyObject *
note(PyObject *reader, PyObject *const *args, Py_ssize_t count)
{
    RecordReader *self = (RecordReader *)reader;
    if (count != 3) {
        return PyErr_Format(PyExc_TypeError, "a thread, a record and an entry, not %zd arguments", count);
    }
    PyObject *thread = args[0], *row[NOTED] = {NULL}, *noted = NULL;
    int done = NOT_MINE;
    if (self->letters >= 0 && (PyObject *)Py_TYPE(args[1]) == self->record_type && is_inside(self, thread) == 0 &&
        PyObject_SetAttr(thread, name_reporting, Py_True) == 0) {
        done = read_plain(self, args[1], args[2], row);
        end_reporting(thread);
    }
    if (done == WRITTEN) {
        noted = Py_TYPE(self->offer) == LogRows_Type ? offer_row(self, row) : as_tuple(row);
    } else if (!PyErr_Occurred() || forgive()) {
        noted = Py_NewRef(Py_None);
    }
    for (int field = 0; field < NOTED; field++) {
        Py_XDECREF(row[field]);
    }
    return noted;
}

/* -- the type ---------------------------------------------------------------------------------------------------- */

static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    enum { OBJECTS = 0 GIVEN(COUNT) };
    if (PyTuple_GET_SIZE(args) != OBJECTS + 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(args, OBJECTS - 3))) {
        return PyErr_Format(PyExc_TypeError, "what RecordReader takes is written in its type");
    }
    long long level = PyLong_AsLongLong(PyTuple_GET_ITEM(args, OBJECTS));
    Py_ssize_t letters = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, OBJECTS + 1));
    if (PyErr_Occurred()) {
        return NULL;
    }
    RecordReader *self = (RecordReader *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    int at = 0;
#define TAKE(name) self->name = Py_NewRef(PyTuple_GET_ITEM(args, at++));
    GIVEN(TAKE)
    self->level = level;
    self->letters = letters;
    return (PyObject *)self;
}

static int
reader_traverse(PyObject *reader, visitproc visit, void *arg)
{
    RecordReader *self = (RecordReader *)reader;
    GIVEN(VISIT)
    return 0;
}

/* There is no tp_clear: a thread may still log, and what breaks a cycle is the Python function that holds this. */
static void
reader_dealloc(PyObject *reader)
{
    RecordReader *self = (RecordReader *)reader;
    PyObject_GC_UnTrack(reader);
    GIVEN(CLEAR)
    Py_TYPE(reader)->tp_free(reader);
}

static PyMethodDef methods[] = {
    {"look", look, METH_O,
     "Set the field `tid` of a record.\n\n"
     ":returns: what was active when it was logged, or None; False where it is not reported"},
    {"note", (PyCFunction)(void (*)(void))note, METH_FASTCALL,
     "The fields of a `PlainRecord`, from a thread's state, a record and what was active; True where these are handed "
     "over already; None where the full path has to take it."},
    {NULL},
};

static PyTypeObject reader_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "swagent_native._native.RecordReader",
    .tp_basicsize = sizeof(RecordReader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Looks at the records of `logging`, and notes the plain ones. Any thread.",
    .tp_new = reader_new,
    .tp_traverse = reader_traverse,
    .tp_dealloc = reader_dealloc,
    .tp_methods = methods,
};

static int
intern(PyObject **name, const char *text)
{
    if (*name == NULL) {
        *name = PyUnicode_InternFromString(text);
    }
    return *name == NULL ? -1 : 0;
}

int
add_logs(PyObject *module)
{
    for (int field = 0; field < READ; field++) {
        if (intern(&fields[field], field_names[field]) < 0) {
            return -1;
        }
    }
#define INTERN(name)                                                                                                   \
    if (intern(&name_##name, #name) < 0) {                                                                             \
        return -1;                                                                                                     \
    }
    NAMES(INTERN)
    return PyModule_AddType(module, &reader_type);
}
