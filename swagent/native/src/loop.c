/* The functions that hide methods of an asyncio loop, see swagent/profile/asyncio_steps.py.
 *
 * Each passes its arguments on. Where the call belongs to a request whose time is split, C notes it at the clock for a
 * task of a clock of C, and Python in all other cases.
 */
#include "clock.h"
#include "late.h"
#include "pool.h"

enum { CALL_SOON, CALL_LATER, CALL_AT };

typedef struct {
    PyObject_HEAD
    PyObject *inner; /* the loop's own method */
    PyObject *steps;
    PyObject *noted; /* function of Python: the callback that is passed on in the place of another */
    int kind;
    vectorcallfunc vectorcall;
} Hiding;

/* A step of a child task, which the loop calls. In the debug mode asyncio names a slow one by `__self__`. */
typedef struct {
    PyObject_HEAD
    PyObject *task;
    PyObject *clock; /* Served */
    PyObject *run;
    vectorcallfunc vectorcall;
} Step;

static PyTypeObject *Hiding_Type, *Step_Type;
static Pool pool;
static PyObject *request_clock, *task_type;
static PyObject *s_context, *s_self, *s_steps;
/* the name in calls of C, which is another text */
static PyObject *seen_name;

/* The clock of a context, if it counts steps of this loop: a new reference; NULL without an exception: there is none. */
static PyObject *
of_this_loop(Hiding *self, PyObject *clock)
{
    if (clock == NULL || clock == Py_None) {
        Py_XDECREF(clock);
        return NULL;
    }
    PyObject *steps;
    if (Py_TYPE(clock) == Served_Type) {
        steps = Py_XNewRef(clock_of((Served *)clock)->steps);
    }
    else {
        steps = PyObject_GetAttr(clock, s_steps);
    }
    if (steps == NULL) {
        PyErr_Clear();
    }
    int is = steps == self->steps;
    Py_XDECREF(steps);
    if (!is) {
        Py_CLEAR(clock);
    }
    return clock;
}

static PyObject *
clock_of_context(PyObject *context)
{
    if (context == NULL || !PyContext_CheckExact(context)) {
        return NULL;
    }
    int is_set = PySequence_Contains(context, request_clock);
    PyObject *clock = is_set > 0 ? PyObject_GetItem(context, request_clock) : NULL;
    if (clock == NULL && is_set) {
        PyErr_Clear();
    }
    return clock;
}

static PyObject *
clock_here(void)
{
    PyObject *clock = NULL;
    if (PyContextVar_Get(request_clock, NULL, &clock) < 0) {
        PyErr_Clear();
    }
    return clock;
}

/* -- a task that is ready ----------------------------------------------------------------------------------------- */

/* Since when the task could have been woken, where the loop was late to see it; -1.0: now. */
static double
due(Hiding *self)
{
    PyObject *late = ((Steps *)self->steps)->late;
    return late == NULL || Py_TYPE(late) != Late_Type ? -1.0 : ((Late *)late)->due;
}

/* The task whose step a callback is: a new reference; NULL without an exception: it is none. */
static PyObject *
task_of(PyObject *callback)
{
    PyObject *task = NULL;
    if (PyMethod_Check(callback)) {
        task = Py_NewRef(PyMethod_GET_SELF(callback));
    }
    else if (PyCFunction_Check(callback)) {
        task = Py_XNewRef(PyCFunction_GET_SELF(callback));
    }
    else if (!PyFunction_Check(callback)) {
        task = PyObject_GetAttr(callback, s_self);
        drop_error();
    }
    if (task != NULL && !PyObject_TypeCheck(task, (PyTypeObject *)task_type)) {
        Py_CLEAR(task);
    }
    return task;
}

static PyObject *
step_call(Step *self, PyObject *const *args, size_t flags, PyObject *names)
{
    if (self->run == NULL) {
        /* cleared with what would have called it */
        Py_RETURN_NONE;
    }
    Served *served = (Served *)Py_NewRef(self->clock);
    PyObject *run = Py_NewRef(self->run);
    if (clock_begin_woken(served) < 0) {
        PyErr_Clear();
    }
    PyObject *done = PyObject_Vectorcall(run, args, (size_t)PyVectorcall_NARGS(flags), names);
    PyObject *error = done == NULL ? take_error() : NULL;
    if (clock_end(served) < 0) {
        PyErr_Clear();
    }
    if (error != NULL) {
        give_back_error(error);
    }
    Py_DECREF(run);
    Py_DECREF(served);
    return done;
}

