/* The span of a request: made when a call needs it, and ended with the request. As `PendingRequest._open` and
 * `RequestSpan.stop` in swagent/request, for a request over http that begins a trace, on a route that is known. The rest is
 * Python's, which then does all of it.
 */
#include "request_span.h"
#include "calls.h"
#include "clock.h"
#include "facts.h"
#include "slots.h"

/* The objects of Python that this knows; set once, and held for ever. */
static struct {
    PyObject *namespace;  /* of `request/span.py`: it has the module `time` */
    PyObject *current;    /* context variable: the active entry */
    PyObject *suppressed; /* context variable: the agent's own work */
    PyObject *peers;      /* by the client's address */
    PyObject *templates;  /* `SpanTemplate` by facts */
    PyObject *unmatched;  /* the template of a request that matched no route */
    PyObject *over;       /* in the place of a request that is over */
    PyObject *entry;      /* the kind of span */
    PyObject *layer, *component;
    PyObject *no_correlation;
} known;

static const char *const known_names[] = {
    "namespace", "current", "suppressed", "peers", "templates", "unmatched", "over", "entry", "layer", "component",
    "no_correlation", NULL,
};

static PyObject *s_time, *s_clock, *s_samples_all, *s_open_segments, *s_wake, *s_real_path, *s_parameters_of,
    *s_offer, *s_tags;
static PyObject *zero, *one, *minus_one, *zero_seconds, *nothing, *no_text;

enum { MOST_NAME = 150, MOST_TAGS = 128 };

/* Whether an attribute is this object. */
static int
has(PyObject *object, PyObject *name, PyObject *value)
{
    PyObject *found = PyObject_GetAttr(object, name);
    int is = found == value;
    if (found == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(found);
    return is;
}

/* Whether the value of a context variable is this object. */
static int
holds(PyObject *variable, PyObject *value)
{
    PyObject *found;
    if (PyContextVar_Get(variable, NULL, &found) < 0) {
        PyErr_Clear();
        return 0;
    }
    Py_XDECREF(found);
    return found == value;
}

/* -- the begin ---------------------------------------------------------------------------------------------------- */

/* As `name_by_path`: a new reference; NULL without an exception where the name is not plain. */
static PyObject *
name_by_path(PyObject *method, PyObject *path)
{
    if (names_are_paths() || !PyUnicode_IS_COMPACT_ASCII(method) || !PyUnicode_IS_COMPACT_ASCII(path)) {
        return NULL;
    }
    Py_ssize_t first = PyUnicode_GET_LENGTH(method), second = PyUnicode_GET_LENGTH(path);
    if (first + 1 + second > MOST_NAME) {
        return NULL;
    }
    const unsigned char *letters = PyUnicode_1BYTE_DATA(path);
    for (Py_ssize_t at = 0; at < second; at++) {
        if (letters[at] < 0x20 || letters[at] > 0x7e) {
            return NULL;
        }
    }
    PyObject *name = PyUnicode_New(first + 1 + second, 127);
    if (name != NULL) {
        unsigned char *into = PyUnicode_1BYTE_DATA(name);
        memcpy(into, PyUnicode_1BYTE_DATA(method), (size_t)first);
        into[first] = ':';
        memcpy(into + first + 1, letters, (size_t)second);
    }
    return name;
}

static PyObject *
find_peer(PyObject *client)
{
    if (client == Py_None) {
        return Py_NewRef(no_text);
    }
    if (!PyTuple_CheckExact(client) || PyTuple_GET_SIZE(client) == 0) {
        return NULL;
    }
    return PyObject_GetItem(known.peers, client);
}

/* What the wall clock is ahead of the monotonic one: a new reference. */
static PyObject *
find_epoch(void)
{
    PyObject *module = PyDict_GetItemWithError(known.namespace, s_time);
    PyObject *function = module == NULL ? NULL : PyObject_GetAttr(module, s_time);
    PyObject *wall = function == NULL ? NULL : PyObject_CallNoArgs(function);
    double seconds = wall == NULL ? -1.0 : PyFloat_AsDouble(wall), now = wall == NULL ? -1.0 : monotonic_now();
    Py_XDECREF(function);
    Py_XDECREF(wall);
    return now < 0.0 || PyErr_Occurred() ? NULL : PyFloat_FromDouble(seconds - now);
}

typedef struct {
    Py_ssize_t place;
    PyObject *value;
} Field;

static void
fill(PyObject *object, const Field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        FIELD(object, fields[i].place) = Py_NewRef(fields[i].value);
    }
}

