/* The clock of one request, see swagent/profile/light_clock.py for its theory of operation. */
#ifndef SWAGENT_CLOCK_H
#define SWAGENT_CLOCK_H

#include "native.h"

typedef struct {
    PyObject *steps;  /* reports the steps of its tasks; NULL: it has stopped, or there is none */
    PyObject *times;  /* the SplitTimes of a stopped one */
    PyObject *active; /* in the own task while it waits */
    PyObject *awaited; /* of Python: what was awaited, where it has several names */
    PyObject *name;    /* of the only wait so far that is worth one, and as JSON has it */
    PyObject *quoted;
    double named;      /* seconds of that */
    void *own;        /* the identity of the own task, once it has waited */
    double running, ready, awaiting, collected, collected_before, last;
    int depth, woken;
    char is_woken, is_out;
} Clock;

/* The awaitable that drives a request, and is its clock. */
typedef struct Served Served;

extern PyTypeObject *Served_Type;
Clock *clock_of(Served *served);
PyObject *coroutine_of(Served *served);
PyObject *loop_of(Served *served);

/* All return 0, or -1 with an exception set. */
int clock_begin_counting(Clock *clock, PyObject *steps, double now);
int clock_wake(Served *served, double since);
int clock_begin(Served *served);
int clock_begin_woken(Served *served);
int clock_end(Served *served);
int clock_suspend(Served *served);
int clock_resume(Served *served);
/* A new reference to its SplitTimes; NULL with an exception set. A second stop changes nothing. */
PyObject *clock_stop(Served *served, double now);
void clock_clear(Clock *clock);

/* Seconds that the garbage collector took so far, while it is followed. */
extern double garbage_seconds;

int add_clock(PyObject *module);

#endif
