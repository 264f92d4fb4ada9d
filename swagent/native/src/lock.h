/* The lock of a tracer. */
#ifndef SWAGENT_LOCK_H
#define SWAGENT_LOCK_H

#include "native.h"

/* Whether C may do at once, without the lock, what is done with it held. No thread can take the lock as long as C keeps the
 * interpreter: so it has to run no Python code meanwhile, and what it may not do by halves makes no object that the
 * collector follows. `lock` may be any object. */
int lock_is_free_here(PyObject *lock);

int add_lock(PyObject *module);

#endif
