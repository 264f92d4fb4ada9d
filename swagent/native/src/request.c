/* A request while it is served: the fast path of swagent/request/state.py. */
#include "clock.h"
#include "facts.h"
#include "pool.h"
#include "request_span.h"

/* The objects of Python that the fast path knows; set once by `configure`. */
static struct {
    PyObject *current;       /* context variable: the active entry */
    PyObject *suppressed;    /* context variable: the agent's own work */
    PyObject *numbers;       /* the counter of ids */
    PyObject *unread;        /* a header that has not been looked for yet */
    PyObject *nothing;       /* an empty scope */
    PyObject *methods;       /* the known methods */
    PyObject *other;         /* in the place of an unknown method */
    PyObject *path_of;       /* function: a route's template */
    PyObject *fastapi;       /* the component */
    PyObject *is_fastapi;    /* function: whether a class of applications is FastAPI's */
} known;

static const char *const known_names[] = {
    "current", "suppressed", "numbers", "unread", "nothing", "methods", "other", "path_of", "fastapi",
    "is_fastapi", NULL,
};

/* Interned names, so that a look into a dict compares addresses. */
static PyObject *s_decides_late, *s_offer_request, *s_trust_incoming, *s_open_among, *s_finish_otherwise,
    *s_type, *s_http, *s_method, *s_scheme, *s_path, *s_client, *s_headers, *s_route, *s_fastapi, *s_app,
    *s_effective, *s_app_root_path, *s_root_path, *s_stop;

static Pool pool;

/* -- what is remembered by address ------------------------------------------------------------------------------- */

/* Of a few routes and classes; each entry holds its key, so no other object can have its address. */
#define SLOTS 256
typedef struct {
    PyObject *key;
    PyObject *value;
} Slot;
static Slot routes[SLOTS], classes[SLOTS];

/* What a pure function of Python says of an object: borrowed, or NULL with an exception set. */
static PyObject *
remembered(Slot *slots, PyObject *key, PyObject *function)
{
    Slot *slot = &slots[((uintptr_t)key >> 4) % SLOTS];
    if (slot->key == key) {
        return slot->value;
    }
    PyObject *value = PyObject_CallOneArg(function, key);
    if (value == NULL) {
        return NULL;
    }
    PyObject *old_key = slot->key, *old_value = slot->value;
    slot->key = Py_NewRef(key);
    slot->value = value;
    Py_XDECREF(old_key);
    Py_XDECREF(old_value);
    return slot->key == key ? slot->value : value;
}

/* -- the beginning ------------------------------------------------------------------------------------------------ */

static int
is_suppressed(void)
{
    PyObject *value;
    if (PyContextVar_Get(known.suppressed, NULL, &value) < 0) {
        return -1;
    }
    int suppressed = value != NULL && value != Py_False && PyObject_IsTrue(value);
    Py_XDECREF(value);
    return suppressed;
}

/* The active entry around the request: a new reference, None where there is none. */
static PyObject *
find_inherited(Request *self)
{
    PyObject *inherited;
    if (PyContextVar_Get(known.current, NULL, &inherited) < 0) {
        return NULL;
    }
    if (inherited == NULL) {
        return Py_NewRef(Py_None);
    }
    if (Py_TYPE(inherited) == Py_TYPE(self)) {
        Request *earlier = (Request *)inherited;
        /* the request before this one, in a server that keeps one context for a connection */
        if (earlier->ended && earlier->previous == Py_None) {
            Py_DECREF(inherited);
            return Py_NewRef(Py_None);
        }
    }
    return inherited;
}

/* Whether the request alone decides if it is recorded. */
static int
decides_alone(Request *self)
{
    if (self->previous != Py_None) {
        return 0;
    }
    PyObject *late = PyObject_GetAttr(self->tracer, s_decides_late);
    if (late == NULL) {
        return -1;
    }
    int decides = PyObject_IsTrue(late);
    Py_DECREF(late);
    if (decides <= 0) {
        return decides;
    }
    int suppressed = is_suppressed();
    return suppressed < 0 ? -1 : !suppressed;
}