#define COUNT(fields) (sizeof(fields) / sizeof(fields[0]))

/* A span that is in no segment yet, and has no list of logs; NULL with an exception set. */
static PyObject *
make_span(Request *request, PyObject *name, PyObject *peer)
{
    PyObject *span = RequestSpan_Type->tp_alloc(RequestSpan_Type, 0), *epoch = NULL;
    if (span == NULL) {
        return NULL;
    }
    const Field fields[] = {
        {span_slots.name, name}, {span_slots.kind, known.entry}, {span_slots.peer, peer},
        {span_slots.layer, known.layer}, {span_slots.component, known.component}, {span_slots.carrier, Py_None},
        {span_slots.correlation, Py_None}, {span_slots.segment, Py_None}, {span_slots.id, minus_one},
        {span_slots.parent_id, minus_one}, {span_slots.refs, nothing}, {span_slots.failed, Py_False},
        {span_slots.ended, Py_False}, {span_slots.end_time, zero_seconds}, {span_slots.previous, Py_None},
        {span_slots.frame, Py_None}, {span_slots.task, zero}, {span_slots.tracer, request->tracer},
        {request_span_slots.pending, (PyObject *)request}, {request_span_slots.in_parts, Py_False},
        {request_span_slots.facts, Py_None},
    };
    fill(span, fields, COUNT(fields));
    FIELD(span, span_slots.tags) = PyList_New(0);
    epoch = FIELD(span, span_slots.epoch) = find_epoch();
    if (epoch != NULL) {
        FIELD(span, span_slots.start_time) = PyFloat_FromDouble(PyFloat_AS_DOUBLE(epoch) + request->start_time);
    }
    if (!FIELD(span, span_slots.tags) || !epoch || !FIELD(span, span_slots.start_time)) {
        Py_CLEAR(span);
    }
    return span;
}

/* By the tracer's clock: a new reference; NULL with an exception set. */
static PyObject *
tracer_now(PyObject *tracer)
{
    PyObject *clock = PyObject_GetAttr(tracer, s_clock);
    PyObject *now = clock == NULL ? NULL : PyObject_CallNoArgs(clock);
    Py_XDECREF(clock);
    return now;
}

/* The spans that are open in a segment: its root. */
static PyObject *
make_open(PyObject *span)
{
    PyObject *open = PyDict_New(), *held = open == NULL ? NULL : PyWeakref_NewRef(span, NULL);
    if (held == NULL || PyDict_SetItem(open, zero, held) < 0) {
        Py_CLEAR(open);
    }
    Py_XDECREF(held);
    return open;
}

/* The segment of a span, which the tracer does not watch yet. NULL where Python has to make it. */
static PyObject *
make_segment(Request *request, PyObject *span)
{
    PyObject *segment = Segment_Type->tp_alloc(Segment_Type, 0);
    if (segment == NULL) {
        return NULL;
    }
    const Field fields[] = {
        {segment_slots.tracer, request->tracer}, {segment_slots.limited, Py_False}, {segment_slots.finished, Py_False},
        {segment_slots.is_root_known, Py_False}, {segment_slots.on_join, Py_None}, {segment_slots.root_ended, Py_None},
        {segment_slots.root_segment, Py_None}, {segment_slots.correlation, known.no_correlation},
        {segment_slots.tracestate, no_text}, {segment_slots.endpoint, no_text},
        {segment_slots.shared_headers, Py_None}, {segment_slots.part, Py_None}, {segment_slots.is_closed, Py_False},
        {segment_slots.count, one},
    };
    fill(segment, fields, COUNT(fields));
    PyObject **const made[] = {
        &FIELD(segment, segment_slots.trace_id), &FIELD(segment, segment_slots.id), &FIELD(segment, segment_slots.spans),
        &FIELD(segment, segment_slots.since), &FIELD(segment, segment_slots.open),
    };
    *made[0] = request_id(request, 0);
    *made[1] = *made[0] == NULL ? NULL : request_id(request, 1);
    *made[2] = *made[1] == NULL ? NULL : PyList_New(0);
    *made[3] = *made[2] == NULL ? NULL : tracer_now(request->tracer);
    *made[4] = *made[3] == NULL ? NULL : make_open(span);
    if (*made[4] == NULL) {
        Py_CLEAR(segment);
    }
    return segment;
}

