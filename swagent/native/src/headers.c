/* The headers that go out with a call, as `Span.headers_for` in swagent/record/trace/span.py writes them: those of a span that
 * is no subclass and not its segment's root, where sw8 and traceparent travel and nothing else does. The rest is Python's.
 */
#include "headers.h"
#include "request_span.h"
#include "slots.h"

/* The objects of Python that this knows; set once, and held for ever. */
static struct {
    PyObject *no_correlation; /* the correlation of a segment that has none */
    PyObject *places;         /* the ends of `sw8` by service, instance, operation and peer */
    PyObject *share;          /* function: what the headers of a segment share */
} known;

static const char *const known_names[] = {"no_correlation", "places", "share", NULL};
static PyObject *s_otherwise, *s_name_now, *s_sw8, *s_traceparent, *s_tracestate, *dash;

enum { FEW = 256, PARTS = 5, MOST_DIGITS = 4 };

/* -- texts ------------------------------------------------------------------------------------------------------- */

/* Some texts in one; NULL without an exception where one of them is more than ASCII. */
static PyObject *
join(PyObject *const *parts, Py_ssize_t count)
{
    Py_ssize_t length = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyUnicode_CheckExact(parts[i]) || !PyUnicode_IS_COMPACT_ASCII(parts[i])) {
            return NULL;
        }
        length += PyUnicode_GET_LENGTH(parts[i]);
    }
    PyObject *text = PyUnicode_New(length, 127);
    if (text == NULL) {
        return NULL;
    }
    Py_UCS1 *into = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < count; i++) {
        memcpy(into, PyUnicode_1BYTE_DATA(parts[i]), (size_t)PyUnicode_GET_LENGTH(parts[i]));
        into += PyUnicode_GET_LENGTH(parts[i]);
    }
    return text;
}

static PyObject *
format_number(const char *format, unsigned number)
{
    char digits[MOST_DIGITS + 1];
    return PyUnicode_FromStringAndSize(digits, PyOS_snprintf(digits, sizeof digits, format, number));
}

/* -- the operation ------------------------------------------------------------------------------------------------- */

static PyObject *
name_of_root(PyObject *root)
{
    PyObject *name = Py_TYPE(root) == RequestSpan_Type ? name_operation(root) : NULL;
    /* Python tries again, and counts what fails there */
    PyErr_Clear();
    return name != NULL ? name : PyObject_CallMethodNoArgs(root, s_name_now);
}

/* As `Segment.leaving`: the operation that a segment serves, a new reference; NULL with an exception or without. */
static PyObject *
find_endpoint(PyObject *segment)
{
    PyObject *open = FIELD(segment, segment_slots.open), *number = PyLong_FromLong(0);
    if (open == NULL || !PyDict_CheckExact(open) || number == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    PyObject *held = PyDict_GetItemWithError(open, number), *root = NULL;
    Py_DECREF(number);
    if (held != NULL && PyWeakref_CheckRefExact(held)) {
        root = PyObject_CallNoArgs(held);
    }
    if (root == NULL) {
        return NULL;
    }
    PyObject *name = root == Py_None ? NULL : name_of_root(root);
    Py_DECREF(root);
    return name;
}

/* -- the headers ------------------------------------------------------------------------------------------------------ */

typedef struct {
    PyObject *segment, *tracer, *peer;
    unsigned number;
} Leaving;

static int
is_text(PyObject *text)
{
    return text != NULL && PyUnicode_CheckExact(text);
}

/* Whether the plain headers are all that travels. Everything is borrowed from the span. */
static int
read_leaving(PyObject *span, Leaving *leaving)
{
    PyObject *segment = leaving->segment = FIELD(span, span_slots.segment), *id = FIELD(span, span_slots.id);
    if (segment == NULL || Py_TYPE(segment) != Segment_Type || id == NULL || !PyLong_CheckExact(id) ||
        FIELD(segment, segment_slots.root_segment) != Py_None ||
        FIELD(segment, segment_slots.correlation) != known.no_correlation) {
        return 0;
    }
    long number = PyLong_AsLong(id);
    PyErr_Clear();
    PyObject *tracer = leaving->tracer = FIELD(segment, segment_slots.tracer);
    PyObject *others = FIELD(segment, segment_slots.tracestate);
    if (number <= 0 || number >= FEW || tracer == NULL || Py_TYPE(tracer) != Tracer_Type || !is_text(others) ||
        PyUnicode_GET_LENGTH(others)) {
        return 0;
    }
    leaving->number = (unsigned)number;
    return FIELD(tracer, tracer_slots.propagates_to_few) == Py_False &&
           FIELD(tracer, tracer_slots.traceparent) == Py_True && is_text(FIELD(tracer, tracer_slots.service)) &&
           is_text(FIELD(tracer, tracer_slots.instance));
}

/* As `_PLACES`: a new reference. */
static PyObject *
find_place_of(const Leaving *leaving)
{
    PyObject *endpoint = find_endpoint(leaving->segment);
    if (!is_text(endpoint)) {
        Py_XDECREF(endpoint);
        return NULL;
    }
    PyObject *key = PyTuple_Pack(4, FIELD(leaving->tracer, tracer_slots.service),
                                 FIELD(leaving->tracer, tracer_slots.instance),
                                 PyUnicode_GET_LENGTH(endpoint) ? endpoint : dash,
                                 PyUnicode_GET_LENGTH(leaving->peer) ? leaving->peer : dash);
    Py_DECREF(endpoint);
    PyObject *place = key == NULL ? NULL : PyObject_GetItem(known.places, key);
    Py_XDECREF(key);
    return place;
}

/* As `share_headers`, once for each segment: a new reference. */
static PyObject *
find_shared(PyObject *segment)
{
    PyObject *shared = FIELD(segment, segment_slots.shared_headers);
    if (shared != NULL && shared != Py_None) {
        return Py_NewRef(shared);
    }
    PyObject *trace_id = FIELD(segment, segment_slots.trace_id), *id = FIELD(segment, segment_slots.id);
    shared = trace_id == NULL || id == NULL ? NULL : PyObject_CallFunctionObjArgs(known.share, trace_id, id, NULL);
    if (shared != NULL) {
        set_field(segment, segment_slots.shared_headers, Py_NewRef(shared));
    }
    return shared;
}

static int
set_header(PyObject *headers, PyObject *name, PyObject *text)
{
    int failed = text == NULL || PyDict_SetItem(headers, name, text) < 0;
    Py_XDECREF(text);
    return failed ? -1 : 0;
}

static PyObject *
write_with(PyObject *shared, PyObject *place, unsigned number)
{
    if (!PyTuple_CheckExact(shared) || PyTuple_GET_SIZE(shared) != PARTS || !is_text(PyTuple_GET_ITEM(shared, 2)) ||
        !PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(shared, 2))) {
        return NULL;
    }
    long first = PyLong_AsLong(PyTuple_GET_ITEM(shared, 3));
    if (first < 0 || first >= FEW) {
        return NULL;
    }
    PyObject *text = format_number("%u", number), *byte = format_number("%02x", (unsigned)first ^ number);
    PyObject *headers = text == NULL || byte == NULL ? NULL : PyDict_New();
    if (headers != NULL) {
        PyObject *const sw8[] = {PyTuple_GET_ITEM(shared, 0), text, dash, place};
        PyObject *const traceparent[] = {PyTuple_GET_ITEM(shared, 2), byte, PyTuple_GET_ITEM(shared, 4)};
        PyObject *const tracestate[] = {PyTuple_GET_ITEM(shared, 1), text};
        if (set_header(headers, s_sw8, join(sw8, 4)) < 0 || set_header(headers, s_traceparent, join(traceparent, 3)) < 0 ||
            set_header(headers, s_tracestate, join(tracestate, 2)) < 0) {
            Py_CLEAR(headers);
        }
    }
    Py_XDECREF(text);
    Py_XDECREF(byte);
    return headers;
}

