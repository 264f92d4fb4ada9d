/* Spans and their segments become protobuf bytes: those whose fields are of the usual types. The rest is Python's.
 *
 * The order and the numbers of the fields are those of `wire.py`, which is generated from the .proto files. A test holds
 * both against each other.
 */
#include "slots.h"
#include "wire.h"

#include <limits.h>
#include <math.h>

typedef struct {
    PyObject_HEAD
    PyObject *clean;
    long long last_layer;
} SpanEncoder;

/* What a message is made of, where it is one number or text. */
static int
read_int(PyObject *value, long long lowest, long long highest, long long *into)
{
    int overflow = 0;
    if (!PyLong_Check(value)) {
        return NOT_MINE;
    }
    *into = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow || *into < lowest || *into > highest ? NOT_MINE : WRITTEN;
}

#define LOWEST_32 (-2147483648LL)
#define HIGHEST_32 2147483647LL

static int
write_int(Writer *writer, int field, PyObject *value, int is_time)
{
    long long number;
    int done = read_int(value, is_time ? LLONG_MIN : LOWEST_32, is_time ? LLONG_MAX : HIGHEST_32, &number);
    return done != WRITTEN ? done : write_number(writer, field, number);
}

/* Seconds since the epoch become milliseconds, as `int(seconds * 1000)` makes them. */
static int
write_seconds(Writer *writer, int field, PyObject *seconds)
{
    if (!PyFloat_CheckExact(seconds)) {
        return NOT_MINE;
    }
    double milliseconds = PyFloat_AS_DOUBLE(seconds) * 1000;
    /* false for what is no number, too */
    if (!(fabs(milliseconds) < 9e18)) {
        return NOT_MINE;
    }
    return write_number(writer, field, (long long)milliseconds);
}

static int
write_flag(Writer *writer, int field, PyObject *value)
{
    if (!PyBool_Check(value)) {
        return NOT_MINE;
    }
    return write_number(writer, field, value == Py_True);
}

/* -- what repeats ------------------------------------------------------------------------------------------------ */

typedef int (*WriteItem)(Writer *, PyObject *item, PyObject *clean);

/* Each item as a message in this one. Other threads may change a list meanwhile: `clean` is Python. */
static int
write_each(Writer *writer, int field, PyObject *items, PyObject *clean, WriteItem write)
{
    if (!PyList_CheckExact(items) && !PyTuple_CheckExact(items)) {
        return NOT_MINE;
    }
    int done = WRITTEN;
    for (Py_ssize_t at = 0; done == WRITTEN && at < Py_SIZE(items); at++) {
        PyObject *item = PyList_CheckExact(items) ? PyList_GET_ITEM(items, at) : PyTuple_GET_ITEM(items, at);
        Py_INCREF(item);
        Py_ssize_t begin = nested_begin(writer, field);
        done = begin < 0 ? FAILED : write(writer, item, clean);
        if (done == WRITTEN) {
            done = nested_end(writer, begin);
        }
        Py_DECREF(item);
    }
    return done;
}

static int
write_encoded(Writer *writer, PyObject *encoded, PyObject *Py_UNUSED(clean))
{
    if (!PyBytes_CheckExact(encoded)) {
        return NOT_MINE;
    }
    return write_bytes(writer, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded));
}

/* The tags of one place in the code or one statement are the same objects in each of its spans: those that came last are
 * kept as they were written. They are held, so that nothing else has their address. */
#define KNOWN_PAIRS 256
#define LONGEST_KNOWN 256
/* the list that it is in, and the caller: a pair that nothing else holds does not come again */
#define HELD_BY_SPAN 2

static struct {
    PyObject *pair, *clean, *written;
} known_pairs[KNOWN_PAIRS];

static size_t
place_of_pair(PyObject *pair)
{
    size_t address = (size_t)pair >> 4;
    return (address ^ address >> 8) % KNOWN_PAIRS;
}