static PyObject *
make_step(PyObject *task, Served *clock, PyObject *run)
{
    Step *self = (Step *)pool_new(&pool, Step_Type);
    if (self != NULL) {
        self->task = Py_NewRef(task);
        self->clock = Py_NewRef(clock);
        self->run = Py_NewRef(run);
        self->vectorcall = (vectorcallfunc)step_call;
        PyObject_GC_Track(self);
    }
    return (PyObject *)self;
}

/* What is called in the place of a task's step: the next one of the request's own task its clock begins itself. A new
 * reference; NULL with an exception set. */
static PyObject *
woken(Hiding *self, PyObject *task, Served *served, PyObject *callback)
{
    Clock *clock = clock_of(served);
    if (Py_TYPE(callback) == Step_Type) {
        return Py_NewRef(callback);
    }
    int is_own = (void *)task == clock->own && !clock->is_woken;
    PyObject *called = is_own ? Py_NewRef(callback) : make_step(task, served, callback);
    if (called != NULL && clock_wake(served, due(self)) < 0) {
        PyErr_Clear();
    }
    if (is_own) {
        clock->is_woken = 1;
    }
    return called;
}

/* -- a timer ------------------------------------------------------------------------------------------------------ */

/* Whether no code of the application adds it to a time. One that a late timer sets may be the rest of that one. */
static int
is_plain_delay(Hiding *self, PyObject *delay)
{
    PyObject *late = ((Steps *)self->steps)->late;
    return (PyFloat_CheckExact(delay) || PyLong_CheckExact(delay)) && (late == NULL || late == Py_None);
}

/* The callback of a request's timer, which says when it was due: a new reference; NULL with an exception set. */
static PyObject *
with_due(Hiding *self, PyObject *callback, PyObject *delay)
{
    double seconds = PyFloat_AsDouble(delay), now = monotonic_now();
    if ((seconds == -1.0 && PyErr_Occurred()) || now < 0.0) {
        return NULL;
    }
    return make_late(self->steps, callback, now + seconds, delay);
}

/* What is passed on in the place of a callback: a new reference; NULL with an exception set. */
static PyObject *
replaced(Hiding *self, PyObject *callback, PyObject *clock, PyObject *when)
{
    if (self->kind == CALL_SOON) {
        PyObject *task = task_of(callback);
        if (task == NULL) {
            return Py_NewRef(callback);
        }
        if (Py_TYPE(clock) == Served_Type) {
            PyObject *called = woken(self, task, (Served *)clock, callback);
            Py_DECREF(task);
            return called;
        }
        Py_DECREF(task);
        PyObject *args[2] = {callback, clock};
        return PyObject_Vectorcall(self->noted, args, 2, NULL);
    }
    if (Py_TYPE(callback) == Late_Type || !PyCallable_Check(callback)) {
        return Py_NewRef(callback);
    }
    if (self->kind == CALL_LATER && is_plain_delay(self, when)) {
        return with_due(self, callback, when);
    }
    PyObject *args[2] = {callback, when};
    return PyObject_Vectorcall(self->noted, args, 2, NULL);
}

/* -- the calls ---------------------------------------------------------------------------------------------------- */

static PyObject *
find_context(PyObject *const *args, Py_ssize_t positional, PyObject *names)
{
    Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name == s_context || name == seen_name) {
            return args[positional + i];
        }
        if (PyUnicode_Compare(name, s_context) == 0) {
            Py_XSETREF(seen_name, Py_NewRef(name));
            return args[positional + i];
        }
    }
    return NULL;
}

#define MOST 16

