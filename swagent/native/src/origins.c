/* Where a log record comes from, that is logged while a request has no span: what `PendingRequest` says of it. What is
 * not usual is Python's.
 */
#include "facts.h"

/* Borrowed from the interpreter's modules by `configure_origins`, and held for ever. */
static PyObject *ids;         /* the namespace of `record/trace/ids.py`: its prefixes change with a fork */
static PyObject *name_so_far; /* of `request/description.py` */
static PyObject *s_process, *s_other, *s_dots_only, *s_dot;

enum { DIGITS = 12, LONGEST_PREFIX = 64 };

/* The names of operations, by what they are made of: those of routes only. A server makes the method anew with each
 * request; the template is the route's own, and held, so no other object can have its address. */
#define NAMES 64
static struct {
    PyObject *method, *template, *name;
} names[NAMES];
static int is_by_path; /* operations are named by their paths */

static void
forget_names(void)
{
    for (size_t i = 0; i < NAMES; i++) {
        Py_CLEAR(names[i].method);
        Py_CLEAR(names[i].template);
        Py_CLEAR(names[i].name);
    }
}

PyObject *
find_name(PyObject *method, PyObject *path, PyObject *template)
{
    size_t at = ((uintptr_t)template >> 4) % NAMES;
    int is_plain = PyUnicode_CheckExact(method) && PyUnicode_CheckExact(template) && !is_by_path;
    if (is_plain && names[at].template == template && PyUnicode_Compare(names[at].method, method) == 0) {
        return Py_NewRef(names[at].name);
    }
    PyObject *named[] = {method, path, template};
    PyObject *name = PyObject_Vectorcall(name_so_far, named, 3, NULL);
    if (name != NULL && is_plain && !is_by_path) {
        Py_XSETREF(names[at].method, Py_NewRef(method));
        Py_XSETREF(names[at].template, Py_NewRef(template));
        Py_XSETREF(names[at].name, Py_NewRef(name));
    }
    return name;
}

static PyObject *
name_by_path(PyObject *module, PyObject *by_path)
{
    int is = PyObject_IsTrue(by_path);
    if (is < 0) {
        return NULL;
    }
    is_by_path = is;
    forget_names();
    Py_RETURN_NONE;
}

/* As `trace_id_of` or `segment_id_of`; NULL without an exception where it is odd. */
static PyObject *
make_id(Request *self, PyObject *prefix_name)
{
    static const char digits[] = "0123456789abcdef";
    PyObject *prefix = PyDict_GetItemWithError(ids, prefix_name);
    if (prefix == NULL || !PyUnicode_CheckExact(prefix) || !PyUnicode_IS_COMPACT_ASCII(prefix) ||
        PyUnicode_GET_LENGTH(prefix) > LONGEST_PREFIX || !PyLong_CheckExact(self->number)) {
        return NULL;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(self->number, &overflow);
    if (overflow || number < 1LL << 4 * (DIGITS - 1) || number >= 1LL << 4 * DIGITS) {
        return NULL;
    }
    Py_ssize_t length = PyUnicode_GET_LENGTH(prefix);
    PyObject *id = PyUnicode_New(length + DIGITS, 127);
    if (id != NULL) {
        char *letters = (char *)PyUnicode_1BYTE_DATA(id);
        memcpy(letters, PyUnicode_1BYTE_DATA(prefix), (size_t)length);
        for (int at = DIGITS - 1; at >= 0; at--, number >>= 4) {
            letters[length + at] = digits[number & 15];
        }
    }
    return id;
}

PyObject *
request_id(Request *self, int is_segment)
{
    return ids == NULL ? NULL : make_id(self, is_segment ? s_other : s_process);
}

int
names_are_paths(void)
{
    return is_by_path;
}

PyObject *
request_trace_id(Request *self)
{
    if (ids == NULL || self->span != Py_None) {
        return NULL;
    }
    if (self->trace_id == Py_None) {
        PyObject *found = request_has_no_caller(self) ? make_id(self, s_process) : NULL;
        if (found == NULL) {
            return NULL;
        }
        Py_SETREF(self->trace_id, found);
    }
    return Py_NewRef(self->trace_id);
}

int
may_be_ignored(Request *self, PyObject *path)
{
    PyObject *dots_only = PyObject_GetAttr(self->tracer, s_dots_only);
    if (dots_only == NULL) {
        return -1;
    }
    int may_be = dots_only != Py_True;
    Py_DECREF(dots_only);
    return may_be ? 1 : PyUnicode_Contains(path, s_dot);
}

PyObject *
request_late_origin(Request *self)
{
    PyObject *facts = self->facts;
    if (ids == NULL || facts == NULL || !PyTuple_Check(facts) || PyTuple_GET_SIZE(facts) != 7 ||
        !PyUnicode_CheckExact(self->trace_id) || PyUnicode_GET_LENGTH(self->trace_id) == 0) {
        return NULL;
    }
    Py_INCREF(facts);
    PyObject *origin = NULL, *segment_id = NULL, *name = NULL, *path = PyTuple_GET_ITEM(facts, 3);
    if (PyUnicode_CheckExact(path) && may_be_ignored(self, path) == 0) {
        name = find_name(PyTuple_GET_ITEM(facts, 0), path, PyTuple_GET_ITEM(facts, 4));
        segment_id = name == NULL ? NULL : make_id(self, s_other);
    }
    PyObject *zero = segment_id == NULL ? NULL : PyLong_FromLong(0);
    if (zero != NULL) {
        origin = PyTuple_Pack(4, name, self->trace_id, segment_id, zero);
    }
    Py_XDECREF(zero);
    Py_XDECREF(name);
    Py_XDECREF(segment_id);
    Py_DECREF(facts);
    return origin;
}

static PyObject *
configure_origins(PyObject *module, PyObject *args)
{
    PyObject *namespace, *function;
    if (!PyArg_ParseTuple(args, "O!O:configure_origins", &PyDict_Type, &namespace, &function)) {
        return NULL;
    }
    Py_XSETREF(ids, Py_NewRef(namespace));
    Py_XSETREF(name_so_far, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_origins", configure_origins, METH_VARARGS,
     "Say where the prefixes of ids are, and what names a request's operation."},
    {"name_by_path", name_by_path, METH_O, "Say whether operations are named by their paths from now on."},
    {NULL},
};

int
add_origins(PyObject *module)
{
    s_process = PyUnicode_InternFromString("_process");
    s_other = PyUnicode_InternFromString("_other");
    s_dots_only = PyUnicode_InternFromString("ignores_dots_only");
    s_dot = PyUnicode_InternFromString(".");
    if (s_process == NULL || s_other == NULL || s_dots_only == NULL || s_dot == NULL) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
