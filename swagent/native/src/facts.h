/* The facts of a request, as its scope has them: see `read_facts` and `read_headers` in swagent/request/scope.py. */
#ifndef SWAGENT_FACTS_H
#define SWAGENT_FACTS_H

#include "native.h"

/* All borrowed but `template`. `plain` is 0 where Python has to look. */
typedef struct {
    int plain;
    PyObject *host, *caller;
    PyObject *method, *scheme, *path, *client, *template, *component;
} Found;

/* Those of a request that has been routed; `template` may be set though they are not plain. */
void find_facts(Request *self, Found *found);
/* Those that are known at its begin: method, path and client of a request over http, whose caller is not traced. */
void find_target(Request *self, Found *found);
/* A tuple, in the order of `Facts`; NULL with an exception set. */
PyObject *make_facts(Found *found, PyObject *status);
/* Where the time of the request went: a new reference, None where it is not known; NULL with an exception set. */
PyObject *stop_clock(Request *self, double now);
/* In the place of the scope of a request that is over: borrowed. */
PyObject *no_scope(void);

/* An id of the request's number, of its trace or of its segment: a new reference; NULL where Python has to make it, with an
 * exception or without. */
PyObject *request_id(Request *self, int is_segment);
/* Whether an operation may be one that is ignored: 0, 1, or -1 with an exception. */
int may_be_ignored(Request *self, PyObject *path);
/* As `name_so_far`: a new reference. */
PyObject *find_name(PyObject *method, PyObject *path, PyObject *template);
/* Whether operations are named by their paths. */
int names_are_paths(void);

#endif
