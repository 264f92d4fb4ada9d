/* A call's span: its begin, as `begin_call` in swagent/instrument/call.py, and its end, as `Span.stop`. Both are the plain
 * cases: a span that is no subclass, in a segment that has room. The rest is Python's, which then does all of it.
 */
#include "calls.h"
#include "lock.h"
#include "request_span.h"
#include "slots.h"

/* The objects of Python that this knows; set once, and held for ever. */
static struct {
    PyObject *current;     /* context variable: the active entry */
    PyObject *collection;  /* says which thread collects garbage, in a slot */
    PyObject *entry, *exit; /* kinds of spans */
    PyObject *suppressed;  /* context variable: the agent's own work */
    PyObject *setting_up;  /* context variable: a library's own work */
    PyObject *installed;   /* the list of tracers */
    PyObject *begin_otherwise; /* function: `begin_call` */
} known;

static PyObject *s_stop_at, *s_give_up, *s_stop_otherwise;
static Py_ssize_t place_of_thread;
static PyObject *zero_seconds, *minus_one, *no_refs, *zero;

/* -- what both look at ------------------------------------------------------------------------------------------- */

/* Whether a context variable may be set: before 3.12 not while garbage is collected. */
static int
may_switch(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return 1;
#else
    return FIELD(known.collection, place_of_thread) == zero;
#endif
}

static int
set_current(PyObject *entry)
{
    PyObject *token = PyContextVar_Set(known.current, entry);
    if (token != NULL) {
        Py_DECREF(token);
        return 0;
    }
    /* where only the token found no memory, CPython has set the variable all the same */
    PyObject *error = take_error(), *value = NULL;
    int is_set = PyContextVar_Get(known.current, NULL, &value) == 0 && value == entry;
    Py_XDECREF(value);
    PyErr_Clear();
    if (is_set) {
        Py_XDECREF(error);
        return 0;
    }
    give_back_error(error);
    return -1;
}

/* The value of a context variable: a new reference; None where there is none. NULL with an exception set. */
static PyObject *
value_of(PyObject *variable)
{
    PyObject *value;
    if (PyContextVar_Get(variable, NULL, &value) < 0) {
        return NULL;
    }
    return value != NULL ? value : Py_NewRef(Py_None);
}

