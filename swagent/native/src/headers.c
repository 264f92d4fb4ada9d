/* The headers that go out with a call, as `Span.headers_for` in swagent/record/trace/span.py writes them: those of a span that
 * is no subclass and not its segment's root, where sw8 and traceparent travel and nothing else does. The rest is Python's.
 */
#include "headers.h"
#include "request_span.h"
#include "slots.h"
#include "wire.h"

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

/* The digits of a small number, in any base: a new text. */
static PyObject *
format_number(unsigned number, unsigned base, int least)
{
    char digits[MOST_DIGITS], *at = digits + MOST_DIGITS;
    for (int written = 0; number || written < least; written++, number /= base) {
        *--at = "0123456789abcdef"[number % base];
    }
    return PyUnicode_FromStringAndSize(at, digits + MOST_DIGITS - at);
}

/* -- the operation ------------------------------------------------------------------------------------------------- */

static PyObject *
name_of_root(PyObject *root)
{
    if (Py_TYPE(root) == RequestSpan_Type) {
        PyObject *name = name_operation(root);
        /* Python tries again where this failed, and counts what fails there */
        if (name != NULL || (PyErr_Occurred() && !forgive())) {
            return name;
        }
    }
    return PyObject_CallMethodNoArgs(root, s_name_now);
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

/* -- what the headers of a segment share --------------------------------------------------------------------------------- */

enum { ID_DIGITS = 32, HALF = 16, REST_DIGITS = 14, NO_DIGIT = 16 };
static unsigned char value_of_digit[256];
/* of Base64, without its end */
#define ENCODED(length) (((length) + 2) / 3 * 4)

/* The two halves of an id of 32 hexadecimal digits in lower case; 0: it has another form. */
static int
read_id(PyObject *id, unsigned long long halves[2])
{
    if (!is_text(id) || !PyUnicode_IS_COMPACT_ASCII(id) || PyUnicode_GET_LENGTH(id) != ID_DIGITS) {
        return 0;
    }
    const Py_UCS1 *digits = PyUnicode_1BYTE_DATA(id);
    unsigned odd = 0;
    for (int at = 0; at < ID_DIGITS; at++) {
        unsigned value = value_of_digit[digits[at]];
        odd |= value;
        halves[at / HALF] = halves[at / HALF] << 4 | (value & 15);
    }
    if (odd & NO_DIGIT) {
        return 0;
    }
    return 1;
}

static Py_UCS1 *
put_text(Py_UCS1 *into, const char *text)
{
    size_t length = strlen(text);
    memcpy(into, text, length);
    return into + length;
}

static Py_UCS1 *
put_base64(Py_UCS1 *into, PyObject *id)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const Py_UCS1 *from = PyUnicode_1BYTE_DATA(id);
    for (int at = 0; at < ID_DIGITS; at += 3) {
        int left = ID_DIGITS - at;
        unsigned three = (unsigned)from[at] << 16 | (left > 1 ? (unsigned)from[at + 1] << 8 : 0) | (left > 2 ? from[at + 2] : 0);
        *into++ = letters[three >> 18];
        *into++ = letters[three >> 12 & 63];
        *into++ = left > 1 ? letters[three >> 6 & 63] : '=';
        *into++ = left > 2 ? letters[three & 63] : '=';
    }
    return into;
}

/* `1-`, both ids in Base64, and a dash behind each. */
static PyObject *
write_ids(PyObject *trace_id, PyObject *id)
{
    PyObject *text = PyUnicode_New(2 + 2 * (ENCODED(ID_DIGITS) + 1), 127);
    if (text != NULL) {
        Py_UCS1 *into = put_text(PyUnicode_1BYTE_DATA(text), "1-");
        into = put_text(put_base64(into, trace_id), "-");
        put_text(put_base64(into, id), "-");
    }
    return text;
}

/* A text, an id, and a dash. */
static PyObject *
write_between(const char *before, PyObject *id)
{
    PyObject *text = PyUnicode_New((Py_ssize_t)strlen(before) + ID_DIGITS + 1, 127);
    if (text != NULL) {
        Py_UCS1 *into = put_text(PyUnicode_1BYTE_DATA(text), before);
        memcpy(into, PyUnicode_1BYTE_DATA(id), ID_DIGITS);
        put_text(into + ID_DIGITS, "-");
    }
    return text;
}

