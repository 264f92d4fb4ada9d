/* Callbacks that know when they were due. */
#ifndef SWAGENT_LATE_H
#define SWAGENT_LATE_H

#include "native.h"

/* The base of `AsyncioSteps`. */
typedef struct {
    PyObject_HEAD
    PyObject *late; /* the callback that is called just now; NULL or None: there is none */
} Steps;

typedef struct {
    PyObject_HEAD
    PyObject *steps;
    PyObject *callback;
    PyObject *seconds; /* how long the timer was to run; None: it is none */
    double due;
    vectorcallfunc vectorcall;
} Late;

extern PyTypeObject *Steps_Type, *Late_Type;

/* A new reference; NULL with an exception set. */
PyObject *make_late(PyObject *steps, PyObject *callback, double due, PyObject *seconds);

int add_late(PyObject *module);

#endif
