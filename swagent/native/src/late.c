/* A callback that a loop may call later than it was to be called, see swagent/profile/asyncio_steps.py; and what the
 * steps of a loop have in C: the one that is called just now.
 */
#include "late.h"
#include "pool.h"

PyTypeObject *Steps_Type, *Late_Type;
static Pool pool;

/* -- the callback ------------------------------------------------------------------------------------------------- */

static PyObject *
late_call(Late *self, PyObject *const *args, size_t flags, PyObject *names)
{
    if (self->callback == NULL) {
        /* cleared with what would have called it */
        Py_RETURN_NONE;
    }
    Steps *steps = (Steps *)Py_NewRef(self->steps);
    PyObject *callback = Py_NewRef(self->callback);
    Py_XSETREF(steps->late, Py_NewRef(self));
    PyObject *done = PyObject_Vectorcall(callback, args, (size_t)PyVectorcall_NARGS(flags), names);
    PyObject *late = steps->late;
    steps->late = NULL;
    Py_XDECREF(late);
    Py_DECREF(callback);
    Py_DECREF(steps);
    return done;
}

PyObject *
make_late(PyObject *steps, PyObject *callback, double due, PyObject *seconds)
{
    Late *self = (Late *)pool_new(&pool, Late_Type);
    if (self != NULL) {
        self->steps = Py_NewRef(steps);
        self->callback = Py_NewRef(callback);
        self->seconds = Py_NewRef(seconds);
        self->due = due;
        self->vectorcall = (vectorcallfunc)late_call;
        PyObject_GC_Track(self);
    }
    return (PyObject *)self;
}

static PyObject *
late_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *steps, *callback, *seconds;
    double due;
    if (!PyArg_ParseTuple(args, "O!OdO", Steps_Type, &steps, &callback, &due, &seconds)) {
        return NULL;
    }
    return make_late(steps, callback, due, seconds);
}

static PyObject *
late_repr(Late *self)
{
    return PyObject_Repr(self->callback == NULL ? Py_None : self->callback);
}

static int
late_traverse(Late *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->steps);
    Py_VISIT(self->callback);
    Py_VISIT(self->seconds);
    return 0;
}

static int
late_clear(Late *self)
{
    Py_CLEAR(self->callback);
    return 0;
}

static void
late_dealloc(Late *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->steps);
    Py_XDECREF(self->callback);
    Py_XDECREF(self->seconds);
    pool_free(&pool, (PyObject *)self);
    Py_DECREF(type);
}

static PyMemberDef late_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Late, vectorcall), READONLY, NULL},
    {"callback", T_OBJECT, offsetof(Late, callback), READONLY, "What is called."},
    {"due", T_DOUBLE, offsetof(Late, due), READONLY, "When it was to be called, by the monotonic clock."},
    {"seconds", T_OBJECT, offsetof(Late, seconds), READONLY, "How long the timer was to run; None: it is none."},
    {NULL},
};

static PyType_Slot late_slots[] = {
    {Py_tp_doc, "A callback that may be called late: `Late(steps, callback, due, seconds)`."},
    {Py_tp_new, late_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, late_repr},
    {Py_tp_dealloc, late_dealloc},
    {Py_tp_traverse, late_traverse},
    {Py_tp_clear, late_clear},
    {Py_tp_members, late_members},
    {0, NULL},
};

static PyType_Spec late_spec = {
    .name = "swagent_native._native.Late",
    .basicsize = sizeof(Late),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = late_slots,
};

/* -- the steps ---------------------------------------------------------------------------------------------------- */

static int
steps_traverse(Steps *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->late);
    return 0;
}

static int
steps_clear(Steps *self)
{
    Py_CLEAR(self->late);
    return 0;
}

static void
steps_dealloc(Steps *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->late);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef steps_members[] = {
    {"late", T_OBJECT, offsetof(Steps, late), 0, "The callback that is called just now; None: there is none."},
    {NULL},
};

static PyType_Slot steps_slots[] = {
    {Py_tp_doc, "What `AsyncioSteps` have in C."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, steps_dealloc},
    {Py_tp_traverse, steps_traverse},
    {Py_tp_clear, steps_clear},
    {Py_tp_members, steps_members},
    {0, NULL},
};

static PyType_Spec steps_spec = {
    .name = "swagent_native._native.Steps",
    .basicsize = sizeof(Steps),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = steps_slots,
};

int
add_late(PyObject *module)
{
    Late_Type = (PyTypeObject *)PyType_FromSpec(&late_spec);
    Steps_Type = (PyTypeObject *)PyType_FromSpec(&steps_spec);
    if (Late_Type == NULL || Steps_Type == NULL ||
        PyModule_AddObjectRef(module, "Late", (PyObject *)Late_Type) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Steps", (PyObject *)Steps_Type);
}