/* The digits of a span's id behind its first byte, and the flags. */
static PyObject *
write_rest(unsigned long long folded)
{
    static const char digits[] = "0123456789abcdef";
    char text[REST_DIGITS + sizeof "-01"] = {0};
    for (int at = REST_DIGITS - 1; at >= 0; at--, folded >>= 4) {
        text[at] = digits[folded & 15];
    }
    put_text((Py_UCS1 *)text + REST_DIGITS, "-01");
    return PyUnicode_FromString(text);
}

/* As `share_headers`, of ids as this agent makes them; NULL, with an exception or without, where they are others. */
static PyObject *
share(PyObject *trace_id, PyObject *id)
{
    unsigned long long trace[2] = {0}, halves[2] = {0};
    if (!read_id(trace_id, trace) || !read_id(id, halves)) {
        return NULL;
    }
    unsigned long long folded = halves[0] ^ halves[1];
    PyObject *parts[PARTS] = {
        write_ids(trace_id, id), write_between("sw=", id), write_between("00-", trace_id),
        PyLong_FromUnsignedLong((unsigned long)(folded >> 56)), write_rest(folded),
    };
    PyObject *shared = parts[0] && parts[1] && parts[2] && parts[3] && parts[4]
                           ? PyTuple_Pack(PARTS, parts[0], parts[1], parts[2], parts[3], parts[4])
                           : NULL;
    for (int at = 0; at < PARTS; at++) {
        Py_XDECREF(parts[at]);
    }
    return shared;
}

/* The same once for each segment: a new reference. */
static PyObject *
find_shared(PyObject *segment)
{
    PyObject *shared = FIELD(segment, segment_slots.shared_headers);
    if (shared != NULL && shared != Py_None) {
        return Py_NewRef(shared);
    }
    PyObject *trace_id = FIELD(segment, segment_slots.trace_id), *id = FIELD(segment, segment_slots.id);
    if (trace_id == NULL || id == NULL) {
        return NULL;
    }
    shared = share(trace_id, id);
    if (shared == NULL && !PyErr_Occurred()) {
        shared = PyObject_CallFunctionObjArgs(known.share, trace_id, id, NULL);
    }
    if (shared != NULL) {
        set_field(segment, segment_slots.shared_headers, Py_NewRef(shared));
    }
    return shared;
}

/* -- the plain headers --------------------------------------------------------------------------------------------------- */

/* The headers of a context, in this order. */
enum { SW8, TRACEPARENT, TRACESTATE, TEXTS };

static void
clear_texts(PyObject *texts[TEXTS])
{
    for (int at = 0; at < TEXTS; at++) {
        Py_CLEAR(texts[at]);
    }
}

/* Whether all of the headers can be made of it. */
static int
is_whole(PyObject *shared)
{
    return PyTuple_CheckExact(shared) && PyTuple_GET_SIZE(shared) == PARTS && is_text(PyTuple_GET_ITEM(shared, 2)) &&
           PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(shared, 2));
}

/* 1; 0, with an exception or without, where Python has to write them. */
static int
write_texts(PyObject *shared, PyObject *place, unsigned number, PyObject *texts[TEXTS])
{
    long first = PyLong_AsLong(PyTuple_GET_ITEM(shared, 3));
    if (first < 0 || first >= FEW) {
        return 0;
    }
    PyObject *text = format_number(number, 10, 1), *byte = format_number((unsigned)first ^ number, 16, 2);
    if (text != NULL && byte != NULL) {
        PyObject *const sw8[] = {PyTuple_GET_ITEM(shared, 0), text, dash, place};
        PyObject *const traceparent[] = {PyTuple_GET_ITEM(shared, 2), byte, PyTuple_GET_ITEM(shared, 4)};
        PyObject *const tracestate[] = {PyTuple_GET_ITEM(shared, 1), text};
        texts[SW8] = join(sw8, 4);
        texts[TRACEPARENT] = texts[SW8] == NULL ? NULL : join(traceparent, 3);
        texts[TRACESTATE] = texts[TRACEPARENT] == NULL ? NULL : join(tracestate, 2);
    }
    Py_XDECREF(text);
    Py_XDECREF(byte);
    if (texts[TRACESTATE] == NULL) {
        clear_texts(texts);
        return 0;
    }
    return 1;
}