static int
keep_pair(PyObject *pair, PyObject *clean, const char *bytes, Py_ssize_t length)
{
    if (Py_REFCNT(pair) <= HELD_BY_SPAN || length > LONGEST_KNOWN) {
        return WRITTEN;
    }
    PyObject *written = PyBytes_FromStringAndSize(bytes, length);
    if (written == NULL) {
        return FAILED;
    }
    size_t at = place_of_pair(pair);
    PyObject *formers[3] = {known_pairs[at].pair, known_pairs[at].clean, known_pairs[at].written};
    known_pairs[at].pair = Py_NewRef(pair);
    known_pairs[at].clean = Py_NewRef(clean);
    known_pairs[at].written = written;
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(formers[i]);
    }
    return WRITTEN;
}

static int
write_pair(Writer *writer, PyObject *pair, PyObject *clean)
{
    if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
        return NOT_MINE;
    }
    size_t at = place_of_pair(pair);
    if (known_pairs[at].pair == pair && known_pairs[at].clean == clean) {
        PyObject *written = known_pairs[at].written;
        return write_bytes(writer, PyBytes_AS_STRING(written), PyBytes_GET_SIZE(written));
    }
    Py_ssize_t begin = writer->at - writer->start;
    int done = write_text(writer, 1, PyTuple_GET_ITEM(pair, 0), clean);
    if (done == WRITTEN) {
        done = write_text(writer, 2, PyTuple_GET_ITEM(pair, 1), clean);
    }
    return done != WRITTEN ? done : keep_pair(pair, clean, writer->start + begin, writer->at - writer->start - begin);
}

/* A SpanLog: when it was, and its fields. */
static int
write_log(Writer *writer, PyObject *log, PyObject *clean)
{
    if (!PyTuple_CheckExact(log) || PyTuple_GET_SIZE(log) != 2) {
        return NOT_MINE;
    }
    int done = write_seconds(writer, 1, PyTuple_GET_ITEM(log, 0));
    return done != WRITTEN ? done : write_each(writer, 2, PyTuple_GET_ITEM(log, 1), clean, write_pair);
}

/* A Reference, whose fields are in the order of the wire. */
static int
write_reference(Writer *writer, PyObject *reference, PyObject *clean)
{
    if (!PyTuple_Check(reference) || PyTuple_GET_SIZE(reference) != 8) {
        return NOT_MINE;
    }
    int done = WRITTEN;
    for (int at = 0; done == WRITTEN && at < 8; at++) {
        PyObject *field = PyTuple_GET_ITEM(reference, at);
        int is_number = at == 0 || at == 3;
        done = is_number ? write_int(writer, at + 1, field, 0) : write_text(writer, at + 1, field, clean);
    }
    return done;
}

/* -- span_object ------------------------------------------------------------------------------------------------- */

enum {
    ID, PARENT, START, END, REFS, NAME, PEER, KIND, LAYER, COMPONENT, IS_ERROR, TAGS, LOGS, SKIP_ANALYSIS, FIELDS
};

static int
write_fields(Writer *writer, PyObject *const *fields, PyObject *clean)
{
    int done;
    for (int field = 0; field < FIELDS; field++) {
        PyObject *value = fields[field];
        switch (field) {
        case START: case END:
            done = write_int(writer, field + 1, value, 1);
            break;
        case REFS: case LOGS:
            done = write_each(writer, field + 1, value, clean, write_encoded);
            break;
        case TAGS:
            done = write_each(writer, field + 1, value, clean, write_pair);
            break;
        case NAME: case PEER:
            done = write_text(writer, field + 1, value, clean);
            break;
        case IS_ERROR: case SKIP_ANALYSIS:
            done = write_flag(writer, field + 1, value);
            break;
        default:
            done = write_int(writer, field + 1, value, 0);
        }
        if (done != WRITTEN) {
            return done;
        }
    }
    return WRITTEN;
}

/* What was written; None where Python has to do it. */
static PyObject *
answer(Writer *writer, int done)
{
    PyObject *result = done == WRITTEN ? writer_result(writer) : NULL;
    writer_close(writer);
    if (result == NULL && PyErr_Occurred() && !forgive()) {
        return NULL;
    }
    return result != NULL ? result : Py_NewRef(Py_None);
}

static PyObject *
encode_span(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != FIELDS) {
        return PyErr_Format(PyExc_TypeError, "a span has %d fields, not %zd", FIELDS, count);
    }
    Writer writer;
    writer_open(&writer);
    return answer(&writer, write_fields(&writer, args, ((SpanEncoder *)self)->clean));
}

/* -- segment_object ---------------------------------------------------------------------------------------------- */

