/* The begin of a call that is awaited, as in `_around_coroutine` of swagent/instrument/wrapping.py, which has the coroutine:
 * it awaits what the library's function gives, and ends the span.
 */
#include "native.h"

typedef struct {
    PyObject_HEAD
    PyObject *call;  /* the library's coroutine function */
    PyObject *begin; /* begins the span; None: the call has none */
    vectorcallfunc vectorcall;
} AwaitedCall;

/* In the place of a coroutine that could not be made: raises what was raised, once it is awaited. */
typedef struct {
    PyObject_HEAD
    PyObject *error;
} Refused;

static PyTypeObject *AwaitedCall_Type, *Refused_Type;
/* of Python: notes that an instrumentation has failed, and raises what has to reach the application */
static PyObject *note_failure;
static PyObject *s_stop;

/* -- a call that was refused -------------------------------------------------------------------------------------- */

static PyObject *
refused_await(Refused *self)
{
    if (self->error == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
        return NULL;
    }
    PyObject *error = self->error;
    self->error = NULL;
    give_back_error(error);
    return NULL;
}

/* Instead of the exception that is set: a new reference. */
static PyObject *
refuse(void)
{
    PyObject *error = take_error();
    Refused *made = (Refused *)Refused_Type->tp_alloc(Refused_Type, 0);
    if (made == NULL) {
        Py_XDECREF(error);
        return NULL;
    }
    made->error = error;
    return (PyObject *)made;
}

static int
refused_traverse(Refused *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->error);
    return 0;
}

static int
refused_clear(Refused *self)
{
    Py_CLEAR(self->error);
    return 0;
}

static void
refused_dealloc(Refused *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->error);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot refused_slots[] = {
    {Py_tp_doc, "Raises, once it is awaited, what a call has raised that gave no coroutine."},
    {Py_am_await, refused_await},
    {Py_tp_dealloc, refused_dealloc},
    {Py_tp_traverse, refused_traverse},
    {Py_tp_clear, refused_clear},
    {0, NULL},
};

static PyType_Spec refused_spec = {
    .name = "swagent_native._native.Refused",
    .basicsize = sizeof(Refused),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = refused_slots,
};

/* -- the begin ---------------------------------------------------------------------------------------------------- */

#define FEW 8

/* `call(owner, *args, **kwargs)` */
static PyObject *
call_with(PyObject *call, PyObject *owner, PyObject *args, PyObject *kwargs)
{
    PyObject *few[FEW + 2], **all = few;
    size_t count = (size_t)PyTuple_GET_SIZE(args);
    if (count > FEW) {
        all = PyMem_New(PyObject *, count + 2);
        if (all == NULL) {
            return PyErr_NoMemory();
        }
    }
    /* the first place is the callee's to use */
    all[0] = NULL;
    all[1] = owner;
    for (size_t at = 0; at < count; at++) {
        all[at + 2] = PyTuple_GET_ITEM(args, at);
    }
    PyObject *made = PyObject_VectorcallDict(call, all + 1, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                             PyDict_GET_SIZE(kwargs) ? kwargs : NULL);
    if (all != few) {
        PyMem_Free(all);
    }
    return made;
}

int
note_error(PyObject *function)
{
    if (note_failure == NULL) {
        return -1;
    }
    PyObject *error = take_error();
    PyObject *noted = PyObject_CallFunctionObjArgs(note_failure, function, error, NULL);
    Py_XDECREF(error);
    Py_XDECREF(noted);
    return noted == NULL ? -1 : 0;
}

/* The span, or None: a new reference. NULL with what has to reach the application. */
static PyObject *
begin_safely(PyObject *begin, PyObject *const *call)
{
    PyObject *span = PyObject_Vectorcall(begin, call, 3, NULL);
    if (span != NULL) {
        return span;
    }
    return note_error(begin) < 0 ? NULL : Py_NewRef(Py_None);
}

/* The span of a call that cannot be made; the exception stays set. */
static void
end_without_memory(PyObject *span)
{
    PyObject *error = take_error(), *done = PyObject_CallMethodNoArgs(span, s_stop);
    Py_XDECREF(done);
    drop_error();
    give_back_error(error);
}

static PyObject *
awaited_call(AwaitedCall *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) != 3 || names != NULL || !PyTuple_CheckExact(args[1]) || !PyDict_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "an object, a tuple of arguments, and a dict of them");
        return NULL;
    }
    PyObject *span = begin_safely(self->begin, args);
    if (span == NULL) {
        return NULL;
    }
    PyObject *made = call_with(self->call, args[0], args[1], args[2]);
    if (made == NULL && span != Py_None) {
        made = refuse();
    }
    PyObject *both = made == NULL ? NULL : PyTuple_Pack(2, span, made);
    if (both == NULL && span != Py_None) {
        end_without_memory(span);
    }
    Py_DECREF(span);
    Py_XDECREF(made);
    return both;
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

static PyObject *
awaited_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"call", "begin", NULL};
    PyObject *call, *begin;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", names, &call, &begin)) {
        return NULL;
    }
    if (note_failure == NULL) {
        PyErr_SetString(PyExc_TypeError, "not configured");
        return NULL;
    }
    AwaitedCall *self = (AwaitedCall *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->call = Py_NewRef(call);
        self->begin = Py_NewRef(begin);
        self->vectorcall = (vectorcallfunc)awaited_call;
    }
    return (PyObject *)self;
}

static int
awaited_traverse(AwaitedCall *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->call);
    Py_VISIT(self->begin);
    return 0;
}

/* Nothing clears it: a call may be under way, and the function that holds it breaks every cycle. */
static void
awaited_dealloc(AwaitedCall *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->call);
    Py_XDECREF(self->begin);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef awaited_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(AwaitedCall, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot awaited_slots[] = {
    {Py_tp_doc, "The begin of a call that is awaited: `begin_it(owner, args, kwargs)` is its span, or None, and what is to be\n"
                "awaited. Where there is a span, an error of the call comes when that is awaited."},
    {Py_tp_new, awaited_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, awaited_dealloc},
    {Py_tp_traverse, awaited_traverse},
    {Py_tp_members, awaited_members},
    {0, NULL},
};

static PyType_Spec awaited_spec = {
    .name = "swagent_native._native.AwaitedCall",
    .basicsize = sizeof(AwaitedCall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = awaited_slots,
};

static PyObject *
configure_awaited(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"note_failure", NULL};
    if (set_known(&note_failure, names, args, kwargs) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_awaited", (PyCFunction)(void (*)(void))configure_awaited, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that awaited calls know."},
    {NULL},
};

int
add_awaited(PyObject *module)
{
    s_stop = PyUnicode_InternFromString("stop");
    AwaitedCall_Type = (PyTypeObject *)PyType_FromSpec(&awaited_spec);
    Refused_Type = (PyTypeObject *)PyType_FromSpec(&refused_spec);
    if (s_stop == NULL || AwaitedCall_Type == NULL || Refused_Type == NULL || PyModule_AddFunctions(module, functions) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "AwaitedCall", (PyObject *)AwaitedCall_Type);
}
