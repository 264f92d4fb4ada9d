/* Plain log records become protobuf bytes: those that are like others before them. It is that of `log_encoder.py`, which
 * makes the shapes and encodes all others. A shape is what records of one level, logger, thread and place in their
 * segment have in common, with gaps for what they have not.
 */
#include "native.h"
#include "wire.h"

#include <string.h>

/* What the renderer was given, in this order. The first four are caches, whose misses are Python's. */
#define GIVEN(each)                                                                                                    \
    each(shapes)       /* by level, logger, thread, span's id, and the lengths of both ids and of the task's name */  \
    each(places)       /* by endpoint: service, instance and endpoint */                                               \
    each(before_texts) /* by a text's length: what is in front of it */                                                \
    each(seconds)      /* by second: how the layout shows it */                                                        \
    each(clean)        /* `swagent_proto.text.clean` */                                                                \
    each(nowhere)      /* the origin outside of recorded traces */                                                     \
    each(order)        /* which values the layout shows: MESSAGE_VALUE, TIME_VALUE, or the index of one of `more` */

#define DECLARE(name) PyObject *name;
#define VISIT(name) Py_VISIT(self->name);
#define CLEAR(name) Py_CLEAR(self->name);
#define COUNT(name) +1

/* No text is longer: what `cut` would make of it is Python's. */
#define LETTERS 2048
/* "2026-11-30 12:00:00"; a time zone's clock shows no longer one. */
#define LONGEST_SECOND 32

/* What the caches said of the texts that came last, by address: a logger's name is the same object again and again.
 * Each is held, so no other object has its address. */
typedef struct {
    PyObject *key[4];
    Py_ssize_t lengths[3];
    PyObject *said;
} Known;
#define KNOWN 64

typedef struct {
    PyObject_HEAD
    Known known_shapes[KNOWN], known_places[KNOWN], known_lengths[KNOWN];
    GIVEN(DECLARE)
    Py_ssize_t task_letters;
    /* the second that was shown last, since many records fall into one */
    long long second;
    Py_ssize_t second_length;
    char second_text[LONGEST_SECOND];
} LogRenderer;

enum { MESSAGE_VALUE = -1, TIME_VALUE = -2 };
/* The fields of a `PlainRecord`. */
enum { LEVEL, LOGGER, THREAD, CREATED, MILLISECONDS, MESSAGE, MORE, TASK, NOTED, COLUMNS };
/* The parts of a shape: the pieces of the layout around its values, then those of the message around its gaps. */
enum { LAYOUT, BEFORE_TIME, BEFORE_TRACE, BEFORE_SEGMENT, BEFORE_TASK, AFTER_TASK, PARTS };
enum { ENDPOINT, TRACE_ID, SEGMENT_ID, SPAN_ID, PLACE };

static PyObject *name_late_origin;

/* One record while it is rendered. What is counted is held here until its end. */
typedef struct {
    PyObject *const *row;
    PyObject *origin;
    PyObject *shape;
    const char *ids[3];
    Py_ssize_t lengths[3];
    PyObject *held[3];
    char text[LETTERS];
    Py_ssize_t used;
} Record;
enum { TRACE, SEGMENT, TASK_NAME };

/* -- the text ---------------------------------------------------------------------------------------------------- */

static int
put(Record *record, const char *bytes, Py_ssize_t length)
{
    if (length > LETTERS - record->used) {
        return NOT_MINE;
    }
    memcpy(record->text + record->used, bytes, (size_t)length);
    record->used += length;
    return WRITTEN;
}

/* The bytes of a text of more than plain ASCII; NULL without an exception where the wire cannot say what it says. */
static PyObject *
encode_letters(LogRenderer *self, PyObject *text)
{
    PyObject *cleaned = PyObject_CallOneArg(self->clean, text);
    int is_same = cleaned == NULL ? -1 : PyObject_RichCompareBool(cleaned, text, Py_EQ);
    Py_XDECREF(cleaned);
    return is_same == 1 ? PyUnicode_AsUTF8String(text) : NULL;
}