static int
is_off(PyObject *variable)
{
    PyObject *value = value_of(variable);
    int is = value == Py_False;
    if (value == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(value);
    return is;
}

int
tracer_is_free(PyObject *tracer)
{
    PyObject *lock = Py_TYPE(tracer) == Tracer_Type ? FIELD(tracer, tracer_slots.lock) : NULL;
    return lock != NULL && lock_is_free_here(lock);
}

static int
is_open_here(PyObject *entry)
{
    return Py_TYPE(entry) == Span_Type && FIELD(entry, span_slots.ended) == Py_False &&
           FIELD(entry, span_slots.frame) == Py_None;
}

int
is_open_call(PyObject *entry)
{
    return is_open_here(entry) && FIELD(entry, span_slots.kind) == known.exit;
}

/* A segment that is open and of the plain class: borrowed, or NULL. */
static PyObject *
segment_of(PyObject *span)
{
    PyObject *segment = FIELD(span, span_slots.segment);
    return segment != NULL && Py_TYPE(segment) == Segment_Type &&
                   FIELD(segment, segment_slots.finished) == Py_False && FIELD(segment, segment_slots.tracer) != NULL
               ? segment
               : NULL;
}

/* -- the begin ---------------------------------------------------------------------------------------------------- */

enum { BY_PYTHON, INSIDE_CALL, BELOW };

/* What a call begins below. `entry` and `live` are references of this. */
typedef struct {
    PyObject *entry; /* what the context holds */
    PyObject *live;  /* its span */
} Parent;

static void
parent_clear(Parent *parent)
{
    Py_CLEAR(parent->entry);
    Py_CLEAR(parent->live);
}

/* The span of an open request, which is made now: a new reference; NULL without an exception where Python has to make it,
 * which it tries once. */
static PyObject *
span_of_request(Request *request)
{
    return request->span != NULL && request->span != Py_None ? Py_NewRef(request->span) : request_open_span(request);
}

/* -1 with an exception set. */
static int
find_parent(Parent *parent)
{
    PyObject *entry = parent->entry = value_of(known.current);
    if (entry == NULL) {
        return -1;
    }
    if (PyObject_TypeCheck(entry, Request_Type)) {
        if (((Request *)entry)->ended || ((Request *)entry)->tracer == NULL) {
            return BY_PYTHON;
        }
        parent->live = span_of_request((Request *)entry);
        return parent->live != NULL && is_span(parent->live) ? BELOW : BY_PYTHON;
    }
    if (!is_open_here(entry)) {
        return BY_PYTHON;
    }
    if (FIELD(entry, span_slots.kind) == known.exit) {
        return INSIDE_CALL;
    }
    parent->live = Py_NewRef(entry);
    return BELOW;
}

/* The number of the next span of a segment, if it takes one more: a new reference; NULL without an exception: Python. */
static PyObject *
next_number(PyObject *segment)
{
    PyObject *tracer = FIELD(segment, segment_slots.tracer), *open = FIELD(segment, segment_slots.open);
    PyObject *count = FIELD(segment, segment_slots.count);
    if (FIELD(segment, segment_slots.is_closed) != Py_False || FIELD(segment, segment_slots.on_join) != Py_None ||
        open == NULL || !PyDict_CheckExact(open) || count == NULL || !PyLong_CheckExact(count)) {
        return NULL;
    }
    if (!tracer_is_free(tracer)) {
        return NULL;
    }
    PyObject *limit = FIELD(tracer, tracer_slots.span_limit);
    if (limit == NULL || !PyLong_CheckExact(limit)) {
        return NULL;
    }
    long most = PyLong_AsLong(limit), number = PyLong_AsLong(count);
    if (number == -1 || most == -1) {
        PyErr_Clear();
    }
    return number >= 0 && number < most ? Py_NewRef(count) : NULL;
}

/* What is known of a call before it begins. */
typedef struct {
    PyObject *name, *peer, *layer, *component;
    PyObject *tags, *more_tags; /* tuples; NULL: there are none */
} Call;

static PyObject *
list_tags(const Call *call)
{
    PyObject *parts[2] = {call->tags, call->more_tags};
    Py_ssize_t count = 0;
    for (int part = 0; part < 2; part++) {
        count += parts[part] == NULL ? 0 : PyTuple_GET_SIZE(parts[part]);
    }
    PyObject *tags = PyList_New(count);
    if (tags == NULL) {
        return NULL;
    }
    for (int part = 1; part >= 0; part--) {
        for (Py_ssize_t i = parts[part] == NULL ? 0 : PyTuple_GET_SIZE(parts[part]); i > 0;) {
            PyList_SET_ITEM(tags, --count, Py_NewRef(PyTuple_GET_ITEM(parts[part], --i)));
        }
    }
    return tags;
}

/* A span whose fields are set, but for its logs, and which is in no segment yet. */
static PyObject *
make_span(const Call *call, Parent *parent, double now)
{
    PyObject *span = Span_Type->tp_alloc(Span_Type, 0);
    if (span == NULL) {
        return NULL;
    }
    PyObject *epoch = FIELD(parent->live, span_slots.epoch);
    const struct {
        Py_ssize_t place;
        PyObject *value;
    } fields[] = {
        {span_slots.name, call->name}, {span_slots.kind, known.exit}, {span_slots.peer, call->peer},
        {span_slots.layer, call->layer}, {span_slots.component, call->component}, {span_slots.carrier, Py_None},
        {span_slots.correlation, Py_None}, {span_slots.segment, Py_None}, {span_slots.id, minus_one},
        {span_slots.parent_id, minus_one}, {span_slots.refs, no_refs}, {span_slots.failed, Py_False},
        {span_slots.ended, Py_False}, {span_slots.end_time, zero_seconds}, {span_slots.epoch, epoch},
        {span_slots.previous, parent->entry}, {span_slots.frame, Py_None}, {span_slots.task, zero},
        {span_slots.tracer, Py_None},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        FIELD(span, fields[i].place) = Py_NewRef(fields[i].value);
    }
    FIELD(span, span_slots.tags) = list_tags(call);
    FIELD(span, span_slots.start_time) = PyFloat_FromDouble(PyFloat_AS_DOUBLE(epoch) + now);
    if (!FIELD(span, span_slots.tags) || !FIELD(span, span_slots.start_time)) {
        Py_CLEAR(span);
    }
    return span;
}

/* As `Segment.join`: 1, or 0 where Python has to find a place. -1 with an exception set. */
static int
join(PyObject *segment, PyObject *span, PyObject *live)
{
    PyObject *held = PyWeakref_NewRef(span, NULL);
    if (held == NULL) {
        return -1;
    }
    /* from here on nothing makes an object that the collector follows */
    PyObject *number = segment_of(live) == segment ? next_number(segment) : NULL;
    PyObject *next = number == NULL ? NULL : PyLong_FromLong(PyLong_AsLong(number) + 1);
    int done = number == NULL ? 0 : next == NULL ? -1 : 1;
    if (done == 1 && PyDict_SetItem(FIELD(segment, segment_slots.open), number, held) < 0) {
        done = -1;
    }
    if (done == 1) {
        set_field(segment, segment_slots.count, Py_NewRef(next));
        set_field(span, span_slots.id, Py_NewRef(number));
        set_field(span, span_slots.parent_id, Py_NewRef(FIELD(live, span_slots.id)));
        set_field(span, span_slots.segment, Py_NewRef(segment));
    }
    Py_XDECREF(number);
    Py_XDECREF(next);
    Py_DECREF(held);
    return done;
}

/* Begin below a parent: a new reference; NULL without an exception where Python has to. */
static PyObject *
begin_below(const Call *call, Parent *parent)
{
    PyObject *segment = segment_of(parent->live), *epoch = FIELD(parent->live, span_slots.epoch);
    if (segment == NULL || epoch == NULL || !PyFloat_CheckExact(epoch) || FIELD(parent->live, span_slots.id) == NULL) {
        return NULL;
    }
    if (!may_switch()) {
        return NULL;
    }
    /* a finaliser may move the root meanwhile */
    Py_INCREF(segment);
    double now = monotonic_now();
    PyObject *span = now < 0.0 ? NULL : make_span(call, parent, now);
    int done = span == NULL ? -1 : join(segment, span, parent->live);
    if (done > 0 && set_current(span) < 0) {
        done = -1;
    }
    if (done <= 0) {
        PyObject *error = take_error();
        Py_CLEAR(span);
        if (error != NULL) {
            give_back_error(error);
        }
    }
    Py_DECREF(segment);
    return span;
}

static int
may_begin(void)
{
    return Span_Type != NULL && known.begin_otherwise != NULL && PyList_GET_SIZE(known.installed) &&
           is_off(known.suppressed) && is_off(known.setting_up);
}

/* A new reference: the span, or None: the call has none. NULL without an exception where Python has to begin it. */
static PyObject *
begin_plainly(const Call *call)
{
    if (!may_begin()) {
        return NULL;
    }
    Parent parent = {NULL, NULL};
    PyObject *span = NULL;
    int found = find_parent(&parent);
    if (found == BELOW) {
        span = begin_below(call, &parent);
    }
    parent_clear(&parent);
    return span == NULL && found == INSIDE_CALL && !PyErr_Occurred() ? Py_NewRef(Py_None) : span;
}

PyObject *
begin_known_call(PyObject *name, PyObject *peer, PyObject *layer, PyObject *component, PyObject *tags)
{
    const Call call = {name, peer, layer, component, tags, NULL};
    return begin_plainly(&call);
}

static PyObject *
not_configured(void)
{
    PyErr_SetString(PyExc_TypeError, "not configured");
    return NULL;
}

static PyObject *
begin_call(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (names == NULL && (count == 4 || (count == 5 && PyTuple_CheckExact(args[4])))) {
        const Call call = {args[0], args[1], args[2], args[3], count == 5 ? args[4] : NULL, NULL};
        PyObject *span = begin_plainly(&call);
        if (span != NULL || PyErr_Occurred()) {
            return span;
        }
    }
    return known.begin_otherwise == NULL ? not_configured()
                                         : PyObject_Vectorcall(known.begin_otherwise, args, (size_t)count, names);
}

/* -- the begin of a query ----------------------------------------------------------------------------------------- */

/* Of Python: the class of databases, the layer of their spans, the tags of statements by their text, the module's names of
 * the settings, and the function that begins every other query. */
static struct {
    PyObject *database_type, *layer, *said, *settings, *otherwise;
} queries;

/* The settings that were looked at last, which show no more of a query than its tags. They do not change. */
static PyObject *plain_settings;
static PyObject *s_current, *s_sql_statements, *s_parameters;

static int
is_false_or_zero(PyObject *settings, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(settings, name);
    int is = value == Py_False || (value != NULL && PyLong_CheckExact(value) && PyLong_AsLong(value) == 0);
    Py_XDECREF(value);
    PyErr_Clear();
    return is;
}

static int
show_tags_only(PyObject *settings)
{
    return is_false_or_zero(settings, s_sql_statements) && is_false_or_zero(settings, s_parameters);
}

int
have_plain_settings(PyObject *names, PyObject **last, int (*are_plain)(PyObject *settings))
{
    PyObject *settings = PyDict_GetItemWithError(names, s_current);
    if (settings == NULL) {
        PyErr_Clear();
        return 0;
    }
    if (settings == *last) {
        return 1;
    }
    Py_INCREF(settings);
    if (!are_plain(settings)) {
        Py_DECREF(settings);
        return 0;
    }
    Py_XSETREF(*last, settings);
    return 1;
}

/* The tags of a statement that has come before, None where it has no span: borrowed. NULL without an exception where
 * Python has to find them. */
static PyObject *
find_said(PyObject *statement)
{
    if (!PyUnicode_CheckExact(statement)) {
        return NULL;
    }
    PyObject *said = PyDict_GetItemWithError(queries.said, statement);
    if (said == NULL) {
        PyErr_Clear();
    }
    return said == Py_None || (said != NULL && PyTuple_CheckExact(said)) ? said : NULL;
}

PyObject *
begin_known_query(PyObject *name, PyObject *database, PyObject *statement)
{
    if (queries.otherwise == NULL || (PyObject *)Py_TYPE(database) != queries.database_type ||
        !have_plain_settings(queries.settings, &plain_settings, show_tags_only)) {
        return NULL;
    }
    PyObject *tags = PyTuple_GET_ITEM(database, 2), *said = Py_XNewRef(find_said(statement)), *span = NULL;
    if (said == Py_None) {
        return said;
    }
    if (said != NULL && PyTuple_CheckExact(tags)) {
        const Call call = {name, PyTuple_GET_ITEM(database, 0), queries.layer, PyTuple_GET_ITEM(database, 1), tags, said};
        span = begin_plainly(&call);
    }
    Py_XDECREF(said);
    return span;
}

static PyObject *
begin_query(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (names == NULL && (count == 3 || count == 4)) {
        PyObject *span = begin_known_query(args[0], args[1], args[2]);
        if (span != NULL || PyErr_Occurred()) {
            return span;
        }
    }
    return queries.otherwise == NULL ? not_configured()
                                     : PyObject_Vectorcall(queries.otherwise, args, (size_t)count, names);
}

static PyObject *
configure_queries(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"database_type", "layer", "said", "settings", "otherwise", NULL};
    if (set_known(&queries.database_type, names, args, kwargs) < 0) {
        return NULL;
    }
    if (!PyType_Check(queries.database_type) || !PyType_IsSubtype((PyTypeObject *)queries.database_type, &PyTuple_Type) ||
        !PyDict_Check(queries.said) || !PyDict_Check(queries.settings)) {
        Py_CLEAR(queries.otherwise);
        PyErr_SetString(PyExc_TypeError, "a named tuple, and two dicts");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

/* Whether what was active before is open, so that it is active again. */
static int
is_open(PyObject *entry)
{
    if (PyObject_TypeCheck(entry, Request_Type)) {
        return !((Request *)entry)->ended;
    }
    return Py_TYPE(entry) == Span_Type && FIELD(entry, span_slots.ended) == Py_False;
}

/* As `Span.prepare_end`: whether there is nothing to settle. */
static int
is_settled(PyObject *span, PyObject *tracer)
{
    PyObject *kind = FIELD(span, span_slots.kind), *peer = FIELD(span, span_slots.peer);
    if (kind != known.exit || peer == NULL || !PyUnicode_CheckExact(peer)) {
        return kind != known.exit && kind != known.entry;
    }
    if (!PyUnicode_GET_LENGTH(peer)) {
        return 1;
    }
    PyObject *peers = Py_TYPE(tracer) == Tracer_Type ? FIELD(tracer, tracer_slots.peers) : NULL;
    PyObject *names = peers != NULL && Py_TYPE(peers) == Limit_Type ? FIELD(peers, limit_slots.known) : NULL;
    int is = names != NULL && PySet_CheckExact(names) ? PySet_Contains(names, peer) : 0;
    if (is < 0) {
        PyErr_Clear();
    }
    return is == 1;
}

/* As `Segment.leave`, of a span that is not its root and not the last one. 0 where Python has to. */
static int
leave_segment(PyObject *segment, PyObject *span, PyObject *end_time)
{
    PyObject *number = FIELD(span, span_slots.id), *tracer = FIELD(segment, segment_slots.tracer);
    if (number == NULL || !PyLong_CheckExact(number) || number == zero || !is_settled(span, tracer) ||
        !tracer_is_free(tracer) || segment_of(span) != segment) {
        return 0;
    }
    PyObject *open = FIELD(segment, segment_slots.open), *spans = FIELD(segment, segment_slots.spans);
    if (FIELD(span, span_slots.ended) != Py_False || open == NULL || !PyDict_CheckExact(open) ||
        PyDict_GET_SIZE(open) < 2 || spans == NULL || !PyList_CheckExact(spans)) {
        return 0;
    }
    PyObject *held = PyDict_GetItemWithError(open, number);
    if (held == NULL || PyList_Append(spans, span) < 0) {
        PyErr_Clear();
        return 0;
    }
    /* the collector makes nothing of these lines, and the weak reference has no callback */
    set_field(span, span_slots.end_time, Py_NewRef(end_time));
    set_field(span, span_slots.ended, Py_NewRef(Py_True));
    if (PyDict_DelItem(open, number) < 0) {
        PyErr_Clear();
    }
    return 1;
}

static int
leave(PyObject *span, PyObject *end_time)
{
    PyObject *segment = segment_of(span);
    Py_XINCREF(segment);
    int done = segment != NULL && leave_segment(segment, span, end_time);
    Py_XDECREF(segment);
    return done;
}

/* Python ends it at the time that C has read. */
static PyObject *
stop_at(PyObject *span, PyObject *end_time)
{
    return PyObject_CallMethodOneArg(span, s_stop_at, end_time);
}

/* As `Span.stop_at`: what was active before is active again, and the segment notes the end. */
static PyObject *
stop_plainly(PyObject *span, PyObject *end_time)
{
    PyObject *active = value_of(known.current), *previous = FIELD(span, span_slots.previous);
    if (active == NULL) {
        return NULL;
    }
    int is_active = active == span;
    Py_DECREF(active);
    if (previous == NULL || !is_open(previous) || segment_of(span) == NULL || (is_active && !may_switch())) {
        return stop_at(span, end_time);
    }
    Py_INCREF(previous);
    int failed = is_active ? set_current(previous) : 0;
    Py_DECREF(previous);
    if (failed) {
        return NULL;
    }
    set_field(span, span_slots.frame, Py_NewRef(Py_None));
    if (!leave(span, end_time)) {
        return stop_at(span, end_time);
    }
    Py_RETURN_NONE;
}

PyObject *
span_stop(PyObject *span, PyObject *Py_UNUSED(nothing))
{
    PyObject *epoch = FIELD(span, span_slots.epoch), *start = FIELD(span, span_slots.start_time);
    if (Py_TYPE(span) != Span_Type || epoch == NULL || !PyFloat_CheckExact(epoch) || start == NULL ||
        !PyFloat_CheckExact(start)) {
        return PyObject_CallMethodNoArgs(span, s_stop_otherwise);
    }
    if (FIELD(span, span_slots.ended) != Py_False || PyFloat_AS_DOUBLE(start) == 0.0) {
        Py_RETURN_NONE;
    }
    double now = monotonic_now();
    PyObject *end_time = now < 0.0 ? NULL : PyFloat_FromDouble(PyFloat_AS_DOUBLE(epoch) + now);
    PyObject *done = end_time == NULL ? NULL : stop_plainly(span, end_time);
    Py_XDECREF(end_time);
    return done;
}

/* As `Span.__del__`: nearly every span has ended by then. Half made, it has recorded nothing. */
static PyObject *
span_del(PyObject *span, PyObject *Py_UNUSED(nothing))
{
    PyObject *ended = FIELD(span, span_slots.ended), *segment = FIELD(span, span_slots.segment);
    if (ended == NULL || ended == Py_True || segment == NULL || segment == Py_None) {
        Py_RETURN_NONE;
    }
    return PyObject_CallMethodNoArgs(span, s_give_up);
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyMethodDef stop_method = {"stop", span_stop, METH_NOARGS, "End now. A second stop does nothing."};
static PyMethodDef del_method = {"__del__", span_del, METH_NOARGS, "What it has recorded is still there."};

static int
put_method(PyMethodDef *method)
{
    PyObject *descriptor = PyDescr_NewMethod(Span_Type, method);
    int failed = descriptor == NULL ? -1 : PyObject_SetAttrString((PyObject *)Span_Type, method->ml_name, descriptor);
    Py_XDECREF(descriptor);
    return failed;
}

static PyObject *
configure_spans(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"current", "collection", "entry", "exit_", NULL};
    PyObject *current, *collection, *entry, *exit_kind;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO", names, &current, &collection, &entry, &exit_kind)) {
        return NULL;
    }
    if (Span_Type == NULL) {
        PyErr_SetString(PyExc_TypeError, "the slots first");
        return NULL;
    }
    static const char *const slot_names[] = {"thread", NULL};
    if (find_slots(Py_TYPE(collection), slot_names, &place_of_thread) < 0) {
        return NULL;
    }
    Py_XSETREF(known.current, Py_NewRef(current));
    Py_XSETREF(known.collection, Py_NewRef(collection));
    Py_XSETREF(known.entry, Py_NewRef(entry));
    Py_XSETREF(known.exit, Py_NewRef(exit_kind));
    if (put_method(&stop_method) < 0 || put_method(&del_method) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
configure_calls(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"suppressed", "is_setting_up", "installed", "otherwise", NULL};
    PyObject *suppressed, *setting_up, *installed, *otherwise;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!O", names, &suppressed, &setting_up, &PyList_Type, &installed,
                                     &otherwise)) {
        return NULL;
    }
    Py_XSETREF(known.suppressed, Py_NewRef(suppressed));
    Py_XSETREF(known.setting_up, Py_NewRef(setting_up));
    Py_XSETREF(known.installed, Py_NewRef(installed));
    Py_XSETREF(known.begin_otherwise, Py_NewRef(otherwise));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_spans", (PyCFunction)(void (*)(void))configure_spans, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that spans know, and the methods of theirs that C has."},
    {"configure_calls", (PyCFunction)(void (*)(void))configure_calls, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the begin of a call knows."},
    {"configure_queries", (PyCFunction)(void (*)(void))configure_queries, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the begin of a query knows."},
    {"begin_query", (PyCFunction)(void (*)(void))begin_query, METH_FASTCALL | METH_KEYWORDS,
     "Begin the exit span of a query, as `begin_call`."},
    {"begin_call", (PyCFunction)(void (*)(void))begin_call, METH_FASTCALL | METH_KEYWORDS,
     "Begin the exit span of a call, and make it the active one. None: it has none."},
    {NULL},
};

int
add_calls(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_stop_at, "stop_at"}, {&s_give_up, "_give_up"},
        {&s_stop_otherwise, "_stop_otherwise"}, {&s_current, "_current"}, {&s_sql_statements, "sql_statements"},
        {&s_parameters, "sql_parameters_max_length"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    zero_seconds = PyFloat_FromDouble(0.0);
    minus_one = PyLong_FromLong(-1);
    zero = PyLong_FromLong(0);
    no_refs = PyTuple_New(0);
    if (!zero_seconds || !minus_one || !zero || !no_refs) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
