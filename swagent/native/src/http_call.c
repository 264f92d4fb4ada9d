/* The calls of httpx, as in swagent/instrument/libraries/http/httpx.py: their begin with the headers of the context, their end,
 * and the look for cookies. The plain cases are C's; the rest is Python's, which then does all of it.
 */
#include "calls.h"
#include "headers.h"
#include "slots.h"
#include "wire.h"

/* Of Python; set once, and held for ever. */
static struct {
    PyObject *settings; /* dict: the module's names of the settings */
    PyObject *places;   /* peer, name and tags by method, scheme, host, port and path: a dict that makes what it misses */
    PyObject *statuses; /* dict: the tag of a status */
    PyObject *layer, *component;
    PyObject *url_type;       /* class: of URLs */
    PyObject *reference_type; /* class: of the parts of a URL, a named tuple */
    PyObject *begin;          /* functions for all that is unusual: they begin a call, */
    PyObject *write;          /* write the headers of one that has begun, */
    PyObject *end;            /* and end it */
} known;

static const char *const known_names[] = {
    "settings", "places", "statuses", "layer", "component", "url_type", "reference_type", "begin", "write", "end", NULL,
};
static PyObject *s_ignored, *s_real_paths, *s_method, *s_url, *s_reference, *s_headers, *s_list, *s_request,
    *s_status_code, *s_is_closed;

/* -- the settings ------------------------------------------------------------------------------------------------- */

/* Those that were looked at last, by which every method is recorded and no path is shown as it is. They do not change. */
static PyObject *plain_settings;

static int
has_value(PyObject *settings, PyObject *name, PyObject *wanted)
{
    PyObject *value = PyObject_GetAttr(settings, name);
    int has = value == wanted || (wanted == NULL && value != NULL && PyTuple_CheckExact(value) && !PyTuple_GET_SIZE(value));
    Py_XDECREF(value);
    PyErr_Clear();
    return has;
}

static int
are_plain(PyObject *settings)
{
    return has_value(settings, s_ignored, NULL) && has_value(settings, s_real_paths, Py_False);
}

/* -- the begin ---------------------------------------------------------------------------------------------------- */

enum { SCHEME, USERINFO, HOST, PORT, PATH, PARTS };

/* Whether the parts of a URL are what httpx shows of them: neither a name in Punycode nor a quoted path. */
static int
is_shown(PyObject *reference)
{
    PyObject *scheme = PyTuple_GET_ITEM(reference, SCHEME), *host = PyTuple_GET_ITEM(reference, HOST);
    PyObject *port = PyTuple_GET_ITEM(reference, PORT), *path = PyTuple_GET_ITEM(reference, PATH);
    if (!PyUnicode_CheckExact(scheme) || !PyUnicode_CheckExact(host) || !PyUnicode_CheckExact(path) ||
        !(port == Py_None || PyLong_CheckExact(port))) {
        return 0;
    }
    /* an `x` is enough to let Python look */
    return (!PyUnicode_GET_LENGTH(host) || PyUnicode_READ_CHAR(host, 0) != 'x') &&
           PyUnicode_FindChar(path, '%', 0, PyUnicode_GET_LENGTH(path), 1) == -1;
}

/* What is known of a place: a new reference; NULL, with an exception or without, where Python has to look. */
static PyObject *
find_place_of(PyObject *method, PyObject *reference)
{
    if (!PyUnicode_CheckExact(method) || (PyObject *)Py_TYPE(reference) != known.reference_type ||
        PyTuple_GET_SIZE(reference) < PARTS || !is_shown(reference)) {
        return NULL;
    }
    PyObject *key = PyTuple_Pack(5, method, PyTuple_GET_ITEM(reference, SCHEME), PyTuple_GET_ITEM(reference, HOST),
                                 PyTuple_GET_ITEM(reference, PORT), PyTuple_GET_ITEM(reference, PATH));
    PyObject *place = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(known.places, key));
    if (place == NULL && key != NULL && !PyErr_Occurred()) {
        place = PyObject_GetItem(known.places, key);
    }
    Py_XDECREF(key);
    if (place != NULL && (!PyTuple_CheckExact(place) || PyTuple_GET_SIZE(place) != 3 ||
                          !PyTuple_CheckExact(PyTuple_GET_ITEM(place, 2)))) {
        Py_CLEAR(place);
    }
    return place;
}