/* The request has this span from now on: 0 where it may not, and Python has to look. Nothing in here runs Python code. */
static int
open_with(Request *request, PyObject *span, PyObject *segment)
{
    PyObject *open_segments = PyObject_GetAttr(request->tracer, s_open_segments);
    int may = open_segments != NULL && PyDict_CheckExact(open_segments) && has(request->tracer, s_wake, Py_None) &&
              tracer_is_free(request->tracer) && request->span == Py_None && !request->ended;
    if (may && PyDict_SetItem(open_segments, segment, Py_None) < 0) {
        may = 0;
    }
    PyErr_Clear();
    if (may) {
        set_field(span, span_slots.id, Py_NewRef(zero));
        set_field(span, span_slots.segment, Py_NewRef(segment));
        Py_SETREF(request->span, Py_NewRef(span));
    }
    Py_XDECREF(open_segments);
    return may;
}

static int
is_recorded(Request *request, PyObject *name)
{
    return holds(known.suppressed, Py_False) && has(request->tracer, s_samples_all, Py_True) &&
           may_be_ignored(request, name) == 0;
}

static PyObject *
open_plainly(Request *request, Found *found)
{
    PyObject *name = name_by_path(found->method, found->path), *span = NULL, *segment = NULL;
    PyObject *peer = name == NULL || !is_recorded(request, name) ? NULL : find_peer(found->client);
    if (peer != NULL && PyUnicode_CheckExact(peer)) {
        span = make_span(request, name, peer);
        segment = span == NULL ? NULL : make_segment(request, span);
    }
    if (segment == NULL || !open_with(request, span, segment)) {
        Py_CLEAR(span);
    }
    Py_XDECREF(segment);
    Py_XDECREF(peer);
    Py_XDECREF(name);
    return span;
}

PyObject *
request_open_span(Request *request)
{
    if (known.namespace == NULL || RequestSpan_Type == NULL || request->span != Py_None || request->ended) {
        return NULL;
    }
    Found found = {0};
    find_target(request, &found);
    if (!found.plain) {
        return NULL;
    }
    /* the scope is the application's, which may change it meanwhile */
    Py_INCREF(found.method);
    Py_INCREF(found.path);
    Py_INCREF(found.client);
    PyObject *span = open_plainly(request, &found);
    Py_DECREF(found.method);
    Py_DECREF(found.path);
    Py_DECREF(found.client);
    /* Python tries again, and counts what fails there */
    drop_error();
    return span;
}

/* -- meanwhile ----------------------------------------------------------------------------------------------------- */

/* Whether the limit of names keeps this one. */
static int
is_admitted(PyObject *tracer, PyObject *name)
{
    PyObject *limit = Py_TYPE(tracer) == Tracer_Type ? FIELD(tracer, tracer_slots.endpoints) : NULL;
    PyObject *names = limit != NULL && Py_TYPE(limit) == Limit_Type ? FIELD(limit, limit_slots.known) : NULL;
    return names != NULL && PySet_CheckExact(names) && PySet_Contains(names, name) == 1;
}

