/* The begin and the end of the spans of calls. */
#ifndef SWAGENT_CALLS_H
#define SWAGENT_CALLS_H

#include "native.h"

/* Whether C may do at once what is done with the tracer's lock held, see lock.h. */
int tracer_is_free(PyObject *tracer);

/* Whether it is the span of a call, of no subclass, that is open and in no generator. */
int is_open_call(PyObject *entry);

int add_calls(PyObject *module);

#endif