/* 1; 0, with an exception or without, where Python has to write them. */
static int
write_plainly(PyObject *span, PyObject *peer, PyObject *texts[TEXTS])
{
    Leaving leaving = {.peer = peer};
    if (known.places == NULL || Py_TYPE(span) != Span_Type || !PyUnicode_CheckExact(peer) ||
        !read_leaving(span, &leaving)) {
        return 0;
    }
    /* naming the operation may run the application's code, and what is refused after it would run that code twice */
    Py_INCREF(leaving.segment);
    Py_INCREF(leaving.tracer);
    PyObject *shared = find_shared(leaving.segment);
    PyObject *place = shared != NULL && is_whole(shared) ? find_place_of(&leaving) : NULL;
    int done = place != NULL && write_texts(shared, place, leaving.number, texts);
    Py_XDECREF(place);
    Py_XDECREF(shared);
    Py_DECREF(leaving.tracer);
    Py_DECREF(leaving.segment);
    return done;
}

/* A dict of the texts, which are cleared. */
static PyObject *
as_dict(PyObject *texts[TEXTS])
{
    PyObject *const names[TEXTS] = {s_sw8, s_traceparent, s_tracestate}, *headers = PyDict_New();
    for (int at = 0; headers != NULL && at < TEXTS; at++) {
        if (PyDict_SetItem(headers, names[at], texts[at]) < 0) {
            Py_CLEAR(headers);
        }
    }
    clear_texts(texts);
    return headers;
}

static PyObject *
headers_for(PyObject *span, PyObject *peer)
{
    PyObject *texts[TEXTS] = {NULL}, *headers = write_plainly(span, peer, texts) ? as_dict(texts) : NULL;
    if (headers == NULL && PyErr_Occurred() && !forgive()) {
        return NULL;
    }
    return headers != NULL ? headers : PyObject_CallMethodOneArg(span, s_otherwise, peer);
}

/* -- into the fields of a request -------------------------------------------------------------------------------------- */

#define NAMES 4
static const char *const field_names[NAMES] = {"sw8", "sw8-correlation", "traceparent", "tracestate"};
static const int name_of_text[TEXTS] = {[SW8] = 0, [TRACEPARENT] = 2, [TRACESTATE] = 3};
static PyObject *fields_of_names[NAMES], *texts_of_names[NAMES];

enum { UNUSUAL, ANOTHER, OURS };

/* Whether a field has one of these names. */
static int
kind_of_field(PyObject *field)
{
    if (!PyTuple_CheckExact(field) || PyTuple_GET_SIZE(field) != 3 || !PyBytes_CheckExact(PyTuple_GET_ITEM(field, 1))) {
        return UNUSUAL;
    }
    PyObject *name = PyTuple_GET_ITEM(field, 1);
    for (int at = 0; at < NAMES; at++) {
        Py_ssize_t length = PyBytes_GET_SIZE(fields_of_names[at]);
        if (name == fields_of_names[at] || (PyBytes_GET_SIZE(name) == length &&
                                            memcmp(PyBytes_AS_STRING(name), field_names[at], (size_t)length) == 0)) {
            return OURS;
        }
    }
    return ANOTHER;
}

/* A new reference; NULL with an exception set. The text is ASCII. */
static PyObject *
make_field_of(PyObject *name, PyObject *text)
{
    PyObject *value = PyBytes_FromStringAndSize((char *)PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text));
    PyObject *field = value == NULL ? NULL : PyTuple_Pack(3, name, name, value);
    Py_XDECREF(value);
    return field;
}

/* A new reference; NULL, with an exception or without, where it is unusual. */
static PyObject *
make_field(PyObject *name, PyObject *text)
{
    if (!is_text(name) || !is_text(text) || !PyUnicode_IS_COMPACT_ASCII(text)) {
        return NULL;
    }
    for (int at = 0; at < NAMES; at++) {
        if (name == texts_of_names[at] || PyUnicode_CompareWithASCIIString(name, field_names[at]) == 0) {
            return make_field_of(fields_of_names[at], text);
        }
    }
    return NULL;
}