int
request_begin(Request *self, PyObject *tracer, PyObject *scope, PyObject *faults)
{
    if (self->tracer != NULL || known.current == NULL) {
        PyErr_SetString(PyExc_TypeError, "a request begins once, and after `configure`");
        return -1;
    }
    self->number = Py_TYPE(known.numbers)->tp_iternext(known.numbers);
    if (self->number == NULL) {
        return -1;
    }
    self->tracer = Py_NewRef(tracer);
    self->scope = Py_NewRef(scope);
    self->faults = Py_NewRef(faults);
    self->span = Py_NewRef(Py_None);
    self->following = Py_NewRef(Py_None);
    self->trace_id = Py_NewRef(Py_None);
    self->facts = Py_NewRef(Py_None);
    self->host = Py_NewRef(Py_None);
    self->clock = Py_NewRef(Py_None);
    self->caller = Py_NewRef(known.unread);
    self->previous = find_inherited(self);
    if (self->previous == NULL) {
        self->previous = Py_NewRef(Py_None);
        return -1;
    }
    self->start_time = monotonic_now();
    if (self->start_time < 0.0) {
        return -1;
    }
    PyObject *token = PyContextVar_Set(known.current, (PyObject *)self);
    if (token == NULL) {
        return -1;
    }
    Py_DECREF(token);
    int alone = decides_alone(self);
    if (alone != 0) {
        return alone < 0 ? -1 : 0;
    }
    PyObject *done = PyObject_CallMethodOneArg((PyObject *)self, s_open_among, self->previous);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int
request_init(Request *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"tracer", "scope", "faults", NULL};
    PyObject *tracer, *scope, *faults;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO", names, &tracer, &scope, &faults)) {
        return -1;
    }
    return request_begin(self, tracer, scope, faults);
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

static PyObject *
get(PyObject *dict, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL && PyErr_Occurred()) {
        PyErr_Clear();
    }
    return value;
}

static int
is_named(PyObject *name, const char *letters, Py_ssize_t length)
{
    return PyBytes_GET_SIZE(name) == length && memcmp(PyBytes_AS_STRING(name), letters, length) == 0;
}

/* As `read_headers`: the host, and the `sw8` if there is exactly one. Anything else is for Python. */
static void
read_headers(PyObject *headers, Found *found)
{
    if (headers == NULL || !PyList_CheckExact(headers)) {
        return;
    }
    int callers = 0;
    found->host = found->caller = Py_None;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
        PyObject *pair = PyList_GET_ITEM(headers, i);
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
            return;
        }
        PyObject *name = PyTuple_GET_ITEM(pair, 0), *value = PyTuple_GET_ITEM(pair, 1);
        if (!PyBytes_CheckExact(name) || !PyBytes_CheckExact(value)) {
            return;
        }
        if (is_named(name, "host", 4)) {
            found->host = found->host == Py_None ? value : found->host;
        }
        else if (is_named(name, "sw8", 3)) {
            found->caller = value;
            callers++;
        }
        else if (is_named(name, "traceparent", 11)) {
            /* it may open the span */
            return;
        }
    }
    found->plain = callers <= 1 && found->host != Py_None;
}

/* The template of the route: a new reference, or NULL where Python has to look, without an exception. */
static PyObject *
read_template(PyObject *scope)
{
    PyObject *path = NULL, *included = NULL, *shared = get(scope, s_fastapi), *route;
    if (shared != NULL && PyDict_CheckExact(shared)) {
        included = get(shared, s_effective);
    }
    if (included != NULL && included != Py_None) {
        path = remembered(routes, included, known.path_of);
    }
    else if ((route = get(scope, s_route)) != NULL && route != Py_None) {
        path = remembered(routes, route, known.path_of);
    }
    if (path == NULL || !PyUnicode_CheckExact(path)) {
        drop_error();
        return NULL;
    }
    Py_INCREF(path);
    PyObject *root = get(scope, s_app_root_path);
    if (root != NULL && root != Py_None) {
        PyObject *now = get(scope, s_root_path);
        int is_same = now == root || (now != NULL && PyUnicode_CheckExact(now) && PyUnicode_CheckExact(root) &&
                                      PyUnicode_Compare(now, root) == 0);
        if (!is_same) {
            /* Starlette's mounts add to it */
            Py_DECREF(path);
            return NULL;
        }
    }
    return path;
}

