/* The serving of requests: the fast path of `SkyWalkingMiddleware.__call__`.
 *
 * `Serving` is called with a scope, and gives an awaitable around the application's coroutine: `Served`. Each step of
 * the request passes through it, and so does its end. Code that walks along a task's awaitables sees the coroutine:
 * the attributes are the coroutine's.
 */
#include "native.h"

typedef struct {
    PyObject_HEAD
    PyTypeObject *request_type;
    PyObject *tracer;
    PyObject *faults;
    PyObject *end;     /* function of Python: the application has returned, or raised */
    PyObject *waiting; /* called when the last request ends; None: nothing waits */
    Py_ssize_t under_way;
    vectorcallfunc vectorcall;
} Serving;

typedef struct {
    PyObject_HEAD
    Serving *serving;
    Request *request;
    PyObject *send; /* the server's */
    PyObject *inner;
} Served;

static PyTypeObject *Serving_Type, *Served_Type;
static PyObject *s_type, *s_http, *s_websocket, *s_mark, *s_throw, *s_close, *s_note, *s_opening;

/* -- the end ------------------------------------------------------------------------------------------------------ */

static void
leave(Serving *serving)
{
    serving->under_way--;
    if (serving->under_way == 0 && serving->waiting != Py_None) {
        PyObject *done = PyObject_CallNoArgs(serving->waiting);
        if (done == NULL) {
            PyErr_WriteUnraisable(serving->waiting);
        }
        Py_XDECREF(done);
    }
}

/* The application has returned, or raised the exception that is set, which stays set. */
static void
end(Serving *serving, Request *request, PyObject *send)
{
    PyObject *error = take_error();
    if (!request->ended || request->previous != Py_None) {
        PyObject *done = PyObject_CallFunctionObjArgs(serving->end, request, error == NULL ? Py_None : error, send, NULL);
        if (done == NULL) {
            PyErr_WriteUnraisable(serving->end);
        }
        Py_XDECREF(done);
    }
    leave(serving);
    if (error != NULL) {
        give_back_error(error);
    }
}

/* -- the steps ---------------------------------------------------------------------------------------------------- */

static void
end_served(Served *self)
{
    PyObject *inner = self->inner;
    if (inner == NULL) {
        return;
    }
    self->inner = NULL;
    end(self->serving, self->request, self->send);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_DECREF(inner);
    PyErr_Restore(type, value, trace);
}

static void
begin_step(Request *request)
{
    request->steps++;
    request->thread = PyThread_get_thread_ident();
}

static PySendResult
served_send(Served *self, PyObject *value, PyObject **result)
{
    if (self->inner == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        *result = NULL;
        return PYGEN_ERROR;
    }
    PyObject *inner = Py_NewRef(self->inner);
    begin_step(self->request);
    PySendResult sent = PyIter_Send(inner, value, result);
    self->request->steps--;
    Py_DECREF(inner);
    if (sent != PYGEN_NEXT) {
        end_served(self);
    }
    return sent;
}

/* What a method of a generator gives for a step: the value, or StopIteration. */
static PyObject *
as_method(PySendResult sent, PyObject *result)
{
    if (sent != PYGEN_RETURN) {
        return result;
    }
    if (result == Py_None) {
        PyErr_SetNone(PyExc_StopIteration);
    }
    else {
        PyObject *stop = PyObject_CallOneArg(PyExc_StopIteration, result);
        if (stop != NULL) {
            PyErr_SetObject(PyExc_StopIteration, stop);
            Py_DECREF(stop);
        }
    }
    Py_DECREF(result);
    return NULL;
}

static PyObject *
served_next(Served *self)
{
    PyObject *result;
    PySendResult sent = served_send(self, Py_None, &result);
    return as_method(sent, result);
}

static PyObject *
served_send_method(Served *self, PyObject *value)
{
    PyObject *result;
    PySendResult sent = served_send(self, value, &result);
    return as_method(sent, result);
}

static PyObject *
served_throw(Served *self, PyObject *args)
{
    if (self->inner == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        return NULL;
    }
    PyObject *inner = Py_NewRef(self->inner), *result = NULL;
    PyObject *method = PyObject_GetAttr(inner, s_throw);
    if (method != NULL) {
        begin_step(self->request);
        result = PyObject_CallObject(method, args);
        self->request->steps--;
        Py_DECREF(method);
    }
    Py_DECREF(inner);
    if (result == NULL) {
        int has_returned = PyErr_ExceptionMatches(PyExc_StopIteration);
        PyObject *stop = has_returned ? take_error() : NULL;
        end_served(self);
        if (stop != NULL) {
            give_back_error(stop);
        }
    }
    return result;
}

