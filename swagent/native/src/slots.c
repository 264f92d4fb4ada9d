/* Where the fields of spans and segments are, see slots.h. */
#include "slots.h"

TracerSlots tracer_slots;
LimitSlots limit_slots;
SpanSlots span_slots;
SegmentSlots segment_slots;
RequestSpanSlots request_span_slots;
TemplateSlots template_slots;
PyTypeObject *Span_Type, *Segment_Type, *RequestSpan_Type, *SpanTemplate_Type, *Tracer_Type, *Limit_Type;

/* In the order of the structures. */
static const char *const span_names[] = {
    "name", "kind", "peer", "layer", "component", "carrier", "correlation", "segment", "id", "parent_id", "refs", "tags",
    "logs", "failed", "ended", "start_time", "end_time", "epoch", "previous", "frame", "task", "_tracer", NULL,
};
static const char *const segment_names[] = {
    "tracer", "id", "trace_id", "spans", "limited", "finished", "is_root_known", "on_join", "root_ended",
    "_root_segment", "_correlation", "_tracestate", "_endpoint", "_shared_headers", "_part", "_since", "_is_closed",
    "_open", "_count", NULL,
};
static const char *const tracer_names[] = {
    "lock", "peers", "endpoints", "span_limit", "service", "instance", "traceparent", "propagates_to_few", NULL,
};
static const char *const limit_names[] = {"known", NULL};
static const char *const request_span_names[] = {"pending", "_facts", "in_parts", NULL};
static const char *const template_names[] = {"name", "component", "tags", "failed", NULL};

static PyGetSetDef logs_of_span;

int
find_slots(PyTypeObject *type, const char *const *names, Py_ssize_t *places)
{
    for (; *names != NULL; names++, places++) {
        PyObject *found = PyObject_GetAttrString((PyObject *)type, *names);
        if (found == NULL) {
            return -1;
        }
        if (Py_TYPE(found) == &PyGetSetDescr_Type && ((PyGetSetDescrObject *)found)->d_getset == &logs_of_span) {
            Py_DECREF(found); /* hidden already, so its place is known */
            continue;
        }
        int is_slot = Py_TYPE(found) == &PyMemberDescr_Type;
        PyMemberDef *member = is_slot ? ((PyMemberDescrObject *)found)->d_member : NULL;
        is_slot = is_slot && member->type == T_OBJECT_EX;
        Py_ssize_t place = is_slot ? member->offset : 0;
        Py_DECREF(found);
        if (!is_slot) {
            PyErr_Format(PyExc_TypeError, "%s of %s is no slot", *names, type->tp_name);
            return -1;
        }
        *places = place;
    }
    return 0;
}

/* -- logs ------------------------------------------------------------------------------------------------------------ */

/* Few spans have logs, and a list of them would be one more object for the garbage collector to look at. So the list is made
 * when Python asks for it; C makes spans without. */
static PyObject *
get_logs(PyObject *span, void *Py_UNUSED(nothing))
{
    if (FIELD(span, span_slots.logs) == NULL) {
        PyObject *made = PyList_New(0);
        if (made == NULL) {
            return NULL;
        }
        /* making it may have run the collector, and other code of the application */
        if (FIELD(span, span_slots.logs) == NULL) {
            FIELD(span, span_slots.logs) = made;
        }
        else {
            Py_DECREF(made);
        }
    }
    return Py_NewRef(FIELD(span, span_slots.logs));
}

static int
set_logs(PyObject *span, PyObject *value, void *Py_UNUSED(nothing))
{
    set_field(span, span_slots.logs, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef logs_of_span = {"logs", get_logs, set_logs, "The log entries, in their order.", NULL};

static int
hide_logs(PyObject *span_type)
{
    PyObject *descriptor = PyDescr_NewGetSet((PyTypeObject *)span_type, &logs_of_span);
    int failed = descriptor == NULL ? -1 : PyObject_SetAttrString(span_type, "logs", descriptor);
    Py_XDECREF(descriptor);
    return failed;
}

static PyObject *
configure_slots(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"span_type", "segment_type", "tracer_type", "limit_type", NULL};
    PyObject *span, *segment, *tracer, *limit;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!", names, &PyType_Type, &span, &PyType_Type, &segment,
                                     &PyType_Type, &tracer, &PyType_Type, &limit) ||
        find_slots((PyTypeObject *)span, span_names, (Py_ssize_t *)&span_slots) < 0 ||
        find_slots((PyTypeObject *)segment, segment_names, (Py_ssize_t *)&segment_slots) < 0 ||
        find_slots((PyTypeObject *)tracer, tracer_names, (Py_ssize_t *)&tracer_slots) < 0 ||
        find_slots((PyTypeObject *)limit, limit_names, (Py_ssize_t *)&limit_slots) < 0 || hide_logs(span) < 0) {
        return NULL;
    }
    Py_XSETREF(Tracer_Type, (PyTypeObject *)Py_NewRef(tracer));
    Py_XSETREF(Limit_Type, (PyTypeObject *)Py_NewRef(limit));
    Py_XSETREF(Segment_Type, (PyTypeObject *)Py_NewRef(segment));
    Py_XSETREF(Span_Type, (PyTypeObject *)Py_NewRef(span));
    Py_RETURN_NONE;
}

static PyObject *
configure_request_slots(PyObject *module, PyObject *args)
{
    PyObject *type, *template;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyType_Type, &template)) {
        return NULL;
    }
    if (Span_Type == NULL || !PyType_IsSubtype((PyTypeObject *)type, Span_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of spans, and then one of them");
        return NULL;
    }
    if (find_slots((PyTypeObject *)type, request_span_names, (Py_ssize_t *)&request_span_slots) < 0 ||
        find_slots((PyTypeObject *)template, template_names, (Py_ssize_t *)&template_slots) < 0) {
        return NULL;
    }
    Py_XSETREF(SpanTemplate_Type, (PyTypeObject *)Py_NewRef(template));
    Py_XSETREF(RequestSpan_Type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_slots", (PyCFunction)(void (*)(void))configure_slots, METH_VARARGS | METH_KEYWORDS,
     "Set the classes of spans, segments, tracers and their limits."},
    {"configure_request_slots", configure_request_slots, METH_VARARGS, "Set the classes of the spans of requests, and of their descriptions."},
    {NULL},
};

int
add_slots(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