static int
put_letters(LogRenderer *self, Record *record, PyObject *text)
{
    PyObject *bytes = encode_letters(self, text);
    if (bytes == NULL) {
        return PyErr_Occurred() ? FAILED : NOT_MINE;
    }
    int done = put(record, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return done;
}

static int
put_text(LogRenderer *self, Record *record, PyObject *text)
{
    Py_ssize_t length;
    if (!PyUnicode_CheckExact(text) || PyUnicode_GET_LENGTH(text) > LETTERS) {
        return NOT_MINE;
    }
    const char *letters = plain_text(text, &length);
    return letters != NULL ? put(record, letters, length) : put_letters(self, record, text);
}

/* Asks for the text of a second that is not the last one. */
static int
show_second(LogRenderer *self, long long second)
{
    Py_ssize_t length;
    PyObject *number = PyLong_FromLongLong(second);
    PyObject *text = number == NULL ? NULL : PyObject_GetItem(self->seconds, number);
    Py_XDECREF(number);
    if (text == NULL) {
        return FAILED;
    }
    int done = NOT_MINE;
    const char *letters = PyUnicode_CheckExact(text) ? plain_text(text, &length) : NULL;
    if (letters != NULL && length <= LONGEST_SECOND) {
        memcpy(self->second_text, letters, (size_t)length);
        self->second_length = length;
        self->second = second;
        done = WRITTEN;
    }
    Py_DECREF(text);
    return done;
}

static int
put_time(LogRenderer *self, Record *record)
{
    double created = PyFloat_AS_DOUBLE(record->row[CREATED]), part = PyFloat_AS_DOUBLE(record->row[MILLISECONDS]);
    if (!(part >= 0 && part < 1000) || !(created >= 0 && created < 1e15)) {
        return NOT_MINE;
    }
    long long second = (long long)created;
    int done = second == self->second ? WRITTEN : show_second(self, second);
    if (done == WRITTEN) {
        done = put(record, self->second_text, self->second_length);
    }
    int milliseconds = (int)part;
    char digits[] = {',', (char)('0' + milliseconds / 100), (char)('0' + milliseconds / 10 % 10),
                     (char)('0' + milliseconds % 10)};
    return done != WRITTEN ? done : put(record, digits, sizeof digits);
}

/* One of the fields beside the usual ones. It is a plain value, so no code of the application makes a text of it. */
static int
put_more(LogRenderer *self, Record *record, Py_ssize_t index)
{
    PyObject *more = record->row[MORE];
    if (!PyTuple_CheckExact(more) || index >= PyTuple_GET_SIZE(more)) {
        return NOT_MINE;
    }
    PyObject *value = PyTuple_GET_ITEM(more, index);
    if (PyUnicode_CheckExact(value)) {
        return put_text(self, record, value);
    }
    if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value) && !PyBool_Check(value) && value != Py_None) {
        return NOT_MINE;
    }
    PyObject *text = PyObject_Str(value);
    int done = text == NULL ? FAILED : put_text(self, record, text);
    Py_XDECREF(text);
    return done;
}

static int
put_layout(LogRenderer *self, Record *record)
{
    PyObject *pieces = PyTuple_GET_ITEM(record->shape, LAYOUT);
    Py_ssize_t values = PyTuple_GET_SIZE(self->order);
    for (Py_ssize_t at = 0;; at++) {
        PyObject *piece = PyTuple_GET_ITEM(pieces, at);
        int done = put(record, PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece));
        if (done != WRITTEN || at == values) {
            return done;
        }
        long value = PyLong_AsLong(PyTuple_GET_ITEM(self->order, at));
        if (value == MESSAGE_VALUE) {
            done = put_text(self, record, record->row[MESSAGE]);
        } else {
            done = value == TIME_VALUE ? put_time(self, record) : put_more(self, record, value);
        }
        if (done != WRITTEN) {
            return done;
        }
    }
}