static PyObject *
place_of(PyObject *request)
{
    PyObject *url = PyObject_GetAttr(request, s_url);
    if (url == NULL || (PyObject *)Py_TYPE(url) != known.url_type) {
        Py_XDECREF(url);
        return NULL;
    }
    PyObject *reference = PyObject_GetAttr(url, s_reference);
    PyObject *method = reference == NULL ? NULL : PyObject_GetAttr(request, s_method);
    PyObject *place = method == NULL ? NULL : find_place_of(method, reference);
    Py_XDECREF(method);
    Py_XDECREF(reference);
    Py_DECREF(url);
    return place;
}

/* 1; 0 where Python has to write them, maybe with an exception set. */
static int
write_headers(PyObject *span, PyObject *request, PyObject *peer)
{
    PyObject *headers = PyObject_GetAttr(request, s_headers);
    PyObject *fields = headers == NULL ? NULL : PyObject_GetAttr(headers, s_list);
    int done = fields != NULL && add_context(fields, span, peer);
    Py_XDECREF(fields);
    Py_XDECREF(headers);
    return done;
}

/* A new reference: the span. NULL, with an exception or without, where Python has to begin it. */
static PyObject *
begin_plainly(PyObject *request)
{
    PyObject *place = have_plain_settings(known.settings, &plain_settings, are_plain) ? place_of(request) : NULL;
    if (place == NULL) {
        return NULL;
    }
    PyObject *peer = PyTuple_GET_ITEM(place, 0);
    PyObject *span = begin_known_call(PyTuple_GET_ITEM(place, 1), peer, known.layer, known.component, PyTuple_GET_ITEM(place, 2));
    if (span == Py_None) {
        /* the call that it is a part of has headers, too */
        Py_CLEAR(span);
    }
    else if (span != NULL && !write_headers(span, request, peer)) {
        PyObject *done = PyErr_Occurred() && !forgive() && note_error(known.write) < 0
                             ? NULL
                             : PyObject_CallFunctionObjArgs(known.write, span, request, NULL);
        if (done == NULL) {
            /* as the active one of this context it would swallow every call after it */
            PyObject *error = take_error(), *ended = span_stop(span, NULL);
            Py_XDECREF(ended);
            drop_error();
            Py_CLEAR(span);
            give_back_error(error);
        }
        Py_XDECREF(done);
    }
    Py_DECREF(place);
    return span;
}

static PyObject *
otherwise(PyObject *function, PyObject *const *args, Py_ssize_t count)
{
    if (function == NULL) {
        PyErr_SetString(PyExc_TypeError, "not configured");
        return NULL;
    }
    return PyObject_Vectorcall(function, args, (size_t)count, NULL);
}

