/* The `send` of an application: notes the response of a request on its way to the server, as swagent/asgi/send.py. */
#include "native.h"
#include "pool.h"
#include "wire.h"

typedef struct {
    PyObject_HEAD
    Request *request;
    PyObject *send;
    PyObject *weak; /* references to it */
    vectorcallfunc vectorcall;
} Send;

static PyTypeObject *Send_Type;
static Pool pool;
static PyObject *s_type, *s_status, *s_more_body, *s_start, *s_body, *s_following;
/* what code finds that looks at a function */
static PyObject *face;
/* of Python: makes a `send` for an unusual server, follows a response by messages, its state, notes any message */
static PyObject *make_otherwise, *send_and_follow, *following_type, *note_otherwise;

#define IS_COROUTINE_FUNCTION 0x80 /* CO_COROUTINE */

/* -- one message -------------------------------------------------------------------------------------------------- */

/* The texts that a framework has in the places of ours: held, so no other text has the address of one. */
static PyObject *seen_start, *seen_body;

static int
is_text(PyObject *text, PyObject *known, PyObject **seen)
{
    if (text == *seen) {
        return 1;
    }
    if (!PyUnicode_CheckExact(text) || PyUnicode_Compare(text, known) != 0) {
        return 0;
    }
    Py_XSETREF(*seen, Py_NewRef(text));
    return 1;
}

static int
has_more(PyObject *message)
{
    PyObject *more = PyDict_GetItemWithError(message, s_more_body);
    return more == NULL ? (PyErr_Occurred() ? -1 : 0) : PyObject_IsTrue(more);
}

/* 0; -1 where Python has to look at the message, maybe with an exception set; FAULT with one that is ours. */
#define FAULT -2

static int
note_message(Request *request, PyObject *message)
{
    PyObject *kind = PyDict_GetItemWithError(message, s_type);
    if (kind == NULL) {
        return -1;
    }
    if (kind != seen_body && is_text(kind, s_start, &seen_start)) {
        PyObject *status = PyDict_GetItemWithError(message, s_status);
        if (status == NULL || !PyLong_CheckExact(status)) {
            return -1;
        }
        long value = PyLong_AsLong(status);
        if (value == -1 && PyErr_Occurred()) {
            return -1;
        }
        request->status = value;
        return 0;
    }
    if (is_text(kind, s_body, &seen_body) && request->status > 0 && request->status < 500 && request->following == Py_None) {
        int more = has_more(message);
        if (more < 0) {
            return -1;
        }
        if (!more) {
            /* before the last byte: the client may not see the end of a request sooner than its span does */
            return request_finish(request) < 0 ? FAULT : 0;
        }
    }
    if (request->following == Py_None) {
        PyObject *following = PyObject_CallNoArgs(following_type);
        if (following == NULL) {
            return -1;
        }
        Py_SETREF(request->following, following);
    }
    return 0;
}

/* Note a message, in Python where that has to look, and count a fault: 0, or -1 with what has to reach the application,
 * such as KeyboardInterrupt. */
static int
note(Request *request, PyObject *message)
{
    /* a message of another class may run code when it is read */
    int noted = PyDict_CheckExact(message) ? note_message(request, message) : -1;
    if (noted == 0) {
        return 0;
    }
    if (noted == FAULT) {
        return note_fault(request->faults, s_following);
    }
    if (PyErr_Occurred() && !forgive()) {
        return -1;
    }
    PyObject *done = PyObject_CallFunctionObjArgs(note_otherwise, request, message, NULL);
    Py_XDECREF(done);
    return done != NULL || forgive() ? 0 : -1;
}

static PyObject *
send_call(Send *self, PyObject *const *args, size_t count, PyObject *names)
{
    Request *request = self->request;
    PyObject *message = PyVectorcall_NARGS(count) == 1 ? args[0] : NULL;
    if (message == NULL && PyVectorcall_NARGS(count) == 0 && names != NULL && PyTuple_GET_SIZE(names) == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "message") == 0) {
        message = args[0];
        names = NULL;
    }
    if (message == NULL || (names != NULL && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "send() takes one message");
        return NULL;
    }
    if (note(request, message) < 0) {
        return NULL;
    }
    if (request->following == Py_None) {
        return PyObject_CallOneArg(self->send, message);
    }
    return PyObject_CallFunctionObjArgs(send_and_follow, request, self->send, message, NULL);
}