/* -- the message ------------------------------------------------------------------------------------------------- */

/* The fields' types are those that were asked for when the record was noted; a wrong one must not end the process. */
static int
has_usual_types(PyObject *const *row)
{
    return PyUnicode_CheckExact(row[LEVEL]) && PyUnicode_CheckExact(row[LOGGER]) &&
           PyUnicode_CheckExact(row[THREAD]) && PyFloat_CheckExact(row[CREATED]) &&
           PyFloat_CheckExact(row[MILLISECONDS]) && PyUnicode_CheckExact(row[TASK]);
}

static PyObject *
ask_origin(PyObject *noted)
{
    if (PyTuple_Check(noted)) {
        return Py_NewRef(noted);
    }
    PyObject *origin = PyObject_TypeCheck(noted, Request_Type) ? request_late_origin((Request *)noted) : NULL;
    if (origin == NULL && PyErr_Occurred()) {
        return NULL;
    }
    return origin != NULL ? origin : PyObject_CallMethodNoArgs(noted, name_late_origin);
}

static int
find_origin(LogRenderer *self, Record *record)
{
    PyObject *origin = ask_origin(record->row[NOTED]);
    if (origin == Py_None) {
        Py_SETREF(origin, Py_NewRef(self->nowhere));
    }
    record->origin = origin;
    if (origin == NULL) {
        return FAILED;
    }
    return PyTuple_Check(origin) && PyTuple_GET_SIZE(origin) == PLACE &&
           PyUnicode_CheckExact(PyTuple_GET_ITEM(origin, ENDPOINT)) &&
           PyLong_CheckExact(PyTuple_GET_ITEM(origin, SPAN_ID)) ? WRITTEN : NOT_MINE;
}

/* One of the ids, or the name of the task, as bytes. */
static int
find_id(LogRenderer *self, Record *record, int which, PyObject *text)
{
    if (!PyUnicode_CheckExact(text) || PyUnicode_GET_LENGTH(text) > self->task_letters) {
        return NOT_MINE;
    }
    record->ids[which] = plain_text(text, &record->lengths[which]);
    if (record->ids[which] == NULL) {
        PyObject *bytes = record->held[which] = encode_letters(self, text);
        if (bytes == NULL) {
            return PyErr_Occurred() ? FAILED : NOT_MINE;
        }
        record->ids[which] = PyBytes_AS_STRING(bytes);
        record->lengths[which] = PyBytes_GET_SIZE(bytes);
    }
    return WRITTEN;
}

static int
find_ids(LogRenderer *self, Record *record)
{
    PyObject *texts[] = {PyTuple_GET_ITEM(record->origin, TRACE_ID), PyTuple_GET_ITEM(record->origin, SEGMENT_ID),
                         record->row[TASK]};
    int done = WRITTEN;
    for (int which = TRACE; done == WRITTEN && which <= TASK_NAME; which++) {
        done = find_id(self, record, which, texts[which]);
    }
    if (done == WRITTEN && record->lengths[TRACE] == 0 && record->lengths[SEGMENT] > 0) {
        done = NOT_MINE; /* outside of a trace there is no gap for a segment */
    }
    return done;
}

/* What a cache has for a key, which is stolen. A known one takes no Python code. */
static PyObject *
look_up(PyObject *cache, PyObject *key)
{
    PyObject *found = NULL;
    if (key != NULL) {
        found = Py_XNewRef(PyDict_GetItemWithError(cache, key));
        if (found == NULL && !PyErr_Occurred()) {
            found = PyObject_GetItem(cache, key);
        }
        Py_DECREF(key);
    }
    return found;
}

