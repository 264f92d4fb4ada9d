/* Freed objects of one size, which are used again.
 *
 * The collector runs after so many allocations that were not freed, and an object out of a pool is no allocation. So the
 * few objects that each request has do not make it run more often than the application's own do.
 *
 * With SWAGENT_NO_POOLS each object is freed, so that a checker of memory sees an access after that.
 */
#ifndef SWAGENT_POOL_H
#define SWAGENT_POOL_H

#include "native.h"

#define POOLED 128

typedef struct {
    Py_ssize_t count;
    PyObject *freed[POOLED];
} Pool;

/* An object whose fields are not set, and which is not tracked; NULL with an exception set. The type's objects are of
 * the pool's size, and have nothing in front of the collector's head. */
static inline PyObject *
pool_new(Pool *pool, PyTypeObject *type)
{
    return pool->count ? PyObject_Init(pool->freed[--pool->count], type) : PyObject_GC_New(PyObject, type);
}

/* The object has lost its references, and is not tracked. */
static inline void
pool_free(Pool *pool, PyObject *object)
{
#ifndef SWAGENT_NO_POOLS
    if (pool->count < POOLED) {
        pool->freed[pool->count++] = object;
        return;
    }
#endif
    PyObject_GC_Del(object);
}

#endif