PyObject *
name_operation(PyObject *span)
{
    Request *request = (Request *)FIELD(span, request_span_slots.pending);
    if (known.namespace == NULL || request == NULL || !PyObject_TypeCheck((PyObject *)request, Request_Type) ||
        request->ended || request->facts != Py_None || FIELD(span, span_slots.ended) != Py_False) {
        return NULL;
    }
    Py_INCREF(request);
    Found found = {0};
    find_facts(request, &found);
    PyObject *name = NULL;
    if (found.plain) {
        PyObject *method = Py_NewRef(found.method), *path = Py_NewRef(found.path);
        name = find_name(method, path, found.template);
        Py_DECREF(path);
        Py_DECREF(method);
    }
    if (name != NULL && !(PyUnicode_CheckExact(name) && is_admitted(request->tracer, name))) {
        Py_CLEAR(name);
    }
    Py_XDECREF(found.template);
    Py_DECREF(request);
    return name;
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

/* The tags of the times of a request, which are few that come again and again. Each entry holds its times, so no other
 * object can have their address. */
#define TIMES 256
static struct {
    PyObject *times, *tags;
} known_tags[TIMES];

/* A new reference; NULL with an exception set. */
static PyObject *
tags_of_times(PyObject *times)
{
    if (times == Py_None) {
        return Py_NewRef(nothing);
    }
    size_t at = ((uintptr_t)times >> 4) % TIMES;
    if (known_tags[at].times == times) {
        return Py_NewRef(known_tags[at].tags);
    }
    PyObject *tags = PyObject_CallMethodNoArgs(times, s_tags);
    if (tags != NULL && !PyTuple_CheckExact(tags)) {
        Py_CLEAR(tags);
    }
    if (tags != NULL) {
        Py_XSETREF(known_tags[at].times, Py_NewRef(times));
        Py_XSETREF(known_tags[at].tags, Py_NewRef(tags));
    }
    return tags;
}

/* What the end of a request writes into its span. All are references of this. */
typedef struct {
    PyObject *described, *tags, *end_time, *root_ended, *facts;
} End;

static void
end_clear(End *end)
{
    Py_CLEAR(end->described);
    Py_CLEAR(end->tags);
    Py_CLEAR(end->end_time);
    Py_CLEAR(end->root_ended);
    Py_CLEAR(end->facts);
}

/* As `describe`: a new reference, or NULL. */
static PyObject *
describe(Found *found, PyObject *status)
{
    if (names_are_paths() || found->template == known.unmatched) {
        return NULL;
    }
    PyObject *key = PyTuple_Pack(7, found->method, found->scheme, found->host, no_text, found->template,
                                 found->component, status);
    PyObject *described = key == NULL ? NULL : PyObject_GetItem(known.templates, key);
    Py_XDECREF(key);
    if (described != NULL && Py_TYPE(described) != SpanTemplate_Type) {
        Py_CLEAR(described);
    }
    return described;
}

/* Whether the limits of names change nothing, and the span shows no more than its description. */
static int
shows_no_more(PyObject *tracer, PyObject *name)
{
    PyObject *parameters = PyObject_GetAttr(tracer, s_parameters_of);
    int is = parameters != NULL && PyAnySet_Check(parameters) && PySet_GET_SIZE(parameters) == 0 &&
             is_admitted(tracer, name) && has(tracer, s_real_path, Py_False);
    Py_XDECREF(parameters);
    PyErr_Clear();
    return is;
}

/* The tags of the description, of the times, and of the application; NULL where they are too many, or without memory. */
static PyObject *
join_tags(PyObject *described, PyObject *times, PyObject *own)
{
    PyObject *parts[2] = {FIELD(described, template_slots.tags), times};
    if (parts[0] == NULL || !PyTuple_CheckExact(parts[0]) || own == NULL || !PyList_CheckExact(own)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(parts[0]) + PyTuple_GET_SIZE(parts[1]), at = 0;
    PyObject *tags = PyList_New(count);
    if (tags == NULL) {
        return NULL;
    }
    for (int part = 0; part < 2; part++) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts[part]); i++) {
            PyList_SET_ITEM(tags, at++, Py_NewRef(PyTuple_GET_ITEM(parts[part], i)));
        }
    }
    /* another thread may add one until here */
    if (count + PyList_GET_SIZE(own) > MOST_TAGS || PyList_SetSlice(tags, count, count, own) < 0) {
        Py_CLEAR(tags);
    }
    return tags;
}