/* Whether none of the fields has one of these names, and all are plain. */
static int
are_others(PyObject *fields)
{
    Py_ssize_t at = 0;
    while (at < PyList_GET_SIZE(fields) && kind_of_field(PyList_GET_ITEM(fields, at)) == ANOTHER) {
        at++;
    }
    return at == PyList_GET_SIZE(fields);
}

static PyObject *
make_fields(PyObject *written)
{
    PyObject *more = PyList_New(0), *name, *text;
    Py_ssize_t at = 0;
    while (more != NULL && PyDict_Next(written, &at, &name, &text)) {
        PyObject *field = make_field(name, text);
        if (field == NULL || PyList_Append(more, field) < 0) {
            Py_CLEAR(more);
        }
        Py_XDECREF(field);
    }
    return more;
}

/* 1; 0 where one of both is not plain, and nothing was added. -1 with an exception set. */
static int
add_fields(PyObject *fields, PyObject *written)
{
    if (!PyList_CheckExact(fields) || !PyDict_CheckExact(written)) {
        return 0;
    }
    PyObject *more = make_fields(written);
    if (more == NULL && PyErr_Occurred()) {
        return -1;
    }
    int is_plain = more != NULL && are_others(fields);
    Py_ssize_t end = PyList_GET_SIZE(fields);
    int failed = is_plain && PyList_SetSlice(fields, end, end, more) < 0;
    Py_XDECREF(more);
    return failed ? -1 : is_plain;
}

int
add_context(PyObject *fields, PyObject *span, PyObject *peer)
{
    PyObject *texts[TEXTS] = {NULL};
    if (!PyList_CheckExact(fields) || !are_others(fields) || !write_plainly(span, peer, texts)) {
        return 0;
    }
    int done = 1;
    for (int at = 0; done && at < TEXTS; at++) {
        PyObject *field = make_field_of(fields_of_names[name_of_text[at]], texts[at]);
        done = field != NULL && PyList_Append(fields, field) == 0;
        Py_XDECREF(field);
    }
    clear_texts(texts);
    return done;
}

static PyObject *
add_header_fields(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    int added = count == 2 ? add_fields(args[0], args[1]) : 0;
    return added < 0 ? NULL : PyBool_FromLong(added);
}

PyObject *
take_fields(PyObject *fields)
{
    Py_ssize_t end = PyList_GET_SIZE(fields), at = end;
    while (at && kind_of_field(PyList_GET_ITEM(fields, at - 1)) == OURS) {
        at--;
    }
    PyObject *taken = PyList_GetSlice(fields, at, end);
    if (taken != NULL && PyList_SetSlice(fields, at, end, NULL) < 0) {
        Py_CLEAR(taken);
    }
    return taken;
}

static PyObject *
take_header_fields(PyObject *Py_UNUSED(module), PyObject *fields)
{
    if (!PyList_CheckExact(fields)) {
        Py_RETURN_NONE;
    }
    return take_fields(fields);
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
    {"add_header_fields", (PyCFunction)(void (*)(void))add_header_fields, METH_FASTCALL,
     "Add the headers of a context to the fields of a request, which are of three bytes each. False: they are not plain, or\n"
     "have some of these headers already; nothing was added."},
    {"take_header_fields", take_header_fields, METH_O,
     "Take the headers of a context out of the fields of a request, where they are the last ones: a list of these, or None."},
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
    memset(value_of_digit, NO_DIGIT, sizeof value_of_digit);
    for (unsigned char value = 0; value < NO_DIGIT; value++) {
        value_of_digit[(unsigned char)"0123456789abcdef"[value]] = value;
    }
    for (int at = 0; at < NAMES; at++) {
        fields_of_names[at] = PyBytes_FromString(field_names[at]);
        texts_of_names[at] = PyUnicode_InternFromString(field_names[at]);
        if (fields_of_names[at] == NULL || texts_of_names[at] == NULL) {
            return -1;
        }
    }
    return PyModule_AddFunctions(module, functions);
}