static const char *const attribute_names[] = {
    "id", "parent_id", "start_time", "end_time", "refs", "name", "peer", "kind", "layer", "component", "failed",
    "tags", "logs",
};
#define ATTRIBUTES ((int)(sizeof attribute_names / sizeof *attribute_names))
static PyObject *attributes[ATTRIBUTES];

static int
write_kind(Writer *writer, int field, PyObject *value, long long highest)
{
    long long number;
    /* an unknown one is complained of, which is Python's */
    int done = read_int(value, 0, highest, &number);
    return done != WRITTEN ? done : write_number(writer, field, number);
}

static int
write_attribute(Writer *writer, int which, PyObject *value, SpanEncoder *encoder)
{
    PyObject *clean = encoder->clean;
    int field = which + 1;
    switch (which) {
    case START: case END:
        return write_seconds(writer, field, value);
    case REFS:
        return write_each(writer, field, value, clean, write_reference);
    case LOGS:
        return write_each(writer, field, value, clean, write_log);
    case TAGS:
        return write_each(writer, field, value, clean, write_pair);
    case NAME: case PEER:
        return write_text(writer, field, value, clean);
    case IS_ERROR:
        return write_flag(writer, field, value);
    case LAYER:
        return write_kind(writer, field, value, encoder->last_layer);
    case COMPONENT:
        return write_kind(writer, field, value, HIGHEST_32);
    default:
        return write_int(writer, field, value, 0);
    }
}

static int
write_span(Writer *writer, PyObject *span, SpanEncoder *encoder)
{
    int done = WRITTEN, has_slots = is_span(span);
    const Py_ssize_t places[ATTRIBUTES] = {
        span_slots.id, span_slots.parent_id, span_slots.start_time, span_slots.end_time, span_slots.refs, span_slots.name,
        span_slots.peer, span_slots.kind, span_slots.layer, span_slots.component, span_slots.failed, span_slots.tags,
        span_slots.logs,
    };
    for (int which = 0; done == WRITTEN && which < ATTRIBUTES; which++) {
        PyObject *value = has_slots ? Py_XNewRef(FIELD(span, places[which])) : NULL;
        if (has_slots && which == LOGS && value == NULL) {
            continue; /* there are none, see slots.c */
        }
        value = value != NULL ? value : PyObject_GetAttr(span, attributes[which]);
        if (value == NULL) {
            return FAILED;
        }
        done = write_attribute(writer, which, value, encoder);
        Py_DECREF(value);
    }
    return done;
}

static int
write_spans(Writer *writer, PyObject *spans, SpanEncoder *encoder)
{
    if (!PyList_CheckExact(spans)) {
        return NOT_MINE;
    }
    int done = WRITTEN;
    for (Py_ssize_t at = 0; done == WRITTEN && at < PyList_GET_SIZE(spans); at++) {
        PyObject *span = Py_NewRef(PyList_GET_ITEM(spans, at));
        Py_ssize_t begin = nested_begin(writer, 3);
        done = begin < 0 ? FAILED : write_span(writer, span, encoder);
        if (done == WRITTEN) {
            done = nested_end(writer, begin);
        }
        Py_DECREF(span);
    }
    return done;
}

enum { TRACE_ID, SEGMENT_ID, SPANS, SERVICE, INSTANCE, IS_LIMITED, OF_SEGMENT };

/* What was written; None where Python has to do it. NULL with what has to pass. */
static PyObject *
write_segment(SpanEncoder *encoder, PyObject *const *fields)
{
    Writer writer;
    writer_open(&writer);
    int done = WRITTEN;
    for (int field = 0; done == WRITTEN && field < OF_SEGMENT; field++) {
        if (field == SPANS) {
            done = write_spans(&writer, fields[field], encoder);
        } else if (field == IS_LIMITED) {
            done = write_flag(&writer, field + 1, fields[field]);
        } else {
            done = write_text(&writer, field + 1, fields[field], encoder->clean);
        }
    }
    return answer(&writer, done);
}

static PyObject *
encode_segment(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != OF_SEGMENT) {
        return PyErr_Format(PyExc_TypeError, "a segment has %d fields, not %zd", OF_SEGMENT, count);
    }
    return write_segment((SpanEncoder *)self, args);
}