static PyObject *
hiding_call(Hiding *self, PyObject *const *args, size_t flags, PyObject *names)
{
    Py_ssize_t positional = PyVectorcall_NARGS(flags), at = self->kind == CALL_SOON ? 0 : 1;
    Py_ssize_t all = positional + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *clock = NULL;
    if (positional > at && all <= MOST) {
        clock = self->kind == CALL_SOON ? clock_of_context(find_context(args, positional, names)) : clock_here();
        clock = of_this_loop(self, clock);
    }
    if (clock == NULL) {
        return PyObject_Vectorcall(self->inner, args, (size_t)positional, names);
    }
    PyObject *callback = replaced(self, args[at], clock, at ? args[0] : NULL);
    Py_DECREF(clock);
    if (callback == NULL) {
        /* it costs the request its split, and not its callback */
        drop_error();
        return PyObject_Vectorcall(self->inner, args, (size_t)positional, names);
    }
    PyObject *passed[MOST];
    memcpy(passed, args, all * sizeof(PyObject *));
    passed[at] = callback;
    PyObject *handle = PyObject_Vectorcall(self->inner, passed, (size_t)positional, names);
    Py_DECREF(callback);
    return handle;
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

static PyObject *
hiding_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "inner", "steps", "noted", NULL};
    const char *name;
    PyObject *inner, *steps, *noted;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOO!O", names, &name, &inner, Steps_Type, &steps, &noted)) {
        return NULL;
    }
    Hiding *self = (Hiding *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->kind = strcmp(name, "call_soon") == 0 ? CALL_SOON : strcmp(name, "call_later") == 0 ? CALL_LATER : CALL_AT;
        self->inner = Py_NewRef(inner);
        self->steps = Py_NewRef(steps);
        self->noted = Py_NewRef(noted);
        self->vectorcall = (vectorcallfunc)hiding_call;
    }
    return (PyObject *)self;
}

static int
hiding_traverse(Hiding *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->inner);
    Py_VISIT(self->steps);
    Py_VISIT(self->noted);
    return 0;
}

static int
hiding_clear(Hiding *self)
{
    /* the loop's method stays: a call may still come from what is being cleared */
    Py_CLEAR(self->noted);
    return 0;
}

static void
hiding_dealloc(Hiding *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->inner);
    Py_XDECREF(self->steps);
    Py_XDECREF(self->noted);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef hiding_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Hiding, vectorcall), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(Hiding, inner), READONLY, "The loop's own method."},
    {NULL},
};

static PyType_Slot hiding_slots[] = {
    {Py_tp_doc, "Hides a method of a loop: `Hiding(name, inner, steps, noted)`."},
    {Py_tp_new, hiding_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, hiding_dealloc},
    {Py_tp_traverse, hiding_traverse},
    {Py_tp_clear, hiding_clear},
    {Py_tp_members, hiding_members},
    {0, NULL},
};

static PyType_Spec hiding_spec = {
    .name = "swagent_native._native.Hiding",
    .basicsize = sizeof(Hiding),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = hiding_slots,
};

static PyObject *
step_repr(Step *self)
{
    return PyObject_Repr(self->run == NULL ? Py_None : self->run);
}

static int
step_traverse(Step *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->task);
    Py_VISIT(self->clock);
    Py_VISIT(self->run);
    return 0;
}

static int
step_clear(Step *self)
{
    Py_CLEAR(self->run);
    return 0;
}

static void
step_dealloc(Step *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->task);
    Py_XDECREF(self->clock);
    Py_XDECREF(self->run);
    pool_free(&pool, (PyObject *)self);
    Py_DECREF(type);
}

static PyMemberDef step_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Step, vectorcall), READONLY, NULL},
    {"__self__", T_OBJECT, offsetof(Step, task), READONLY, "The task."},
    {NULL},
};

static PyType_Slot step_slots[] = {
    {Py_tp_doc, "A step of a task of a request, which notes its begin and its end."},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, step_repr},
    {Py_tp_dealloc, step_dealloc},
    {Py_tp_traverse, step_traverse},
    {Py_tp_clear, step_clear},
    {Py_tp_members, step_members},
    {0, NULL},
};

static PyType_Spec step_spec = {
    .name = "swagent_native._native.Step",
    .basicsize = sizeof(Step),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = step_slots,
};

static PyObject *
configure_loop(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"request_clock", "task_type", NULL};
    PyObject *variable, *type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!", names, &variable, &PyType_Type, &type)) {
        return NULL;
    }
    Py_XSETREF(request_clock, Py_NewRef(variable));
    Py_XSETREF(task_type, Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_loop", (PyCFunction)(void (*)(void))configure_loop, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the functions of loops know."},
    {NULL},
};

int
add_loop(PyObject *module)
{
    s_context = PyUnicode_InternFromString("context");
    s_self = PyUnicode_InternFromString("__self__");
    s_steps = PyUnicode_InternFromString("steps");
    Hiding_Type = (PyTypeObject *)PyType_FromSpec(&hiding_spec);
    Step_Type = (PyTypeObject *)PyType_FromSpec(&step_spec);
    if (!s_context || !s_self || !s_steps || Hiding_Type == NULL || Step_Type == NULL) {
        return -1;
    }
    if (PyModule_AddFunctions(module, functions) < 0 ||
        PyModule_AddObjectRef(module, "Step", (PyObject *)Step_Type) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Hiding", (PyObject *)Hiding_Type);
}
