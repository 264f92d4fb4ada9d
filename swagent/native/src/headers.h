/* The headers that go out with a call. */
#ifndef SWAGENT_HEADERS_H
#define SWAGENT_HEADERS_H

#include "native.h"

/* Adds the headers of a span's context to the fields of a request: 1; 0, with an exception or without, where Python has to
 * write them, and replace what is there. */
int add_context(PyObject *fields, PyObject *span, PyObject *peer);
/* Takes the headers of a context from the end of a list of fields: a new reference, or NULL with an exception set. */
PyObject *take_fields(PyObject *fields);

int add_headers(PyObject *module);

#endif
