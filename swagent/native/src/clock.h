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

typedef struct {
    PyObject_HEAD
    PyTypeObject *request_type;
    PyObject *tracer;
    PyObject *faults;
    PyObject *end;     /* function of Python: the application has returned, or raised */
    PyObject *waiting; /* called when the last request ends; None: nothing waits */
    PyObject *find_steps; /* function of Python: the steps of the running loop, or None */
    PyObject *time_otherwise; /* function of Python: an awaitable that times a request */
    PyObject *steps;   /* of the loop; NULL: not known yet */
    PyObject *loop;    /* whose steps these are */
    Py_ssize_t under_way;
    Py_ssize_t every, left, tasks_every, tasks_left;
    vectorcallfunc vectorcall;
} Serving;

/* It is the clock of its request, too, where the time of that is split. At the end it lets go of everything else:
 * contexts hold the clock, and outlive their requests. */
typedef struct {
    PyObject_HEAD
    Serving *serving;
    Request *request;
    PyObject *send; /* the server's */
    PyObject *inner;
    Clock clock;
    char is_timed;
} Served;

extern PyTypeObject *Served_Type;

static inline Clock *
clock_of(Served *served)
{
    return &served->clock;
}

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