static PyObject *
shape_key(Record *record)
{
    PyObject *key = PyTuple_New(7);
    if (key == NULL) {
        return NULL;
    }
    for (int field = LEVEL; field <= THREAD; field++) {
        PyTuple_SET_ITEM(key, field, Py_NewRef(record->row[field]));
    }
    PyTuple_SET_ITEM(key, 3, Py_NewRef(PyTuple_GET_ITEM(record->origin, SPAN_ID)));
    for (int which = TRACE; which <= TASK_NAME; which++) {
        PyObject *length = PyLong_FromSsize_t(record->lengths[which]);
        if (length == NULL) {
            Py_DECREF(key);
            return NULL;
        }
        PyTuple_SET_ITEM(key, 4 + which, length);
    }
    return key;
}

/* Keeps what a cache said. The texts of the key are those of the slot. */
static void
keep(Known *slot, const Known *known, PyObject *said)
{
    Known former = *slot;
    *slot = *known;
    for (int at = 0; at < 4; at++) {
        Py_XINCREF(slot->key[at]);
        Py_XDECREF(former.key[at]);
    }
    slot->said = Py_NewRef(said);
    Py_XDECREF(former.said);
}

static Known *
slot_of(Known *slots, const Known *known)
{
    size_t mixed = 0;
    for (int at = 0; at < 4; at++) {
        mixed = mixed * 31 + ((size_t)known->key[at] >> 4);
    }
    for (int at = 0; at < 3; at++) {
        mixed = mixed * 31 + (size_t)known->lengths[at];
    }
    return &slots[(mixed ^ mixed >> 8) % KNOWN];
}

static int
is_known(const Known *slot, const Known *known)
{
    return slot->said != NULL && memcmp(slot->key, known->key, sizeof known->key) == 0 &&
           memcmp(slot->lengths, known->lengths, sizeof known->lengths) == 0;
}

/* The shape of a record: a new reference; NULL with an exception set. */
static PyObject *
look_up_shape(LogRenderer *self, Record *record)
{
    Known known = {{record->row[LEVEL], record->row[LOGGER], record->row[THREAD],
                    PyTuple_GET_ITEM(record->origin, SPAN_ID)},
                   {record->lengths[TRACE], record->lengths[SEGMENT], record->lengths[TASK_NAME]},
                   NULL};
    Known *slot = slot_of(self->known_shapes, &known);
    if (is_known(slot, &known)) {
        return Py_NewRef(slot->said);
    }
    PyObject *shape = look_up(self->shapes, shape_key(record));
    if (shape != NULL) {
        keep(slot, &known, shape);
    }
    return shape;
}

static int
find_shape(LogRenderer *self, Record *record)
{
    record->shape = look_up_shape(self, record);
    if (record->shape == NULL) {
        return FAILED;
    }
    if (!PyTuple_CheckExact(record->shape) || PyTuple_GET_SIZE(record->shape) != PARTS) {
        return NOT_MINE; /* None: there is no shape for such a record */
    }
    PyObject *pieces = PyTuple_GET_ITEM(record->shape, LAYOUT);
    return PyTuple_GET_SIZE(pieces) == PyTuple_GET_SIZE(self->order) + 1 ? WRITTEN : NOT_MINE;
}

static int
write_piece(Writer *writer, PyObject *piece)
{
    if (!PyBytes_CheckExact(piece)) {
        return NOT_MINE;
    }
    return write_bytes(writer, PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece));
}

/* Writes what a cache has for a text, or for a length where there is no text. */
static int
write_cached(Writer *writer, Known *slots, PyObject *cache, PyObject *text, Py_ssize_t length)
{
    Known known = {{text}, {length}, NULL};
    Known *slot = slot_of(slots, &known);
    if (is_known(slot, &known)) {
        return write_piece(writer, slot->said);
    }
    PyObject *found = look_up(cache, text != NULL ? Py_NewRef(text) : PyLong_FromSsize_t(length));
    int done = found == NULL ? FAILED : write_piece(writer, found);
    if (done == WRITTEN) {
        keep(slot, &known, found);
    }
    Py_XDECREF(found);
    return done;
}

