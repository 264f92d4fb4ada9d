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

static int
find_slots(PyTypeObject *type, const char *const *names, Py_ssize_t *places)
{
    for (; *names != NULL; names++, places++) {
        PyObject *found = PyObject_GetAttrString((PyObject *)type, *names);
        if (found == NULL) {
            return -1;
        }
        int is_slot = Py_TYPE(found) == &PyMemberDescr_Type;
        PyMemberDef *member = is_slot ? ((PyMemberDescrObject *)found)->d_member : NULL;
        is_slot = is_slot && member->type == T_OBJECT_EX;
        *places = is_slot ? member->offset : 0;
        Py_DECREF(found);
        if (!is_slot) {
            PyErr_Format(PyExc_TypeError, "%s of %s is no slot", *names, type->tp_name);
            return -1;
        }
    }
    return 0;
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
        find_slots((PyTypeObject *)limit, limit_names, (Py_ssize_t *)&limit_slots) < 0) {
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
