/* What the other parts share: the clock of the system, and the exception that is set. */
#include "native.h"
#include "wire.h"
#include <time.h>

PyTypeObject *Request_Type;

/* time.monotonic, where C has no clock of its own; in tests another. */
static PyObject *monotonic;
static int use_own_clock = 1;

static PyObject *
find_monotonic(void)
{
    PyObject *module = PyImport_ImportModule("time");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "monotonic");
    Py_XDECREF(module);
    return found;
}

double
monotonic_now(void)
{
#if defined(__linux__)
    /* the clock of time.monotonic() there */
    if (use_own_clock) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    }
#endif
    PyObject *seconds = PyObject_CallNoArgs(monotonic);
    if (seconds == NULL) {
        return -1.0;
    }
    double now = PyFloat_AsDouble(seconds);
    Py_DECREF(seconds);
    return now;
}

PyObject *
take_error(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (type == NULL) {
        return NULL;
    }
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL && value != NULL) {
        PyException_SetTraceback(value, trace);
    }
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void
give_back_error(PyObject *error)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyObject *type = (PyObject *)Py_TYPE(error);
    Py_INCREF(type);
    PyErr_Restore(type, error, PyException_GetTraceback(error));
#endif
}

/* An exception for the thread that it came up in. */
typedef struct {
    PyObject *error;
    unsigned long thread;
} Postponed;

static int
raise_again(void *argument)
{
    Postponed *postponed = argument;
    PyObject *error = postponed->error;
    /* a handler of a signal raises in the main thread, which runs this too; nothing is another thread's to raise */
    int is_here = postponed->thread == PyThread_get_thread_ident();
    PyMem_Free(postponed);
    if (!is_here) {
        Py_DECREF(error);
        return 0;
    }
    give_back_error(error);
    return -1;
}

void
drop_error(void)
{
    if (!PyErr_Occurred() || forgive()) {
        return;
    }
    PyObject *error = take_error();
    Postponed *postponed = PyMem_Malloc(sizeof(Postponed));
    if (postponed != NULL) {
        *postponed = (Postponed){error, PyThread_get_thread_ident()};
    }
    if (postponed == NULL || Py_AddPendingCall(raise_again, postponed) < 0) {
        PyMem_Free(postponed);
        Py_DECREF(error);
    }
}

int
note_fault(PyObject *faults, PyObject *work)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    PyObject *error = take_error();
    PyObject *noted = PyObject_CallMethod(faults, "note", "OO", work, error);
    Py_XDECREF(error);
    Py_XDECREF(noted);
    return noted != NULL || forgive() ? 0 : -1;
}

int
set_known(PyObject **at, const char *const *names, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) || kwargs == NULL) {
        PyErr_SetString(PyExc_TypeError, "by name only");
        return -1;
    }
    for (Py_ssize_t i = 0; names[i] != NULL; i++) {
        PyObject *value = PyDict_GetItemString(kwargs, names[i]);
        if (value == NULL) {
            PyErr_Format(PyExc_TypeError, "%s is missing", names[i]);
            return -1;
        }
        Py_XSETREF(at[i], Py_NewRef(value));
    }
    return 0;
}

static PyObject *
set_clock(PyObject *module, PyObject *clock)
{
    use_own_clock = clock == Py_None;
    Py_XSETREF(monotonic, use_own_clock ? find_monotonic() : Py_NewRef(clock));
    if (monotonic == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_clock", set_clock, METH_O, "Use another clock than the system's, in tests; None: that of the system again."},
    {NULL},
};

int
add_base(PyObject *module)
{
    monotonic = find_monotonic();
    return monotonic == NULL ? -1 : PyModule_AddFunctions(module, functions);
}
