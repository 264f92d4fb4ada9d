/* The begin of a query of asyncpg, as `_begin_by` in swagent/instrument/libraries/sql/asyncpg.py: of a statement and a database
 * that have come before. The rest is Python's, which then does all of it.
 */
#include "calls.h"
#include "wire.h"

typedef struct {
    PyObject_HEAD
    PyObject *name;      /* the span's */
    PyObject *databases; /* dict: by the address and the name of a database */
    PyObject *otherwise; /* function of Python: begins every query */
    vectorcallfunc vectorcall;
} QueryBegin;

static PyTypeObject *QueryBegin_Type;
static PyObject *s_reset_query, *s_address, *s_parameters, *s_database, *s_module;

/* The database that a connection leads to: a new reference; NULL, with an exception or without, where Python has to look. */
static PyObject *
database_of(QueryBegin *self, PyObject *connection)
{
    PyObject *address = PyObject_GetAttr(connection, s_address);
    PyObject *parameters = address == NULL ? NULL : PyObject_GetAttr(connection, s_parameters);
    PyObject *name = parameters == NULL ? NULL : PyObject_GetAttr(parameters, s_database);
    PyObject *place = name == NULL ? NULL : PyTuple_Pack(2, address, name);
    PyObject *found = place == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(self->databases, place));
    Py_XDECREF(address);
    Py_XDECREF(parameters);
    Py_XDECREF(name);
    Py_XDECREF(place);
    return found;
}

/* A new reference: the span, or None: the call has none. NULL, with an exception or without, where Python has to begin it. */
static PyObject *
begin_plainly(QueryBegin *self, PyObject *connection, PyObject *args)
{
    if (!PyTuple_CheckExact(args) || !PyTuple_GET_SIZE(args) || !PyUnicode_CheckExact(PyTuple_GET_ITEM(args, 0))) {
        return NULL;
    }
    PyObject *statement = PyTuple_GET_ITEM(args, 0), *of_reset = PyObject_GetAttr(connection, s_reset_query);
    if (of_reset == NULL) {
        return NULL;
    }
    int is_of_reset = statement == of_reset;
    Py_DECREF(of_reset);
    if (is_of_reset) {
        Py_RETURN_NONE;
    }
    PyObject *database = database_of(self, connection);
    PyObject *span = database == NULL ? NULL : begin_known_query(self->name, database, statement);
    Py_XDECREF(database);
    return span;
}

static PyObject *
query_begin(QueryBegin *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) == 3 && names == NULL) {
        PyObject *span = begin_plainly(self, args[0], args[1]);
        if (span != NULL || (PyErr_Occurred() && !forgive())) {
            return span;
        }
    }
    return PyObject_Vectorcall(self->otherwise, args, count, names);
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

static PyObject *
query_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "databases", "otherwise", NULL};
    PyObject *name, *databases, *otherwise;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOO", names, &name, &databases, &otherwise)) {
        return NULL;
    }
    if (!PyDict_Check(databases)) {
        PyErr_SetString(PyExc_TypeError, "a dict of databases");
        return NULL;
    }
    QueryBegin *self = (QueryBegin *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->name = Py_NewRef(name);
        self->databases = Py_NewRef(databases);
        self->otherwise = Py_NewRef(otherwise);
        self->vectorcall = (vectorcallfunc)query_begin;
    }
    return (PyObject *)self;
}

/* It is of the module of the Python function, which the log names where that fails. */
static PyObject *
query_getattro(QueryBegin *self, PyObject *name)
{
    if (PyUnicode_CheckExact(name) && PyUnicode_Compare(name, s_module) == 0) {
        return PyObject_GetAttr(self->otherwise, name);
    }
    return PyObject_GenericGetAttr((PyObject *)self, name);
}

static int
query_traverse(QueryBegin *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->name);
    Py_VISIT(self->databases);
    Py_VISIT(self->otherwise);
    return 0;
}

/* Nothing clears it: a call may be under way, and the function that holds it breaks every cycle. */
static void
query_dealloc(QueryBegin *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->name);
    Py_XDECREF(self->databases);
    Py_XDECREF(self->otherwise);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef query_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(QueryBegin, vectorcall), READONLY, NULL},
    {"otherwise", T_OBJECT, offsetof(QueryBegin, otherwise), READONLY, "The function of Python that begins every query."},
    {NULL},
};

static PyType_Slot query_slots[] = {
    {Py_tp_doc, "Begins the span of a query of asyncpg: `begin(connection, args, kwargs)`. None: it has none."},
    {Py_tp_new, query_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, query_getattro},
    {Py_tp_dealloc, query_dealloc},
    {Py_tp_traverse, query_traverse},
    {Py_tp_members, query_members},
    {0, NULL},
};

static PyType_Spec query_spec = {
    .name = "swagent_native._native.QueryBegin",
    .basicsize = sizeof(QueryBegin),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = query_slots,
};

int
add_query(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_reset_query, "_reset_query"}, {&s_address, "_addr"}, {&s_parameters, "_params"}, {&s_database, "database"},
        {&s_module, "__module__"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    QueryBegin_Type = (PyTypeObject *)PyType_FromSpec(&query_spec);
    return QueryBegin_Type == NULL ? -1 : PyModule_AddObjectRef(module, "QueryBegin", (PyObject *)QueryBegin_Type);
}