static int
write_time(Writer *writer, Record *record)
{
    double milliseconds = PyFloat_AS_DOUBLE(record->row[CREATED]) * 1000;
    /* what is none on the wire is refused there; false for what is no number, too */
    if (!(milliseconds >= 1 && milliseconds < 9e18)) {
        return NOT_MINE;
    }
    return write_varint(writer, (unsigned long long)milliseconds);
}

static int
write_record(LogRenderer *self, Writer *writer, Record *record)
{
    int done = write_piece(writer, PyTuple_GET_ITEM(record->shape, BEFORE_TIME));
    if (done == WRITTEN) {
        done = write_time(writer, record);
    }
    if (done == WRITTEN) {
        done = write_cached(writer, self->known_places, self->places, PyTuple_GET_ITEM(record->origin, ENDPOINT), 0);
    }
    for (int which = TRACE; done == WRITTEN && which <= TASK_NAME; which++) {
        done = write_piece(writer, PyTuple_GET_ITEM(record->shape, BEFORE_TRACE + which));
        if (done == WRITTEN) {
            done = write_bytes(writer, record->ids[which], record->lengths[which]);
        }
    }
    if (done == WRITTEN) {
        done = write_piece(writer, PyTuple_GET_ITEM(record->shape, AFTER_TASK));
    }
    if (done == WRITTEN) {
        done = write_cached(writer, self->known_lengths, self->before_texts, NULL, record->used);
    }
    return done != WRITTEN ? done : write_bytes(writer, record->text, record->used);
}

/* The bytes of one record; NULL without an exception where Python has to encode it. */
static PyObject *
render(LogRenderer *self, PyObject *const *row)
{
    Record record;
    record.row = row;
    record.origin = record.shape = record.held[TRACE] = record.held[SEGMENT] = record.held[TASK_NAME] = NULL;
    record.used = 0;
    PyObject *written = NULL;
    Writer writer;
    writer_open(&writer);
    int done = has_usual_types(row) ? find_origin(self, &record) : NOT_MINE;
    if (done == WRITTEN) {
        done = find_ids(self, &record);
    }
    if (done == WRITTEN) {
        done = find_shape(self, &record);
    }
    if (done == WRITTEN) {
        done = put_layout(self, &record);
    }
    if (done == WRITTEN && write_record(self, &writer, &record) == WRITTEN) {
        written = writer_result(&writer);
    }
    writer_close(&writer);
    Py_XDECREF(record.origin);
    Py_XDECREF(record.shape);
    for (int which = TRACE; which <= TASK_NAME; which++) {
        Py_XDECREF(record.held[which]);
    }
    return written;
}

/* -- columns ----------------------------------------------------------------------------------------------------- */

/* The fields of one record, each with a reference. 0: a column is no list or tuple, or too short. */
static int
take_row(PyObject *const *columns, Py_ssize_t at, PyObject **row)
{
    for (int column = 0; column < COLUMNS; column++) {
        PyObject *each = columns[column];
        if ((!PyList_CheckExact(each) && !PyTuple_CheckExact(each)) || Py_SIZE(each) <= at) {
            while (column-- > 0) {
                Py_DECREF(row[column]);
            }
            return 0;
        }
        row[column] = Py_NewRef(PySequence_Fast_GET_ITEM(each, at));
    }
    return 1;
}

/* Appends the bytes of one record to the list, or None. -1 with an exception that has to pass. */
static int
append_rendered(LogRenderer *self, PyObject *payloads, PyObject *const *columns, Py_ssize_t at)
{
    PyObject *row[COLUMNS], *written = NULL;
    if (take_row(columns, at, row)) {
        written = render(self, row);
        for (int column = 0; column < COLUMNS; column++) {
            Py_DECREF(row[column]);
        }
    }
    if (written == NULL && PyErr_Occurred() && !forgive()) {
        return -1;
    }
    /* not into a list of that size: with gaps in it, it must not be seen by Python */
    int done = PyList_Append(payloads, written != NULL ? written : Py_None);
    Py_XDECREF(written);
    return done;
}

