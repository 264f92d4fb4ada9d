/* A lock that its thread may take again, as `threading.RLock`, whose arguments and bound methods cost more than all that
 * is done with it held. C sees whether it is taken.
 */
#include "lock.h"

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner;
    unsigned long depth; /* how often the owner has taken it; 0: it is free */
} Lock;

static PyTypeObject *Lock_Type;

int
lock_is_free_here(PyObject *lock)
{
    if (Py_TYPE(lock) != Lock_Type) {
        return 0;
    }
    Lock *self = (Lock *)lock;
    return self->depth == 0 || self->owner == PyThread_get_thread_ident();
}

static PyObject *
lock_enter(Lock *self, PyObject *Py_UNUSED(nothing))
{
    unsigned long here = PyThread_get_thread_ident();
    if (self->depth == 0 || self->owner != here) {
        if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK) == PY_LOCK_FAILURE) {
            /* a signal waits until then: nothing waits with this lock held */
            Py_BEGIN_ALLOW_THREADS
            PyThread_acquire_lock(self->lock, WAIT_LOCK);
            Py_END_ALLOW_THREADS
        }
        self->owner = here;
    }
    self->depth++;
    Py_RETURN_TRUE;
}

static PyObject *
lock_exit(Lock *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    if (self->depth == 0 || self->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "another thread has this lock, or none");
        return NULL;
    }
    if (--self->depth == 0) {
        self->owner = 0;
        PyThread_release_lock(self->lock);
    }
    Py_RETURN_NONE;
}

static PyObject *
lock_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    Lock *self = (Lock *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->lock = PyThread_allocate_lock();
        if (self->lock == NULL) {
            Py_DECREF(self);
            return PyErr_NoMemory();
        }
    }
    return (PyObject *)self;
}

static void
lock_dealloc(Lock *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (self->lock != NULL) {
        if (self->depth) {
            PyThread_release_lock(self->lock);
        }
        PyThread_free_lock(self->lock);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef lock_methods[] = {
    {"__enter__", (PyCFunction)lock_enter, METH_NOARGS, "Take it; wait for it where another thread has it."},
    {"__exit__", (PyCFunction)(void (*)(void))lock_exit, METH_FASTCALL, "Give it back."},
    {NULL},
};

static PyType_Slot lock_slots[] = {
    {Py_tp_doc, "A lock that its thread may take again: for `with` only."},
    {Py_tp_new, lock_new},
    {Py_tp_dealloc, lock_dealloc},
    {Py_tp_methods, lock_methods},
    {0, NULL},
};

static PyType_Spec lock_spec = {
    .name = "swagent_native._native.Lock",
    .basicsize = sizeof(Lock),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = lock_slots,
};

int
add_lock(PyObject *module)
{
    Lock_Type = (PyTypeObject *)PyType_FromSpec(&lock_spec);
    return Lock_Type == NULL ? -1 : PyModule_AddObjectRef(module, "Lock", (PyObject *)Lock_Type);
}