static void
read_route(PyObject *scope, Found *found)
{
    found->template = read_template(scope);
    PyObject *app = get(scope, s_app);
    if (found->template == NULL || app == NULL) {
        return;
    }
    PyObject *is_fastapi = remembered(classes, (PyObject *)Py_TYPE(app), known.is_fastapi);
    if (is_fastapi != Py_True) {
        drop_error();
        return;
    }
    found->component = known.fastapi;
    found->plain = 1;
}

/* Method, path and client of a request over http. */
static void
read_target(PyObject *scope, Found *found)
{
    found->plain = 0;
    PyObject *type = get(scope, s_type);
    found->method = get(scope, s_method);
    found->path = get(scope, s_path);
    found->client = get(scope, s_client);
    if (type == NULL || !PyUnicode_CheckExact(type) || PyUnicode_Compare(type, s_http) != 0 || found->method == NULL ||
        !PyUnicode_CheckExact(found->method) || found->path == NULL || !PyUnicode_CheckExact(found->path)) {
        return;
    }
    int is_known = PySet_Contains(known.methods, found->method);
    if (is_known < 0) {
        PyErr_Clear();
        return;
    }
    found->method = is_known ? found->method : known.other;
    found->client = found->client == NULL ? Py_None : found->client;
    found->plain = 1;
}

static void
read_facts(PyObject *scope, Found *found)
{
    read_target(scope, found);
    if (!found->plain) {
        return;
    }
    found->plain = 0;
    found->scheme = get(scope, s_scheme);
    found->scheme = found->scheme == NULL ? s_http : found->scheme;
    read_route(scope, found);
}