/* -- the type ----------------------------------------------------------------------------------------------------- */

/* Whether the flags of its code show a coroutine function. */
static int
is_coroutine_function(PyObject *function)
{
    if (PyMethod_Check(function)) {
        function = PyMethod_GET_FUNCTION(function);
    }
    if (!PyFunction_Check(function)) {
        return 0;
    }
    return (((PyCodeObject *)PyFunction_GET_CODE(function))->co_flags & IS_COROUTINE_FUNCTION) != 0;
}

PyObject *
make_send(Request *request, PyObject *send)
{
    if (!is_coroutine_function(send)) {
        return PyObject_CallFunctionObjArgs(make_otherwise, request, send, NULL);
    }
    Send *self = (Send *)pool_new(&pool, Send_Type);
    if (self == NULL) {
        return NULL;
    }
    self->request = (Request *)Py_NewRef(request);
    self->send = Py_NewRef(send);
    self->weak = NULL;
    self->vectorcall = (vectorcallfunc)send_call;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *
send_getattro(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || face == NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    PyObject *error = take_error();
    found = PyDict_GetItemWithError(face, name);
    if (found == NULL && !PyErr_Occurred()) {
        give_back_error(error);
        return NULL;
    }
    Py_XDECREF(error);
    return Py_XNewRef(found);
}

static int
send_traverse(Send *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->request);
    Py_VISIT(self->send);
    return 0;
}

static int
send_clear(Send *self)
{
    /* the request and the server's `send` stay: a call may still come from what is being cleared */
    return 0;
}

static void
send_dealloc(Send *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weak != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Py_XDECREF(self->request);
    Py_XDECREF(self->send);
    pool_free(&pool, (PyObject *)self);
    Py_DECREF(type);
}

static PyMemberDef send_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Send, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Send, weak), READONLY, NULL},
    {NULL},
};

static PyObject *
send_copy(PyObject *self, PyObject *Py_UNUSED(memo))
{
    return Py_NewRef(self);
}

static PyMethodDef send_methods[] = {
    {"__copy__", send_copy, METH_NOARGS, "Itself, as of a function."},
    {"__deepcopy__", send_copy, METH_O, "Itself, as of a function."},
    {NULL},
};

static PyType_Slot send_slots[] = {
    {Py_tp_doc, "A `send` that notes the response of its request."},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, send_getattro},
    {Py_tp_dealloc, send_dealloc},
    {Py_tp_traverse, send_traverse},
    {Py_tp_clear, send_clear},
    {Py_tp_members, send_members},
    {Py_tp_methods, send_methods},
    {0, NULL},
};

static PyType_Spec send_spec = {
    .name = "swagent_native._native.Send",
    .basicsize = sizeof(Send),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = send_slots,
};

static PyObject *
configure_send(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"make_otherwise", "send_and_follow", "following", "note", "face", NULL};
    PyObject *made, *follow, *following, *noting, *looks;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOO!", names, &made, &follow, &following, &noting, &PyDict_Type,
                                     &looks)) {
        return NULL;
    }
    Py_XSETREF(face, Py_NewRef(looks));
    Py_XSETREF(make_otherwise, Py_NewRef(made));
    Py_XSETREF(send_and_follow, Py_NewRef(follow));
    Py_XSETREF(following_type, Py_NewRef(following));
    Py_XSETREF(note_otherwise, Py_NewRef(noting));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_send", (PyCFunction)(void (*)(void))configure_send, METH_VARARGS | METH_KEYWORDS,
     "Set the functions of Python for what is unusual, and the attributes that a function would have."},
    {NULL},
};

int
add_send(PyObject *module)
{
    s_type = PyUnicode_InternFromString("type");
    s_status = PyUnicode_InternFromString("status");
    s_more_body = PyUnicode_InternFromString("more_body");
    s_start = PyUnicode_InternFromString("http.response.start");
    s_body = PyUnicode_InternFromString("http.response.body");
    s_following = PyUnicode_InternFromString("following a response");
    Send_Type = (PyTypeObject *)PyType_FromSpec(&send_spec);
    if (!s_type || !s_status || !s_more_body || !s_start || !s_body || !s_following || Send_Type == NULL) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