/* NULL, with an exception or without, where Python has to write them. */
static PyObject *
write_plainly(PyObject *span, PyObject *peer)
{
    Leaving leaving = {.peer = peer};
    if (known.places == NULL || Py_TYPE(span) != Span_Type || !PyUnicode_CheckExact(peer) ||
        !read_leaving(span, &leaving)) {
        return NULL;
    }
    /* naming the operation may run the application's code */
    Py_INCREF(leaving.segment);
    Py_INCREF(leaving.tracer);
    PyObject *place = find_place_of(&leaving), *shared = place == NULL ? NULL : find_shared(leaving.segment);
    PyObject *headers = shared == NULL ? NULL : write_with(shared, place, leaving.number);
    Py_XDECREF(place);
    Py_XDECREF(shared);
    Py_DECREF(leaving.tracer);
    Py_DECREF(leaving.segment);
    return headers;
}

static PyObject *
headers_for(PyObject *span, PyObject *peer)
{
    PyObject *headers = write_plainly(span, peer);
    if (headers == NULL && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear();
    }
    return headers != NULL ? headers : PyObject_CallMethodOneArg(span, s_otherwise, peer);
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyMethodDef headers_method = {
    "headers_for", headers_for, METH_O,
    "As `headers`, for another peer than its own: after a redirect, say.\n\n"
    ":param peer: as `address_of` gives it",
};

static PyObject *
configure_headers(PyObject *module, PyObject *args, PyObject *kwargs)
{
    if (Span_Type == NULL) {
        PyErr_SetString(PyExc_TypeError, "the slots first");
        return NULL;
    }
    if (set_known((PyObject **)&known, known_names, args, kwargs) < 0) {
        return NULL;
    }
    PyObject *descriptor = PyDescr_NewMethod(Span_Type, &headers_method);
    int failed = descriptor == NULL ? -1 : PyObject_SetAttrString((PyObject *)Span_Type, "headers_for", descriptor);
    Py_XDECREF(descriptor);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_headers", (PyCFunction)(void (*)(void))configure_headers, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the headers of calls know, and the method of spans that writes them."},
    {NULL},
};

int
add_headers(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_otherwise, "_headers_otherwise"}, {&s_name_now, "name_now"}, {&s_sw8, "sw8"},
        {&s_traceparent, "traceparent"}, {&s_tracestate, "tracestate"}, {&dash, "-"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    return PyModule_AddFunctions(module, functions);
}
