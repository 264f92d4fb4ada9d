/* The names of what requests wait for, by the place in the code, see swagent/profile/wait_names.py.
 *
 * A place is known by the code objects of the coroutines that wait for each other and by the class of what the
 * innermost one awaits. C follows plain coroutines and futures only. The name of a place is asked of Python once.
 */
#include "places.h"

#define DEEPEST 48
#define PLACES 256

typedef struct {
    Py_ssize_t depth;
    PyObject *codes[DEEPEST];
    PyTypeObject *awaited;
    PyObject *name;
    PyObject *quoted;
} Place;

static Place *places[PLACES];
static PyObject *name_of_place;
/* what `cr_await` of a coroutine reads, without the look for the attribute */
static getter awaited_by;
static PyTypeObject *task_type;

static void
forget(Place *place)
{
    for (Py_ssize_t i = 0; i < place->depth; i++) {
        Py_DECREF(place->codes[i]);
    }
    Py_XDECREF(place->awaited);
    Py_XDECREF(place->name);
    Py_XDECREF(place->quoted);
    PyMem_Free(place);
}

/* -- the chain ---------------------------------------------------------------------------------------------------- */

static int
take_first(PyObject *object, void *found)
{
    if (!PyType_Check(object) && *(PyObject **)found == NULL) {
        *(PyObject **)found = object;
    }
    return 0;
}

/* The class of what a coroutine awaits at its end; NULL: Python has to look. The iterator of a future hides it. */
static PyTypeObject *
class_of_end(PyObject *end)
{
    if (end == Py_None) {
        return NULL;
    }
    if (strcmp(Py_TYPE(end)->tp_name, "_asyncio.FutureIter") == 0) {
        PyObject *future = NULL;
        Py_TYPE(end)->tp_traverse(end, take_first, &future);
        /* the name of a task is its own */
        return future == NULL || PyObject_TypeCheck(future, task_type) ? NULL : Py_TYPE(future);
    }
    return NULL;
}

/* The code of a plain coroutine: a new reference. The attribute would call the audit hooks. */
static PyObject *
code_of(PyObject *coroutine)
{
#if PY_VERSION_HEX >= 0x030C0000
    return (PyObject *)PyGen_GetCode((PyGenObject *)coroutine);
#else
    return Py_XNewRef((PyObject *)((PyCoroObject *)coroutine)->cr_code);
#endif
}

/* Follow plain coroutines into a place, which holds their code. 0: Python has to look. */
static int
follow(PyObject *coroutine, Place *place)
{
    PyObject *at = Py_NewRef(coroutine);
    while (PyCoro_CheckExact(at) && place->depth < DEEPEST) {
        PyObject *code = code_of(at), *next = awaited_by(at, NULL);
        if (code != NULL) {
            place->codes[place->depth++] = code;
        }
        Py_DECREF(at);
        at = next;
        if (code == NULL || next == NULL) {
            PyErr_Clear();
            Py_XDECREF(next);
            return 0;
        }
    }
    place->awaited = (PyTypeObject *)Py_XNewRef(class_of_end(at));
    Py_DECREF(at);
    return place->awaited != NULL;
}

/* -- what is known ------------------------------------------------------------------------------------------------ */

static size_t
slot_of(Place *place)
{
    size_t mixed = (size_t)place->awaited >> 4;
    for (Py_ssize_t i = 0; i < place->depth; i++) {
        mixed = mixed * 1000003 ^ ((size_t)place->codes[i] >> 4);
    }
    return (mixed ^ mixed >> 16) % PLACES;
}

static int
is_same(Place *one, Place *other)
{
    return one->depth == other->depth && one->awaited == other->awaited &&
           memcmp(one->codes, other->codes, one->depth * sizeof(PyObject *)) == 0;
}

/* Ask Python for the name of a new place: a pair, or None where it has no name of its own. */
static int
ask(PyObject *coroutine, Place *place)
{
    PyObject *pair = PyObject_CallOneArg(name_of_place, coroutine);
    if (pair == NULL || !PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        drop_error();
        Py_XDECREF(pair);
        return 0;
    }
    place->name = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
    place->quoted = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    Py_DECREF(pair);
    return PyUnicode_Check(place->name) && PyUnicode_Check(place->quoted);
}

int
find_place(PyObject *coroutine, PyObject **name, PyObject **quoted)
{
    /* most places are known, so this one is on the stack at first */
    Place place;
    place.depth = 0;
    place.awaited = NULL;
    place.name = place.quoted = NULL;
    int found = coroutine != NULL && name_of_place != NULL && follow(coroutine, &place);
    Place **slot = found ? &places[slot_of(&place)] : NULL;
    if (found && (*slot == NULL || !is_same(*slot, &place))) {
        Place *kept = ask(coroutine, &place) ? PyMem_Malloc(sizeof(Place)) : NULL;
        found = kept != NULL;
        if (found) {
            Place *former = *slot;
            *kept = place;
            *slot = kept;
            *name = Py_NewRef(kept->name);
            *quoted = Py_NewRef(kept->quoted);
            if (former != NULL) {
                forget(former);
            }
            return 1;
        }
    }
    if (found) {
        *name = Py_NewRef((*slot)->name);
        *quoted = Py_NewRef((*slot)->quoted);
    }
    for (Py_ssize_t i = 0; i < place.depth; i++) {
        Py_DECREF(place.codes[i]);
    }
    Py_XDECREF(place.awaited);
    Py_XDECREF(place.name);
    Py_XDECREF(place.quoted);
    return found;
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyObject *
configure_places(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name_of_place", "task_type", NULL};
    PyObject *naming, *type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!", names, &naming, &PyType_Type, &type)) {
        return NULL;
    }
    Py_XSETREF(name_of_place, Py_NewRef(naming));
    Py_XSETREF(task_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyObject *
forget_places(PyObject *module, PyObject *Py_UNUSED(nothing))
{
    for (size_t i = 0; i < PLACES; i++) {
        Place *place = places[i];
        places[i] = NULL;
        if (place != NULL) {
            forget(place);
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"forget_places", forget_places, METH_NOARGS, "Ask for each name anew, in tests."},
    {"configure_places", (PyCFunction)(void (*)(void))configure_places, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the names of places need."},
    {NULL},
};

int
add_places(PyObject *module)
{
    PyObject *read = PyObject_GetAttrString((PyObject *)&PyCoro_Type, "cr_await");
    if (read == NULL || Py_TYPE(read) != &PyGetSetDescr_Type) {
        Py_XDECREF(read);
        PyErr_SetString(PyExc_ImportError, "coroutines do not show what they await as they did");
        return -1;
    }
    awaited_by = ((PyGetSetDescrObject *)read)->d_getset->get;
    Py_DECREF(read);
    return PyModule_AddFunctions(module, functions);
}