/* client, args, kwargs */
static PyObject *
begin_request(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (known.end != NULL && count == 3 && PyTuple_CheckExact(args[1]) && PyTuple_GET_SIZE(args[1])) {
        PyObject *span = begin_plainly(PyTuple_GET_ITEM(args[1], 0));
        if (span != NULL || (PyErr_Occurred() && !forgive())) {
            return span;
        }
    }
    return otherwise(known.begin, args, count);
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

/* The tag of the status of a response that is whole, and no failure: borrowed. NULL, with an exception or without, where
 * Python has to look. */
static PyObject *
tag_of_closed(PyObject *response)
{
    PyObject *status = PyObject_GetAttr(response, s_status_code), *tag = NULL;
    if (status != NULL && PyLong_CheckExact(status)) {
        int overflow;
        long number = PyLong_AsLongAndOverflow(status, &overflow);
        PyObject *is_closed = overflow || number >= 400 ? NULL : PyObject_GetAttr(response, s_is_closed);
        tag = is_closed == Py_True ? PyDict_GetItemWithError(known.statuses, status) : NULL;
        Py_XDECREF(is_closed);
    }
    Py_XDECREF(status);
    return tag;
}

/* span, response, client, args, kwargs */
static PyObject *
end_request(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    PyObject *span = count ? args[0] : NULL;
    if (known.end != NULL && count > 1 && Span_Type != NULL && Py_TYPE(span) == Span_Type) {
        PyObject *tag = Py_XNewRef(tag_of_closed(args[1])), *tags = FIELD(span, span_slots.tags);
        if (tag != NULL && tags != NULL && PyList_CheckExact(tags) && PyList_Append(tags, tag) == 0) {
            Py_DECREF(tag);
            return span_stop(span, NULL);
        }
        Py_XDECREF(tag);
        if (PyErr_Occurred() && !forgive()) {
            return NULL;
        }
    }
    return otherwise(known.end, args, count);
}

/* -- the look for cookies ----------------------------------------------------------------------------------------- */

/* The fields of the headers of a response's request: a new reference. */
static PyObject *
fields_of(PyObject *response)
{
    PyObject *request = PyObject_GetAttr(response, s_request);
    PyObject *headers = request == NULL ? NULL : PyObject_GetAttr(request, s_headers);
    PyObject *fields = headers == NULL ? NULL : PyObject_GetAttr(headers, s_list);
    Py_XDECREF(request);
    Py_XDECREF(headers);
    return fields;
}

/* The headers of the context go back to the others; an exception stays set. */
static void
put_back(PyObject *fields, PyObject *ours)
{
    PyObject *error = take_error();
    Py_ssize_t end = PyList_GET_SIZE(fields);
    if (PyList_SetSlice(fields, end, end, ours) < 0) {
        PyErr_Clear();
    }
    if (error != NULL) {
        give_back_error(error);
    }
}

/* extract, otherwise, cookies, response */
static PyObject *
look_for_cookies(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "two functions, the cookies and a response");
        return NULL;
    }
    PyObject *fields = fields_of(args[3]);
    PyObject *ours = fields == NULL || !PyList_CheckExact(fields) ? NULL : take_fields(fields);
    if (ours == NULL) {
        Py_XDECREF(fields);
        return PyErr_Occurred() && !forgive() && note_error(args[1]) < 0 ? NULL : PyObject_Vectorcall(args[1], args + 2, 2, NULL);
    }
    PyObject *result = PyObject_Vectorcall(args[0], args + 2, 2, NULL);
    if (PyList_GET_SIZE(ours)) {
        put_back(fields, ours);
    }
    Py_DECREF(ours);
    Py_DECREF(fields);
    return result;
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyObject *
configure_requests(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    if (set_known((PyObject **)&known, known_names, args, kwargs) < 0) {
        return NULL;
    }
    if (!PyDict_Check(known.settings) || !PyDict_Check(known.places) || !PyDict_Check(known.statuses) ||
        !PyType_Check(known.reference_type) ||
        !PyType_IsSubtype((PyTypeObject *)known.reference_type, &PyTuple_Type)) {
        Py_CLEAR(known.end);
        PyErr_SetString(PyExc_TypeError, "three dicts, and a named tuple");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_requests", (PyCFunction)(void (*)(void))configure_requests, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that the calls of httpx know."},
    {"begin_request", (PyCFunction)(void (*)(void))begin_request, METH_FASTCALL,
     "Begin the span of a call of httpx, and write the headers of its context. None: it has none."},
    {"end_request", (PyCFunction)(void (*)(void))end_request, METH_FASTCALL,
     "Note the status of a response, and end the span of its call with it or with its body."},
    {"look_for_cookies", (PyCFunction)(void (*)(void))look_for_cookies, METH_FASTCALL,
     "`extract(cookies, response)`, with the headers of the context put aside meanwhile."},
    {NULL},
};

int
add_http_call(PyObject *module)
{
    const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        {&s_ignored, "http_ignored_methods"}, {&s_real_paths, "http_real_paths"},
        {&s_method, "method"}, {&s_url, "url"}, {&s_reference, "_uri_reference"}, {&s_headers, "headers"},
        {&s_list, "_list"}, {&s_request, "_request"}, {&s_status_code, "status_code"}, {&s_is_closed, "is_closed"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *names[i].at = PyUnicode_InternFromString(names[i].text);
        if (*names[i].at == NULL) {
            return -1;
        }
    }
    return PyModule_AddFunctions(module, functions);
}