static PyObject *
served_close(Served *self, PyObject *Py_UNUSED(nothing))
{
    if (self->inner == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *inner = Py_NewRef(self->inner);
    begin_step(self->request);
    PyObject *closed = PyObject_CallMethodNoArgs(inner, s_close);
    self->request->steps--;
    Py_DECREF(inner);
    if (closed != NULL) {
        Py_DECREF(closed);
        /* the request ends by it, and it goes no further */
        PyErr_SetNone(PyExc_GeneratorExit);
        end_served(self);
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    end_served(self);
    return NULL;
}

static PyObject *
served_iter(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *
served_getattro(Served *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr((PyObject *)self, name);
    if (found != NULL || self->inner == NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyErr_Clear();
    return PyObject_GetAttr(self->inner, name);
}

static int
served_traverse(Served *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->serving);
    Py_VISIT(self->request);
    Py_VISIT(self->send);
    Py_VISIT(self->inner);
    return 0;
}

static void
served_dealloc(Served *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->inner != NULL) {
        /* dropped in the middle: its coroutine closes itself below */
        PyObject *kind, *value, *trace;
        PyErr_Fetch(&kind, &value, &trace);
        PyErr_SetNone(PyExc_GeneratorExit);
        end_served(self);
        PyErr_Clear();
        PyErr_Restore(kind, value, trace);
    }
    Py_XDECREF(self->serving);
    Py_XDECREF(self->request);
    Py_XDECREF(self->send);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef served_methods[] = {
    {"send", (PyCFunction)served_send_method, METH_O, "A step, as of a coroutine."},
    {"throw", (PyCFunction)served_throw, METH_VARARGS, "A step, as of a coroutine."},
    {"close", (PyCFunction)served_close, METH_NOARGS, "The coroutine will not go on."},
    {NULL},
};

static PyType_Slot served_slots[] = {
    {Py_tp_doc, "Awaited instead of the application's coroutine, it passes every step on."},
    {Py_am_await, served_iter},
    {Py_am_send, served_send},
    {Py_tp_iter, served_iter},
    {Py_tp_iternext, served_next},
    {Py_tp_getattro, served_getattro},
    {Py_tp_dealloc, served_dealloc},
    {Py_tp_traverse, served_traverse},
    {Py_tp_methods, served_methods},
    {0, NULL},
};

static PyType_Spec served_spec = {
    .name = "swagent_native._native.Served",
    .basicsize = sizeof(Served),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = served_slots,
};

/* -- the beginning ------------------------------------------------------------------------------------------------ */

/* The request, marked in its scope: a new reference; NULL where there is none, and a fault is counted. */
static Request *
begin(Serving *self, PyObject *scope)
{
    Request *request = NULL;
    if (PyDict_SetItem(scope, s_mark, Py_True) == 0) {
        request = (Request *)self->request_type->tp_alloc(self->request_type, 0);
    }
    if (request != NULL && request_begin(request, self->tracer, scope, self->faults) < 0) {
        PyObject *error = take_error();
        Py_CLEAR(request);
        give_back_error(error);
    }
    if (request == NULL) {
        PyObject *error = take_error();
        PyObject *noted = PyObject_CallMethodObjArgs(self->faults, s_note, s_opening, error, NULL);
        Py_XDECREF(noted);
        Py_XDECREF(error);
        PyErr_Clear();
        return NULL;
    }
    request->is_served = 1;
    return request;
}

/* The iterator of an awaitable: the coroutine itself, where it is one. */
static PyObject *
iterator_of(PyObject *awaitable)
{
    if (PyCoro_CheckExact(awaitable)) {
        return Py_NewRef(awaitable);
    }
    PyAsyncMethods *methods = Py_TYPE(awaitable)->tp_as_async;
    if (methods == NULL || methods->am_await == NULL) {
        PyErr_Format(PyExc_TypeError, "object %.100s can't be used in 'await' expression", Py_TYPE(awaitable)->tp_name);
        return NULL;
    }
    return methods->am_await(awaitable);
}

/* Call the application and wrap its coroutine. On an error the request has ended. */
static PyObject *
serve(Serving *self, Request *request, PyObject *app, PyObject *scope, PyObject *receive, PyObject *send)
{
    PyObject *inner = NULL, *ours = make_send(request, send);
    if (ours != NULL) {
        PyObject *args[3] = {scope, receive, ours};
        PyObject *awaitable = PyObject_Vectorcall(app, args, 3, NULL);
        Py_DECREF(ours);
        inner = awaitable == NULL ? NULL : iterator_of(awaitable);
        Py_XDECREF(awaitable);
    }
    Served *served = inner == NULL ? NULL : PyObject_GC_New(Served, Served_Type);
    if (served == NULL) {
        Py_XDECREF(inner);
        end(self, request, send);
        return NULL;
    }
    served->serving = (Serving *)Py_NewRef(self);
    served->request = (Request *)Py_NewRef(request);
    served->send = Py_NewRef(send);
    served->inner = inner;
    PyObject_GC_Track(served);
    return (PyObject *)served;
}

/* Whether this is a request, and no middleware has taken it. */
static int
is_request(Serving *self, PyObject *scope)
{
    if (!PyDict_CheckExact(scope)) {
        return 0;
    }
    int is_marked = PyDict_Contains(scope, s_mark);
    PyObject *type = is_marked == 0 ? PyDict_GetItemWithError(scope, s_type) : NULL;
    int is = type != NULL && PyUnicode_CheckExact(type) &&
             (PyUnicode_Compare(type, s_http) == 0 || PyUnicode_Compare(type, s_websocket) == 0);
    PyErr_Clear();
    return is;
}

static PyObject *
serving_call(Serving *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) != 4 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "app, scope, receive, send");
        return NULL;
    }
    Request *request = is_request(self, args[1]) ? begin(self, args[1]) : NULL;
    if (request == NULL) {
        Py_RETURN_NONE;
    }
    self->under_way++;
    PyObject *served = serve(self, request, args[0], args[1], args[2], args[3]);
    Py_DECREF(request);
    return served;
}