/* As `Tracer.trusts` for a tracer that trusts every caller. */
static int
trusts_all(PyObject *tracer)
{
    PyObject *trust = PyObject_GetAttr(tracer, s_trust_incoming);
    int all = trust == Py_True;
    if (trust == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(trust);
    return all;
}

void
find_facts(Request *self, Found *found)
{
    PyObject *scope = self->scope;
    if (!PyDict_CheckExact(scope)) {
        return;
    }
    if (self->caller == known.unread) {
        read_headers(get(scope, s_headers), found);
        if (!found->plain || (found->caller != Py_None && !trusts_all(self->tracer))) {
            found->plain = 0;
            return;
        }
    }
    else {
        found->host = self->host;
        found->caller = self->caller;
        if (found->host == Py_None) {
            return;
        }
    }
    read_facts(scope, found);
}

void
find_target(Request *self, Found *found)
{
    PyObject *scope = self->scope;
    if (!PyDict_CheckExact(scope)) {
        return;
    }
    read_headers(get(scope, s_headers), found);
    if (!found->plain || found->caller != Py_None) {
        found->plain = 0;
        return;
    }
    if (self->caller == known.unread) {
        Py_SETREF(self->host, Py_NewRef(found->host));
        Py_SETREF(self->caller, Py_NewRef(Py_None));
    }
    read_target(scope, found);
}

PyObject *
no_scope(void)
{
    return known.nothing;
}

int
request_has_no_caller(Request *self)
{
    if (self->caller == known.unread) {
        Found found = {0};
        if (!PyDict_CheckExact(self->scope)) {
            return 0;
        }
        read_headers(get(self->scope, s_headers), &found);
        if (!found.plain || found.caller != Py_None) {
            return 0;
        }
        Py_SETREF(self->host, Py_NewRef(found.host));
        Py_SETREF(self->caller, Py_NewRef(Py_None));
    }
    return self->caller == Py_None;
}

PyObject *
make_facts(Found *found, PyObject *status)
{
    return PyTuple_Pack(7, found->method, found->scheme, found->host, found->path, found->template, found->component,
                        status);
}

PyObject *
stop_clock(Request *self, double now)
{
    if (self->clock == Py_None) {
        return Py_NewRef(Py_None);
    }
    PyObject *clock = Py_NewRef(self->clock), *times;
    if (Py_TYPE(clock) == Served_Type) {
        times = clock_stop((Served *)clock, now);
    }
    else {
        PyObject *seconds = PyFloat_FromDouble(now);
        times = seconds == NULL ? NULL : PyObject_CallMethodOneArg(clock, s_stop, seconds);
        Py_XDECREF(seconds);
    }
    Py_DECREF(clock);
    return times;
}

/* One step for another thread that opens the span: nothing in here runs Python code before the fields are set. */
static int
end_plainly(Request *self, Rows *rows, Found *found)
{
    double now = monotonic_now();
    /* a second stop, by another thread that opens the span, changes nothing */
    PyObject *times = now < 0.0 ? NULL : stop_clock(self, now);
    if (times == NULL || self->span != Py_None || self->ended) {
        Py_XDECREF(times);
        return times == NULL ? -1 : 0;
    }
    PyObject *status = PyLong_FromLong(self->status);
    PyObject *start = PyFloat_FromDouble(self->start_time), *end = PyFloat_FromDouble(now);
    PyObject *facts = status == NULL ? NULL : make_facts(found, status);
    if (status == NULL || start == NULL || end == NULL || facts == NULL) {
        Py_XDECREF(status);
        Py_XDECREF(start);
        Py_XDECREF(end);
        Py_XDECREF(facts);
        Py_DECREF(times);
        return -1;
    }
    PyObject *fields[ROW_FIELDS] = {
        Py_NewRef(self->number), start, end, Py_NewRef(found->client), Py_NewRef(found->caller), times,
        Py_NewRef(found->method), Py_NewRef(found->scheme), Py_NewRef(found->host), Py_NewRef(found->path),
        Py_NewRef(found->template), Py_NewRef(found->component), status,
    };
    PyObject *scope = self->scope, *caller = self->caller, *former = self->facts;
    self->end_time = now;
    self->ended = 1;
    self->caller = Py_NewRef(found->caller);
    self->facts = facts;
    self->scope = Py_NewRef(known.nothing);
    int failed = rows_append(rows, fields);
    Py_DECREF(scope);
    Py_DECREF(caller);
    Py_DECREF(former);
    return failed;
}

static int
finish_otherwise(Request *self)
{
    PyObject *done = PyObject_CallMethodNoArgs((PyObject *)self, s_finish_otherwise);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

int
request_finish(Request *self)
{
    if (self->span != Py_None || self->ended) {
        int done = self->ended ? 1 : request_end_span(self);
        return done ? (done < 0 ? -1 : 0) : finish_otherwise(self);
    }
    PyObject *offer = PyObject_GetAttr(self->tracer, s_offer_request);
    if (offer == NULL) {
        return -1;
    }
    Found found = {0};
    if (Py_TYPE(offer) == Rows_Type) {
        find_facts(self, &found);
    }
    int failed = found.plain ? end_plainly(self, (Rows *)offer, &found) : finish_otherwise(self);
    Py_XDECREF(found.template);
    Py_DECREF(offer);
    return failed;
}

static PyObject *
request_finish_method(Request *self, PyObject *Py_UNUSED(nothing))
{
    if (request_finish(self) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

static PyObject *
request_is_stepped_here(Request *self, PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(self->steps > 0 && self->thread == PyThread_get_thread_ident());
}

static int
request_traverse(Request *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->tracer);
    Py_VISIT(self->scope);
    Py_VISIT(self->faults);
    Py_VISIT(self->span);
    Py_VISIT(self->following);
    Py_VISIT(self->caller);
    Py_VISIT(self->facts);
    Py_VISIT(self->previous);
    Py_VISIT(self->clock);
    return 0;
}

static int
request_clear(Request *self)
{
    Py_CLEAR(self->tracer);
    Py_CLEAR(self->scope);
    Py_CLEAR(self->faults);
    Py_CLEAR(self->number);
    Py_CLEAR(self->span);
    Py_CLEAR(self->following);
    Py_CLEAR(self->caller);
    Py_CLEAR(self->trace_id);
    Py_CLEAR(self->facts);
    Py_CLEAR(self->host);
    Py_CLEAR(self->previous);
    Py_CLEAR(self->clock);
    return 0;
}

/* Whether the objects of a type have what those of its base have and no more. */
static int
is_pooled(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    const unsigned long in_front = Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF;
#elif PY_VERSION_HEX >= 0x030B0000
    const unsigned long in_front = Py_TPFLAGS_MANAGED_DICT;
#else
    const unsigned long in_front = 0;
#endif
    return type->tp_basicsize == (Py_ssize_t)sizeof(Request) && !PyType_HasFeature(type, in_front) &&
           type->tp_free == PyObject_GC_Del;
}

Request *
request_new(PyTypeObject *type)
{
    if (!pool.count || !is_pooled(type)) {
        return (Request *)type->tp_alloc(type, 0);
    }
    Request *self = (Request *)pool_new(&pool, type);
    memset((char *)self + sizeof(PyObject), 0, sizeof(Request) - sizeof(PyObject));
    PyObject_GC_Track(self);
    return self;
}

static void
request_dealloc(Request *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    request_clear(self);
    if (is_pooled(type)) {
        pool_free(&pool, (PyObject *)self);
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
}

static PyMemberDef request_members[] = {
    {"tracer", T_OBJECT, offsetof(Request, tracer), 0, NULL},
    {"scope", T_OBJECT, offsetof(Request, scope), 0, NULL},
    {"faults", T_OBJECT, offsetof(Request, faults), 0, NULL},
    {"number", T_OBJECT, offsetof(Request, number), 0, NULL},
    {"span", T_OBJECT, offsetof(Request, span), 0, NULL},
    {"following", T_OBJECT, offsetof(Request, following), 0, NULL},
    {"previous", T_OBJECT, offsetof(Request, previous), 0, NULL},
    {"clock", T_OBJECT, offsetof(Request, clock), 0, NULL},
    {"_caller", T_OBJECT, offsetof(Request, caller), 0, NULL},
    {"_trace_id", T_OBJECT, offsetof(Request, trace_id), 0, NULL},
    {"_facts", T_OBJECT, offsetof(Request, facts), 0, NULL},
    {"_host", T_OBJECT, offsetof(Request, host), 0, NULL},
    {"start_time", T_DOUBLE, offsetof(Request, start_time), 0, NULL},
    {"end_time", T_DOUBLE, offsetof(Request, end_time), 0, NULL},
    {"status", T_LONG, offsetof(Request, status), 0, NULL},
    {"ended", T_BOOL, offsetof(Request, ended), 0, NULL},
    {NULL},
};

static PyMethodDef request_methods[] = {
    {"finish", (PyCFunction)request_finish_method, METH_NOARGS, "End now. A second end does nothing."},
    {"is_stepped_here", (PyCFunction)request_is_stepped_here, METH_NOARGS,
     "Whether a step of it is on the stack of this thread."},
    {NULL},
};

static PyType_Slot request_slots[] = {
    {Py_tp_doc, "A request while it is served, as `swagent.request.state.RequestState`."},
    {Py_tp_init, request_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, request_dealloc},
    {Py_tp_traverse, request_traverse},
    {Py_tp_clear, request_clear},
    {Py_tp_members, request_members},
    {Py_tp_methods, request_methods},
    {0, NULL},
};

static PyType_Spec request_spec = {
    .name = "swagent_native._native.RequestState",
    .basicsize = sizeof(Request),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = request_slots,
};

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyObject *
configure(PyObject *module, PyObject *args, PyObject *kwargs)
{
    if (set_known((PyObject **)&known, known_names, args, kwargs) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the fast path of requests knows."},
    {NULL},
};

static int
intern_names(void)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_decides_late, "decides_late"}, {&s_offer_request, "offer_request"}, {&s_trust_incoming, "trust_incoming"},
        {&s_open_among, "_open_among"}, {&s_finish_otherwise, "_finish_otherwise"},
        {&s_type, "type"}, {&s_http, "http"}, {&s_method, "method"}, {&s_scheme, "scheme"},
        {&s_path, "path"}, {&s_client, "client"}, {&s_headers, "headers"}, {&s_route, "route"},
        {&s_fastapi, "fastapi"}, {&s_app, "app"}, {&s_effective, "effective_route_context"},
        {&s_app_root_path, "app_root_path"}, {&s_root_path, "root_path"},
        {&s_stop, "stop"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    return 0;
}

int
add_request(PyObject *module)
{
    if (intern_names() < 0 || PyModule_AddFunctions(module, functions) < 0) {
        return -1;
    }
    Request_Type = (PyTypeObject *)PyType_FromSpec(&request_spec);
    return Request_Type == NULL ? -1 : PyModule_AddObjectRef(module, "RequestState", (PyObject *)Request_Type);
}
