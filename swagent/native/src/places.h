/* The names of what requests wait for, by the place in the code, see swagent/profile/wait_names.py. */
#ifndef SWAGENT_PLACES_H
#define SWAGENT_PLACES_H

#include "native.h"

/* What a place is called: two new references, as it is and as JSON has it. 0: Python has to look. */
int find_place(PyObject *coroutine, PyObject **name, PyObject **quoted);

int add_places(PyObject *module);

#endif
