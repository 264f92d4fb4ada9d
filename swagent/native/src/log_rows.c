/* Rows of log records: how they come into the intake, as `LogIntake.offer_plain`. */
#include "native.h"

PyTypeObject *LogRows_Type;

static int
append_row(LogRows *self, PyObject *const *row, PyObject *entry, PyObject *now)
{
    int failed = 0;
    Py_ssize_t before = PyList_GET_SIZE(self->pending);
    for (int field = 0; field < LOG_FIELDS; field++) {
        failed = failed || PyList_Append(self->pending, row[field]) < 0;
    }
    failed = failed || PyList_Append(self->pending, entry) < 0 || PyList_Append(self->pending, now) < 0;
    if (failed) {
        /* half a row would shift all that follow it */
        PyObject *error = take_error();
        PyList_SetSlice(self->pending, before, PY_SSIZE_T_MAX, NULL);
        give_back_error(error);
        return -1;
    }
    return 0;
}

int
log_rows_append(LogRows *self, PyObject *const *row, PyObject *entry)
{
    PyObject *now;
    if (self->clock == Py_None) {
        double seconds = monotonic_now();
        now = seconds < 0.0 ? NULL : PyFloat_FromDouble(seconds);
    } else {
        now = PyObject_CallNoArgs(self->clock);
    }
    int failed = now == NULL || append_row(self, row, entry, now) < 0;
    Py_XDECREF(now);
    return failed ? -1 : look_at_group(self->pending, self->full, self->encode, self->channel);
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

static PyObject *
log_rows_call(LogRows *self, PyObject *const *args, size_t count, PyObject *names)
{
    Py_ssize_t given = PyVectorcall_NARGS(count);
    if (given < 1 || given > 2 || (names != NULL && PyTuple_GET_SIZE(names)) || !PyTuple_Check(args[0]) ||
        PyTuple_GET_SIZE(args[0]) != LOG_FIELDS) {
        PyErr_SetString(PyExc_TypeError, "one plain record is offered at a time, and maybe the converted one");
        return NULL;
    }
    if (log_rows_append(self, &PyTuple_GET_ITEM(args[0], 0), given == 2 ? args[1] : Py_None) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
log_rows_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"pending", "full", "encode", "channel", "clock", NULL};
    PyObject *pending, *encode, *channel, *clock;
    Py_ssize_t full;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!nOOO", names, &PyList_Type, &pending, &full, &encode, &channel,
                                     &clock)) {
        return NULL;
    }
    LogRows *self = (LogRows *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->pending = Py_NewRef(pending);
        self->encode = Py_NewRef(encode);
        self->channel = Py_NewRef(channel);
        self->clock = Py_NewRef(clock);
        self->full = full;
        self->vectorcall = (vectorcallfunc)log_rows_call;
    }
    return (PyObject *)self;
}

static int
log_rows_traverse(LogRows *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->pending);
    Py_VISIT(self->encode);
    Py_VISIT(self->channel);
    Py_VISIT(self->clock);
    return 0;
}

/* There is no tp_clear: a thread may still log, and what breaks a cycle is the intake's dict. */
static void
log_rows_dealloc(LogRows *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->pending);
    Py_CLEAR(self->encode);
    Py_CLEAR(self->channel);
    Py_CLEAR(self->clock);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef log_rows_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LogRows, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot log_rows_slots[] = {
    {Py_tp_doc, "Takes plain log records, as `LogIntake.offer_plain`."},
    {Py_tp_new, log_rows_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, log_rows_dealloc},
    {Py_tp_traverse, log_rows_traverse},
    {Py_tp_members, log_rows_members},
    {0, NULL},
};

static PyType_Spec log_rows_spec = {
    .name = "swagent_native._native.LogRows",
    .basicsize = sizeof(LogRows),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = log_rows_slots,
};

int
add_log_rows(PyObject *module)
{
    LogRows_Type = (PyTypeObject *)PyType_FromSpec(&log_rows_spec);
    return LogRows_Type == NULL ? -1 : PyModule_AddObjectRef(module, "LogRows", (PyObject *)LogRows_Type);
}
