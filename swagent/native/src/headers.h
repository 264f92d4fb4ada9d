/* The headers that go out with a call. */
#ifndef SWAGENT_HEADERS_H
#define SWAGENT_HEADERS_H

#include "native.h"

int add_headers(PyObject *module);

#endif
