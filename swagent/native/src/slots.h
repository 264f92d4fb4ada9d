/* The fields of spans and segments, which are objects of Python: the slots of their classes, by their place in an object.
 *
 * Python has the classes and every method that is unusual. C reads and writes the fields of exactly these classes, and so
 * of no subclass that may mean something else by a name.
 */
#ifndef SWAGENT_SLOTS_H
#define SWAGENT_SLOTS_H

#include "native.h"

typedef struct {
    Py_ssize_t name, kind, peer, layer, component, carrier, correlation, segment, id, parent_id, refs, tags, logs, failed,
        ended, start_time, end_time, epoch, previous, frame, task, tracer;
} SpanSlots;

typedef struct {
    Py_ssize_t tracer, id, trace_id, spans, limited, finished, is_root_known, on_join, root_ended, root_segment,
        correlation, tracestate, endpoint, shared_headers, part, since, is_closed, open, count;
} SegmentSlots;

typedef struct {
    Py_ssize_t pending, facts, in_parts;
} RequestSpanSlots;

typedef struct {
    Py_ssize_t name, component, tags, failed;
} TemplateSlots;

/* Of a tracer, and of what limits its names. */
typedef struct {
    Py_ssize_t lock, peers, endpoints, span_limit, service, instance, traceparent, propagates_to_few;
} TracerSlots;

typedef struct {
    Py_ssize_t known;
} LimitSlots;

extern TracerSlots tracer_slots;
extern LimitSlots limit_slots;
extern SpanSlots span_slots;
extern SegmentSlots segment_slots;
extern RequestSpanSlots request_span_slots;
extern TemplateSlots template_slots;
/* NULL until they are known */
extern PyTypeObject *Span_Type, *Segment_Type, *RequestSpan_Type, *SpanTemplate_Type, *Tracer_Type, *Limit_Type;

/* A field of an object: borrowed; NULL where it has not been set. The logs of a span are set where it has some. */
#define FIELD(object, place) (*(PyObject **)((char *)(object) + (place)))

/* Sets a field. Steals the reference. What was there before may run Python code as it goes. */
static inline void
set_field(PyObject *object, Py_ssize_t place, PyObject *value)
{
    PyObject **at = &FIELD(object, place), *former = *at;
    *at = value;
    Py_XDECREF(former);
}

static inline int
is_span(PyObject *object)
{
    return Span_Type != NULL && (Py_TYPE(object) == Span_Type || Py_TYPE(object) == RequestSpan_Type);
}

/* Finds the slots of a class by their names, which NULL ends: 0, or -1 with an exception set. */
int find_slots(PyTypeObject *type, const char *const *names, Py_ssize_t *places);

int add_slots(PyObject *module);

#endif