/* A segment and its spans; None where Python has to do it. */
static PyObject *
encode_finished(SpanEncoder *encoder, PyObject *finished)
{
    PyObject *segment = PyTuple_CheckExact(finished) && PyTuple_GET_SIZE(finished) == 2 ? PyTuple_GET_ITEM(finished, 0) : NULL;
    if (segment == NULL || Segment_Type == NULL || Py_TYPE(segment) != Segment_Type) {
        return Py_NewRef(Py_None);
    }
    PyObject *tracer = FIELD(segment, segment_slots.tracer);
    if (tracer == NULL || Py_TYPE(tracer) != Tracer_Type) {
        return Py_NewRef(Py_None);
    }
    PyObject *const fields[OF_SEGMENT] = {
        FIELD(segment, segment_slots.trace_id), FIELD(segment, segment_slots.id), PyTuple_GET_ITEM(finished, 1),
        FIELD(tracer, tracer_slots.service), FIELD(tracer, tracer_slots.instance), FIELD(segment, segment_slots.limited),
    };
    int are_set = 1;
    for (int field = 0; field < OF_SEGMENT; field++) {
        Py_XINCREF(fields[field]);
        are_set = are_set && fields[field] != NULL;
    }
    PyObject *written = are_set ? write_segment(encoder, fields) : Py_NewRef(Py_None);
    for (int field = 0; field < OF_SEGMENT; field++) {
        Py_XDECREF(fields[field]);
    }
    return written;
}

static PyObject *
encode_segments(PyObject *self, PyObject *group)
{
    if (!PyList_CheckExact(group)) {
        return PyErr_Format(PyExc_TypeError, "a list of segments and their spans");
    }
    PyObject *written = PyList_New(0);
    for (Py_ssize_t at = 0; written != NULL && at < PyList_GET_SIZE(group); at++) {
        PyObject *finished = Py_NewRef(PyList_GET_ITEM(group, at));
        PyObject *payload = encode_finished((SpanEncoder *)self, finished);
        Py_DECREF(finished);
        if (payload == NULL || PyList_Append(written, payload) < 0) {
            Py_CLEAR(written);
        }
        Py_XDECREF(payload);
    }
    return written;
}

/* -- the type ---------------------------------------------------------------------------------------------------- */

static PyObject *
encoder_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *clean;
    long long last_layer;
    if (!PyArg_ParseTuple(args, "OL:SpanEncoder", &clean, &last_layer)) {
        return NULL;
    }
    SpanEncoder *self = (SpanEncoder *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->clean = Py_NewRef(clean);
        self->last_layer = last_layer;
    }
    return (PyObject *)self;
}

static int
encoder_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((SpanEncoder *)self)->clean);
    return 0;
}

/* Nothing clears it: a method may be at work, and a Python function is never the only way to break a cycle. */
static void
encoder_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((SpanEncoder *)self)->clean);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"span_object", (PyCFunction)(void (*)(void))encode_span, METH_FASTCALL,
     "As `wire.span_object`, of positional arguments; None where that has to do it."},
    {"segment", (PyCFunction)(void (*)(void))encode_segment, METH_FASTCALL,
     "As `wire.segment_object`, of spans that are not encoded yet; None where that has to do it."},
    {"segments", encode_segments, METH_O,
     "The same of a list of pairs, a segment and its spans each: a list, with None where Python has to do it."},
    {NULL},
};

static PyTypeObject encoder_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "swagent_native._native.SpanEncoder",
    .tp_basicsize = sizeof(SpanEncoder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "SpanEncoder(clean, last_layer)\n\n"
              "Encodes spans and segments in protobuf, those of the usual types. Any thread.\n\n"
              ":param clean: `swagent_proto.text.clean`, for texts of more than plain ASCII\n"
              ":param last_layer: the highest number of a layer that the collector knows",
    .tp_new = encoder_new,
    .tp_traverse = encoder_traverse,
    .tp_dealloc = encoder_dealloc,
    .tp_methods = methods,
};

int
add_spans(PyObject *module)
{
    for (int which = 0; which < ATTRIBUTES; which++) {
        if (attributes[which] == NULL && !(attributes[which] = PyUnicode_InternFromString(attribute_names[which]))) {
            return -1;
        }
    }
    return PyModule_AddType(module, &encoder_type);
}
