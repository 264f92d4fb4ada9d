/* The begin and the end of the spans of calls. */
#ifndef SWAGENT_CALLS_H
#define SWAGENT_CALLS_H

#include "native.h"

/* Whether C may do at once what is done with the tracer's lock held, see lock.h. */
int tracer_is_free(PyObject *tracer);

/* Whether it is the span of a call, of no subclass, that is open and in no generator. */
int is_open_call(PyObject *entry);

/* Whether the settings of now, the `_current` of a module's names, are plain. They do not change, so that each is asked
 * once: those that were plain last are kept in `last`. */
int have_plain_settings(PyObject *names, PyObject **last, int (*are_plain)(PyObject *settings));

/* As `begin_query` of a statement that has come before, with plain settings: the span, or None. NULL, with an exception or
 * without, where Python has to begin it. */
PyObject *begin_known_query(PyObject *name, PyObject *database, PyObject *statement);

/* As `begin_call`: the span, or None. NULL, with an exception or without, where Python has to begin it. */
PyObject *begin_known_call(PyObject *name, PyObject *peer, PyObject *layer, PyObject *component, PyObject *tags);

/* As `Span.stop` of a span of no subclass: None, or NULL with an exception set. */
PyObject *span_stop(PyObject *span, PyObject *nothing);

int add_calls(PyObject *module);

#endif