/* 1; 0 where Python has to look. */
static int
prepare_end(Request *request, PyObject *span, Found *found, End *end)
{
    PyObject *status = PyLong_FromLong(request->status), *epoch = FIELD(span, span_slots.epoch);
    double now = monotonic_now();
    if (status != NULL && now >= 0.0 && epoch != NULL && PyFloat_CheckExact(epoch)) {
        end->end_time = PyFloat_FromDouble(PyFloat_AS_DOUBLE(epoch) + now);
        end->facts = make_facts(found, status);
        end->described = describe(found, status);
    }
    Py_XDECREF(status);
    PyObject *described = end->described, *name = described == NULL ? NULL : FIELD(described, template_slots.name);
    if (end->end_time == NULL || end->facts == NULL || name == NULL ||
        FIELD(described, template_slots.component) == NULL || !shows_no_more(request->tracer, name)) {
        return 0;
    }
    now = monotonic_now();
    PyObject *times = now < 0.0 ? NULL : stop_clock(request, now);
    PyObject *more = times == NULL ? NULL : tags_of_times(times);
    end->tags = more == NULL ? NULL : join_tags(end->described, more, FIELD(span, span_slots.tags));
    end->root_ended = end->tags == NULL ? NULL : tracer_now(request->tracer);
    Py_XDECREF(times);
    Py_XDECREF(more);
    return end->root_ended != NULL;
}

/* The segment whose root this span is, if nothing is unusual: borrowed. */
static PyObject *
segment_of_root(PyObject *span)
{
    PyObject *segment = FIELD(span, span_slots.segment);
    if (segment == NULL || Py_TYPE(segment) != Segment_Type || FIELD(span, span_slots.id) != zero ||
        FIELD(span, span_slots.ended) != Py_False || FIELD(segment, segment_slots.finished) != Py_False ||
        FIELD(segment, segment_slots.root_segment) != Py_None || FIELD(segment, segment_slots.part) != Py_None) {
        return NULL;
    }
    PyObject *open = FIELD(segment, segment_slots.open), *spans = FIELD(segment, segment_slots.spans);
    int is_plain = open != NULL && PyDict_CheckExact(open) && spans != NULL && PyList_CheckExact(spans);
    return is_plain ? segment : NULL;
}

/* As `Segment.leave`, of its root. 0 where Python has to. Nothing in here runs Python code until all is written. */
static int
leave(Request *request, PyObject *span, PyObject *segment, End *end)
{
    if (!tracer_is_free(request->tracer) || request->span != span || request->ended || segment_of_root(span) != segment ||
        PyList_Append(FIELD(segment, segment_slots.spans), span) < 0) {
        PyErr_Clear();
        return 0;
    }
    PyObject *described = end->described, *open = FIELD(segment, segment_slots.open);
    PyObject *name = FIELD(described, template_slots.name);
    if (FIELD(described, template_slots.failed) == Py_True) {
        set_field(span, span_slots.failed, Py_NewRef(Py_True));
    }
    set_field(span, span_slots.end_time, Py_NewRef(end->end_time));
    set_field(span, span_slots.ended, Py_NewRef(Py_True));
    if (PyDict_DelItem(open, zero) < 0) {
        PyErr_Clear();
    }
    set_field(segment, segment_slots.root_ended, Py_NewRef(end->root_ended));
    set_field(segment, segment_slots.endpoint, Py_NewRef(name));
    if (PyDict_GET_SIZE(open) == 0) {
        set_field(segment, segment_slots.finished, Py_NewRef(Py_True));
    }
    set_field(span, span_slots.name, Py_NewRef(name));
    set_field(span, span_slots.component, Py_NewRef(FIELD(described, template_slots.component)));
    set_field(span, span_slots.frame, Py_NewRef(Py_None));
    set_field(span, span_slots.tags, Py_NewRef(end->tags));
    return 1;
}

