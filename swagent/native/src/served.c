/* The serving of requests: the fast path of `SkyWalkingMiddleware.__call__`.
 *
 * `Serving` is called with a scope, and gives an awaitable around the application's coroutine: `Served`. Each step of
 * the request passes through it, and so does its end. Code that walks along a task's awaitables sees the coroutine:
 * the attributes are the coroutine's.
 */
#include "clock.h"
#include "pool.h"
#include "wire.h"

static PyTypeObject *Serving_Type;
static Pool pool;
static PyObject *request_clock, *running_loop;
static PyObject *s_type, *s_http, *s_websocket, *s_mark, *s_throw, *s_close, *s_opening, *s_timing, *s_steps;

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

/* The application has returned, or raised the exception that is set, which stays set. An interruption of our own work,
 * such as KeyboardInterrupt, takes its place. */
static void
end(Serving *serving, Request *request, PyObject *send)
{
    PyObject *error = take_error();
    if (!request->ended || request->previous != Py_None || error != NULL) {
        PyObject *done = PyObject_CallFunctionObjArgs(serving->end, request, error == NULL ? Py_None : error, send, NULL);
        if (done == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_WriteUnraisable(serving->end);
        }
        else if (done == NULL) {
            Py_XDECREF(error);
            error = take_error();
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
stop_clock(Served *self)
{
    PyObject *times = clock_stop(self, monotonic_now());
    Py_XDECREF(times);
    if (self->request->clock == (PyObject *)self) {
        Py_SETREF(self->request->clock, Py_NewRef(Py_None));
    }
}

static void
end_served(Served *self)
{
    PyObject *inner = self->inner;
    if (inner == NULL) {
        return;
    }
    self->inner = NULL;
    end(self->serving, self->request, self->send);
    PyObject *error = take_error();
    if (self->is_timed) {
        stop_clock(self);
    }
    Py_DECREF(inner);
    Py_CLEAR(self->send);
    Py_CLEAR(self->serving);
    Py_CLEAR(self->request);
    PyErr_Clear();
    if (error != NULL) {
        give_back_error(error);
    }
}

/* An error of the clock costs the split only. */
static void
begin_step(Served *self)
{
    self->request->steps++;
    self->request->thread = PyThread_get_thread_ident();
    if (self->is_timed && self->clock.is_out && clock_resume(self) < 0) {
        PyErr_Clear();
    }
}

/* The task will go on. */
static void
leave_step(Served *self)
{
    if (self->is_timed && clock_suspend(self) < 0) {
        PyErr_Clear();
    }
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
    Request *request = (Request *)Py_NewRef(self->request);
    begin_step(self);
    PySendResult sent = PyIter_Send(inner, value, result);
    request->steps--;
    if (sent == PYGEN_NEXT) {
        leave_step(self);
    }
    else {
        end_served(self);
        if (sent == PYGEN_RETURN && PyErr_Occurred()) {
            Py_CLEAR(*result);
            sent = PYGEN_ERROR;
        }
    }
    /* this may be the last of both */
    PyObject *error = sent == PYGEN_ERROR ? take_error() : NULL;
    Py_DECREF(inner);
    Py_DECREF(request);
    if (error != NULL) {
        give_back_error(error);
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

/* What `await` does with an exception where the iterator has no `throw`: it raises the exception itself. */
static void
raise_thrown(PyObject *args)
{
    PyObject *kind, *value = NULL, *trace = NULL;
    if (!PyArg_UnpackTuple(args, "throw", 1, 3, &kind, &value, &trace)) {
        return;
    }
    if (PyExceptionInstance_Check(kind)) {
        PyErr_Restore(Py_NewRef(Py_TYPE(kind)), Py_NewRef(kind), PyException_GetTraceback(kind));
    }
    else {
        PyErr_Restore(Py_NewRef(kind), Py_XNewRef(value), trace == Py_None ? NULL : Py_XNewRef(trace));
    }
}

static PyObject *
served_throw(Served *self, PyObject *args)
{
    if (self->inner == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        return NULL;
    }
    PyObject *inner = Py_NewRef(self->inner), *result = NULL;
    Request *request = (Request *)Py_NewRef(self->request);
    PyObject *method = PyObject_GetAttr(inner, s_throw);
    if (method != NULL) {
        begin_step(self);
        result = PyObject_CallObject(method, args);
        request->steps--;
        Py_DECREF(method);
    }
    else if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        raise_thrown(args);
    }
    if (result != NULL) {
        leave_step(self);
    }
    else {
        int has_returned = PyErr_ExceptionMatches(PyExc_StopIteration);
        PyObject *stop = has_returned ? take_error() : NULL;
        end_served(self);
        if (stop != NULL && PyErr_Occurred()) {
            Py_DECREF(stop);
        }
        else if (stop != NULL) {
            give_back_error(stop);
        }
    }
    PyObject *error = result == NULL ? take_error() : NULL;
    Py_DECREF(inner);
    Py_DECREF(request);
    if (error != NULL) {
        give_back_error(error);
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
    Request *request = (Request *)Py_NewRef(self->request);
    begin_step(self);
    PyObject *method = PyObject_GetAttr(inner, s_close), *closed = NULL;
    if (method != NULL) {
        closed = PyObject_CallNoArgs(method);
        Py_DECREF(method);
    }
    else if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
        /* as `await` does with an iterator that cannot be closed */
        PyErr_Clear();
        closed = Py_NewRef(Py_None);
    }
    request->steps--;
    Py_DECREF(inner);
    Py_DECREF(request);
    if (closed != NULL) {
        Py_DECREF(closed);
        /* the request ends by it, and it goes no further */
        PyErr_SetNone(PyExc_GeneratorExit);
        end_served(self);
        if (!PyErr_ExceptionMatches(PyExc_GeneratorExit)) {
            return NULL;
        }
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
    Py_VISIT(self->clock.steps);
    Py_VISIT(self->clock.active);
    Py_VISIT(self->clock.awaited);
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
    clock_clear(&self->clock);
    Py_XDECREF(self->serving);
    Py_XDECREF(self->request);
    Py_XDECREF(self->send);
    pool_free(&pool, (PyObject *)self);
    Py_DECREF(type);
}

/* -- as the clock of Python --------------------------------------------------------------------------------------- */

static PyObject *
as_none(int failed)
{
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
served_wake(Served *self, PyObject *const *args, Py_ssize_t count)
{
    double since = count && args[0] != Py_None ? PyFloat_AsDouble(args[0]) : -1.0;
    return since == -1.0 && PyErr_Occurred() ? NULL : as_none(clock_wake(self, since));
}

static PyObject *
served_begin(Served *self, PyObject *Py_UNUSED(nothing))
{
    return as_none(clock_begin(self));
}

static PyObject *
served_begin_woken(Served *self, PyObject *Py_UNUSED(nothing))
{
    return as_none(clock_begin_woken(self));
}

static PyObject *
served_end_step(Served *self, PyObject *Py_UNUSED(nothing))
{
    return as_none(clock_end(self));
}

static PyObject *
served_stop(Served *self, PyObject *now)
{
    double seconds = PyFloat_AsDouble(now);
    return seconds == -1.0 && PyErr_Occurred() ? NULL : clock_stop(self, seconds);
}

static PyObject *
served_more_tags(Served *self, PyObject *Py_UNUSED(nothing))
{
    return PyTuple_New(0);
}

static PyObject *
served_throws_here(Served *self, PyObject *Py_UNUSED(nothing))
{
    /* the request knows */
    Py_RETURN_FALSE;
}

static PyObject *
served_own(Served *self, void *nothing)
{
    return PyLong_FromVoidPtr(self->clock.own);
}

static PyObject *
served_tasks(Served *self, void *nothing)
{
    Py_RETURN_NONE;
}

static PyGetSetDef served_getset[] = {
    {"own", (getter)served_own, NULL, "The identity of the request's own task, once it has waited.", NULL},
    {"tasks", (getter)served_tasks, NULL, "None: they are not listed.", NULL},
    {NULL},
};

static PyMemberDef served_members[] = {
    {"steps", T_OBJECT, offsetof(Served, clock.steps), READONLY, "None: it has stopped, or counts nothing."},
    {"is_woken", T_BOOL, offsetof(Served, clock.is_woken), 0, "Whether the own task is ready for a step."},
    {"active", T_OBJECT, offsetof(Served, clock.active), READONLY, "What is active in the own task while it waits."},
    {"awaited", T_OBJECT, offsetof(Served, clock.awaited), 0, "The times of waits by name."},
    {"inner", T_OBJECT, offsetof(Served, inner), READONLY, "The application's coroutine; None at the end."},
    {NULL},
};

static PyMethodDef served_methods[] = {
    {"wake", (PyCFunction)(void (*)(void))served_wake, METH_FASTCALL, "One of its tasks is ready for a step."},
    {"begin", (PyCFunction)served_begin, METH_NOARGS, "A step begins."},
    {"begin_woken", (PyCFunction)served_begin_woken, METH_NOARGS, "A step begins of a task that was ready."},
    {"end", (PyCFunction)served_end_step, METH_NOARGS, "The step ends."},
    {"stop", (PyCFunction)served_stop, METH_O, "Count no longer: where the time went."},
    {"more_tags", (PyCFunction)served_more_tags, METH_NOARGS, "Nothing: tasks are not listed."},
    {"throws_here", (PyCFunction)served_throws_here, METH_NOARGS, "See `RequestState.is_stepped_here`."},
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
    {Py_tp_members, served_members},
    {Py_tp_getset, served_getset},
    {0, NULL},
};

static PyType_Spec served_spec = {
    .name = "swagent_native._native.Served",
    .basicsize = sizeof(Served),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = served_slots,
};

/* -- the beginning ------------------------------------------------------------------------------------------------ */

/* The request, marked in its scope: a new reference; NULL where there is none, and a fault is counted, or with what has
 * to reach the application. */
static Request *
begin(Serving *self, PyObject *scope)
{
    Request *request = NULL;
    if (PyDict_SetItem(scope, s_mark, Py_True) == 0) {
        request = request_new(self->request_type);
    }
    if (request != NULL && request_begin(request, self->tracer, scope, self->faults) < 0) {
        PyObject *error = take_error();
        Py_CLEAR(request);
        give_back_error(error);
    }
    if (request == NULL) {
        note_fault(self->faults, s_opening);
    }
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
    PyObject *iterator = methods->am_await(awaitable);
    if (iterator != NULL && !PyIter_Check(iterator)) {
        PyErr_Format(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'", Py_TYPE(iterator)->tp_name);
        Py_CLEAR(iterator);
    }
    return iterator;
}

enum { NO_REQUEST, HTTP, WEBSOCKET };

/* How the time of a request is split. */
enum { NOT, BY_CLOCK, BY_PYTHON, WITH_TASKS };

/* Whether the request is served inside of another one whose time is split, and so is a part of it. */
static int
is_inside(void)
{
    PyObject *outer = NULL, *steps = NULL;
    if (PyContextVar_Get(request_clock, NULL, &outer) < 0 || outer == NULL || outer == Py_None) {
        Py_XDECREF(outer);
        return 0;
    }
    steps = PyObject_GetAttr(outer, s_steps);
    int is = steps != NULL && steps != Py_None;
    Py_DECREF(outer);
    Py_XDECREF(steps);
    return is;
}

/* The steps of the running loop, into `self->steps`; 0: there are none. -1 with an exception set. */
static int
find_steps(Serving *self, PyObject *loop)
{
    if (self->steps != NULL && self->loop == loop) {
        return 1;
    }
    PyObject *steps = PyObject_CallNoArgs(self->find_steps);
    if (steps == NULL) {
        return -1;
    }
    if (steps == Py_None) {
        Py_DECREF(steps);
        return 0;
    }
    Py_XSETREF(self->steps, steps);
    Py_XSETREF(self->loop, Py_NewRef(loop));
    return 1;
}

static int
choose_clock(Serving *self, int kind)
{
    /* a websocket counts among so many, as in Python */
    if (!self->every || --self->left >= 0 || kind != HTTP || is_inside()) {
        return NOT;
    }
    self->left = self->every - 1;
    PyObject *loop = PyObject_CallNoArgs(running_loop);
    if (loop == NULL) {
        return -1;
    }
    int found = loop == Py_None ? 0 : find_steps(self, loop);
    int is_asyncio = loop != Py_None;
    Py_DECREF(loop);
    if (found < 0 || (is_asyncio && !found)) {
        return found < 0 ? -1 : NOT;
    }
    if (self->tasks_every && --self->tasks_left < 0) {
        self->tasks_left = self->tasks_every - 1;
        return WITH_TASKS;
    }
    return is_asyncio && self->every == 1 ? BY_CLOCK : BY_PYTHON;
}

/* The awaitable of the application, timed by Python where it has to be. */
static PyObject *
call_application(Serving *self, Request *request, PyObject *app, PyObject *args[3], int clock)
{
    if (clock == NOT || clock == BY_CLOCK) {
        return PyObject_Vectorcall(app, args, 3, NULL);
    }
    PyObject *more[5] = {(PyObject *)request, args[0], args[1], args[2], clock == WITH_TASKS ? Py_True : Py_False};
    return PyObject_Vectorcall(self->time_otherwise, more, 5, NULL);
}

static int
begin_clock(Served *served, Serving *serving, Request *request)
{
    served->is_timed = 1;
    clock_begin_counting(&served->clock, serving->steps, request->start_time);
    Py_SETREF(request->clock, Py_NewRef(served));
    PyObject *token = PyContextVar_Set(request_clock, (PyObject *)served);
    Py_XDECREF(token);
    return token == NULL ? -1 : 0;
}

static Served *
make_served(Serving *self, Request *request, PyObject *send, PyObject *inner)
{
    Served *served = (Served *)pool_new(&pool, Served_Type);
    if (served != NULL) {
        served->serving = (Serving *)Py_NewRef(self);
        served->request = (Request *)Py_NewRef(request);
        served->send = Py_NewRef(send);
        served->inner = Py_NewRef(inner);
        memset(&served->clock, 0, sizeof(Clock));
        served->is_timed = 0;
        PyObject_GC_Track(served);
    }
    return served;
}

/* Without memory for what follows the response, the application gets the server's `send`. */
static PyObject *
send_for(Request *request, PyObject *send)
{
    PyObject *ours = make_send(request, send);
    if (ours == NULL) {
        PyErr_Clear();
        return Py_NewRef(send);
    }
    return ours;
}

/* What is awaited in the place of the application's awaitable; where there is no memory for it, that itself. */
static PyObject *
wrap(Serving *self, Request *request, PyObject *send, PyObject *awaitable, int clock)
{
    PyObject *inner = iterator_of(awaitable);
    Served *served = inner == NULL ? NULL : make_served(self, request, send, inner);
    Py_XDECREF(inner);
    if (served == NULL) {
        /* the server's `await` says what is wrong with it, if anything is */
        drop_error();
        leave(self);
        return Py_NewRef(awaitable);
    }
    if (clock == BY_CLOCK && begin_clock(served, self, request) < 0) {
        /* only memory can have been missing */
        note_fault(self->faults, s_timing);
    }
    return (PyObject *)served;
}

/* Call the application and wrap its coroutine. On an error, which is the application's, the request has ended. */
static PyObject *
serve(Serving *self, Request *request, int kind, PyObject *const *called)
{
    PyObject *app = called[0], *scope = called[1], *receive = called[2], *send = called[3];
    int clock = choose_clock(self, kind);
    if (clock < 0) {
        if (note_fault(self->faults, s_timing) < 0) {
            end(self, request, send);
            return NULL;
        }
        clock = NOT;
    }
    PyObject *ours = send_for(request, send);
    PyObject *args[3] = {scope, receive, ours};
    PyObject *awaitable = call_application(self, request, app, args, clock);
    Py_DECREF(ours);
    if (awaitable == NULL) {
        end(self, request, send);
        return NULL;
    }
    PyObject *served = wrap(self, request, send, awaitable, clock);
    Py_DECREF(awaitable);
    return served;
}

/* Which request this is that no middleware has taken, if any. */
static int
kind_of(PyObject *scope)
{
    if (!PyDict_CheckExact(scope)) {
        return NO_REQUEST;
    }
    int is_marked = PyDict_Contains(scope, s_mark), kind = NO_REQUEST;
    PyObject *type = is_marked == 0 ? PyDict_GetItemWithError(scope, s_type) : NULL;
    if (type != NULL && PyUnicode_CheckExact(type)) {
        kind = type == s_http || PyUnicode_Compare(type, s_http) == 0 ? HTTP
               : PyUnicode_Compare(type, s_websocket) == 0            ? WEBSOCKET
                                                                      : NO_REQUEST;
    }
    if (kind == NO_REQUEST) {
        PyErr_Clear();
    }
    return kind;
}

static PyObject *
serving_call(Serving *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) != 4 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "app, scope, receive, send");
        return NULL;
    }
    int kind = kind_of(args[1]);
    Request *request = kind == NO_REQUEST ? NULL : begin(self, args[1]);
    if (request == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    self->under_way++;
    PyObject *served = serve(self, request, kind, args);
    Py_DECREF(request);
    return served;
}

static PyObject *
serving_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"request_type", "tracer", "faults", "end", "every", "tasks_every", "find_steps",
                            "time_otherwise", NULL};
    PyObject *request_type, *tracer, *faults, *end_function, *steps, *otherwise;
    Py_ssize_t every, tasks_every;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOnnOO", names, &PyType_Type, &request_type, &tracer, &faults,
                                     &end_function, &every, &tasks_every, &steps, &otherwise)) {
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
        self->find_steps = Py_NewRef(steps);
        self->time_otherwise = Py_NewRef(otherwise);
        self->every = every;
        self->tasks_every = tasks_every;
        self->tasks_left = tasks_every ? tasks_every - 1 : 0;
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
    Py_VISIT(self->find_steps);
    Py_VISIT(self->time_otherwise);
    Py_VISIT(self->steps);
    Py_VISIT(self->loop);
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
    Py_XDECREF(self->find_steps);
    Py_XDECREF(self->time_otherwise);
    Py_XDECREF(self->steps);
    Py_XDECREF(self->loop);
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

static PyObject *
configure_served(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"request_clock", "running_loop", NULL};
    PyObject *variable, *loop;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &variable, &loop)) {
        return NULL;
    }
    Py_XSETREF(request_clock, Py_NewRef(variable));
    Py_XSETREF(running_loop, Py_NewRef(loop));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_served", (PyCFunction)(void (*)(void))configure_served, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the serving of requests knows."},
    {NULL},
};

int
add_served(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_type, "type"}, {&s_http, "http"}, {&s_websocket, "websocket"}, {&s_mark, "swagent.span"},
        {&s_throw, "throw"}, {&s_close, "close"}, {&s_opening, "opening the span of a request"},
        {&s_timing, "timing a request"}, {&s_steps, "steps"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    Serving_Type = (PyTypeObject *)PyType_FromSpec(&serving_spec);
    Served_Type = (PyTypeObject *)PyType_FromSpec(&served_spec);
    if (Serving_Type == NULL || Served_Type == NULL || PyModule_AddFunctions(module, functions) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Serving", (PyObject *)Serving_Type);
}