static PyObject *
encode_alike(PyObject *renderer, PyObject *const *args, Py_ssize_t count)
{
    if (count != COLUMNS || (!PyList_CheckExact(args[0]) && !PyTuple_CheckExact(args[0]))) {
        return PyErr_Format(PyExc_TypeError, "the columns of plain records, which are %d", COLUMNS);
    }
    Py_ssize_t records = Py_SIZE(args[0]);
    PyObject *payloads = PyList_New(0);
    for (Py_ssize_t at = 0; payloads != NULL && at < records; at++) {
        if (append_rendered((LogRenderer *)renderer, payloads, args, at) < 0) {
            Py_CLEAR(payloads);
        }
    }
    return payloads;
}

/* -- the type ---------------------------------------------------------------------------------------------------- */

static PyObject *
renderer_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    enum { OBJECTS = 0 GIVEN(COUNT) };
    if (PyTuple_GET_SIZE(args) != OBJECTS + 1 || !PyTuple_CheckExact(PyTuple_GET_ITEM(args, OBJECTS - 1)) ||
        !PyDict_Check(PyTuple_GET_ITEM(args, 0)) || !PyDict_Check(PyTuple_GET_ITEM(args, 1)) ||
        !PyDict_Check(PyTuple_GET_ITEM(args, 2)) || !PyDict_Check(PyTuple_GET_ITEM(args, 3))) {
        return PyErr_Format(PyExc_TypeError, "the fields of LogRenderer are written in its type");
    }
    Py_ssize_t task_letters = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, OBJECTS));
    if (task_letters == -1 && PyErr_Occurred()) {
        return NULL;
    }
    LogRenderer *self = (LogRenderer *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    int at = 0;
#define TAKE(name) self->name = Py_NewRef(PyTuple_GET_ITEM(args, at++));
    GIVEN(TAKE)
    self->task_letters = task_letters;
    self->second = -1;
    return (PyObject *)self;
}

static int
renderer_traverse(PyObject *renderer, visitproc visit, void *arg)
{
    LogRenderer *self = (LogRenderer *)renderer;
    GIVEN(VISIT)
    return 0;
}

static void
renderer_dealloc(PyObject *renderer)
{
    LogRenderer *self = (LogRenderer *)renderer;
    PyObject_GC_UnTrack(renderer);
    GIVEN(CLEAR)
    Known *known[] = {self->known_shapes, self->known_places, self->known_lengths};
    for (int at = 0; at < 3 * KNOWN; at++) {
        Known nothing = {{NULL}, {0}, NULL}, *slot = &known[at / KNOWN][at % KNOWN];
        Known former = *slot;
        *slot = nothing;
        Py_XDECREF(former.said);
        for (int text = 0; text < 4; text++) {
            Py_XDECREF(former.key[text]);
        }
    }
    Py_TYPE(renderer)->tp_free(renderer);
}

static PyMethodDef methods[] = {
    {"encode_alike", (PyCFunction)(void (*)(void))encode_alike, METH_FASTCALL,
     "As `LogEncoder.encode_alike`, of the columns one by one."},
    {NULL},
};

static PyTypeObject renderer_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "swagent_native._native.LogRenderer",
    .tp_basicsize = sizeof(LogRenderer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Encodes plain log records that are like others. One caller at a time.",
    .tp_new = renderer_new,
    .tp_traverse = renderer_traverse,
    .tp_dealloc = renderer_dealloc,
    .tp_methods = methods,
};

int
add_log_renderer(PyObject *module)
{
    if (name_late_origin == NULL && !(name_late_origin = PyUnicode_InternFromString("late_origin"))) {
        return -1;
    }
    return PyModule_AddType(module, &renderer_type);
}
