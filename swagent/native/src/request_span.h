/* The span of a request. */
#ifndef SWAGENT_REQUEST_SPAN_H
#define SWAGENT_REQUEST_SPAN_H

#include "native.h"

/* The span of a request that has none, which is recorded: a new reference; NULL without an exception where Python has to
 * look. */
PyObject *request_open_span(Request *request);
/* As `RequestSpan.name_now`: a new reference; NULL, with an exception or without, where Python has to name it. */
PyObject *name_operation(PyObject *span);
/* End a request that has a span, and the span: 1, or 0 where Python has to do it. -1 with an exception set. */
int request_end_span(Request *request);

int add_request_span(PyObject *module);

#endif