/* As `Tracer.finish`. */
static int
hand_on(PyObject *tracer, PyObject *segment)
{
    PyObject *open_segments = PyObject_GetAttr(tracer, s_open_segments);
    if (open_segments == NULL) {
        return -1;
    }
    if (PyDict_CheckExact(open_segments) && PyDict_DelItem(open_segments, segment) < 0) {
        PyErr_Clear();
    }
    Py_DECREF(open_segments);
    PyObject *offer = PyObject_GetAttr(tracer, s_offer);
    PyObject *done = offer == NULL ? NULL : PyObject_CallOneArg(offer, segment);
    PyObject *spans = done == NULL ? NULL : PyList_New(0);
    Py_XDECREF(offer);
    Py_XDECREF(done);
    if (spans == NULL) {
        return -1;
    }
    set_field(segment, segment_slots.spans, spans);
    return 0;
}

/* As `PendingRequest.end`, and the rest of `RequestSpan.stop`. */
static int
end_request(Request *request, PyObject *span, End *end)
{
    double now = monotonic_now();
    if (now < 0.0) {
        return -1;
    }
    PyObject *scope = request->scope;
    request->end_time = now;
    request->ended = 1;
    Py_SETREF(request->facts, Py_NewRef(end->facts));
    request->scope = Py_NewRef(no_scope());
    Py_DECREF(scope);
    set_field(span, request_span_slots.pending, Py_NewRef(known.over));
    return 0;
}

static int
end_plainly(Request *request, PyObject *span, PyObject *segment, Found *found)
{
    End end = {0};
    int done = prepare_end(request, span, found, &end) && leave(request, span, segment, &end);
    drop_error();
    if (done) {
        int is_over = FIELD(segment, segment_slots.finished) == Py_True;
        done = (is_over && hand_on(request->tracer, segment) < 0) || end_request(request, span, &end) < 0 ? -1 : 1;
    }
    end_clear(&end);
    return done;
}

static int
has_plain_span(Request *request, PyObject *span)
{
    return known.namespace != NULL && RequestSpan_Type != NULL && Py_TYPE(span) == RequestSpan_Type &&
           request->previous == Py_None && FIELD(span, request_span_slots.pending) == (PyObject *)request &&
           FIELD(span, span_slots.previous) == Py_None &&
           (request->clock == Py_None || Py_TYPE(request->clock) == Served_Type) && !holds(known.current, span);
}

int
request_end_span(Request *request)
{
    if (request->span == NULL || !has_plain_span(request, request->span)) {
        return 0;
    }
    PyObject *span = Py_NewRef(request->span), *segment = segment_of_root(span);
    Py_XINCREF(segment);
    Found found = {0};
    if (segment != NULL) {
        find_facts(request, &found);
    }
    int done = 0;
    if (found.plain) {
        PyObject *const held[] = {found.method, found.scheme, found.host, found.path};
        for (size_t i = 0; i < COUNT(held); i++) {
            Py_INCREF(held[i]);
        }
        done = end_plainly(request, span, segment, &found);
        for (size_t i = 0; i < COUNT(held); i++) {
            Py_DECREF(held[i]);
        }
    }
    Py_XDECREF(found.template);
    Py_XDECREF(segment);
    Py_DECREF(span);
    return done;
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyObject *
configure_request_spans(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyObject *namespace = kwargs == NULL ? NULL : PyDict_GetItemString(kwargs, "namespace");
    if (namespace != NULL && !PyDict_Check(namespace)) {
        PyErr_SetString(PyExc_TypeError, "namespace is missing");
        return NULL;
    }
    if (set_known((PyObject **)&known, known_names, args, kwargs) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_request_spans", (PyCFunction)(void (*)(void))configure_request_spans, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the spans of requests know."},
    {NULL},
};

int
add_request_span(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_time, "time"}, {&s_clock, "clock"}, {&s_samples_all, "_samples_all"}, {&s_open_segments, "open_segments"},
        {&s_wake, "_wake"}, {&s_real_path, "real_path"}, {&s_parameters_of, "parameters_of"},
        {&s_offer, "_offer"}, {&s_tags, "tags"}, {&no_text, ""},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    zero = PyLong_FromLong(0);
    one = PyLong_FromLong(1);
    minus_one = PyLong_FromLong(-1);
    zero_seconds = PyFloat_FromDouble(0.0);
    nothing = PyTuple_New(0);
    if (!zero || !one || !minus_one || !zero_seconds || !nothing) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