static PyObject *
serving_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"request_type", "tracer", "faults", "end", NULL};
    PyObject *request_type, *tracer, *faults, *end_function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOO", names, &PyType_Type, &request_type, &tracer, &faults,
                                     &end_function)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)request_type, Request_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of requests has to be one of RequestState");
        return NULL;
    }
    Serving *self = (Serving *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->request_type = (PyTypeObject *)Py_NewRef(request_type);
        self->tracer = Py_NewRef(tracer);
        self->faults = Py_NewRef(faults);
        self->end = Py_NewRef(end_function);
        self->waiting = Py_NewRef(Py_None);
        self->vectorcall = (vectorcallfunc)serving_call;
    }
    return (PyObject *)self;
}

static int
serving_traverse(Serving *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->request_type);
    Py_VISIT(self->tracer);
    Py_VISIT(self->faults);
    Py_VISIT(self->end);
    Py_VISIT(self->waiting);
    return 0;
}

static void
serving_dealloc(Serving *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->request_type);
    Py_XDECREF(self->tracer);
    Py_XDECREF(self->faults);
    Py_XDECREF(self->end);
    Py_XDECREF(self->waiting);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef serving_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Serving, vectorcall), READONLY, NULL},
    {"under_way", T_PYSSIZET, offsetof(Serving, under_way), READONLY, "How many requests have not ended."},
    {"waiting", T_OBJECT, offsetof(Serving, waiting), 0, "Called when the last request ends; None: nothing is."},
    {NULL},
};

static PyType_Slot serving_slots[] = {
    {Py_tp_doc, "Serves the requests of one middleware: `serving(app, scope, receive, send)` is an awaitable; None, "
                "where this is no request."},
    {Py_tp_new, serving_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, serving_dealloc},
    {Py_tp_traverse, serving_traverse},
    {Py_tp_members, serving_members},
    {0, NULL},
};

static PyType_Spec serving_spec = {
    .name = "swagent_native._native.Serving",
    .basicsize = sizeof(Serving),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = serving_slots,
};

int
add_served(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_type, "type"}, {&s_http, "http"}, {&s_websocket, "websocket"}, {&s_mark, "swagent.span"},
        {&s_throw, "throw"}, {&s_close, "close"}, {&s_note, "note"}, {&s_opening, "opening the span of a request"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    Serving_Type = (PyTypeObject *)PyType_FromSpec(&serving_spec);
    Served_Type = (PyTypeObject *)PyType_FromSpec(&served_spec);
    if (Serving_Type == NULL || Served_Type == NULL) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Serving", (PyObject *)Serving_Type);
}
