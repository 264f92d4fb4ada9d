/* The parts of the accelerator. Each source file adds its types and functions to the module.
 *
 * The module belongs to the main interpreter of a process with a global interpreter lock: its state is static, and
 * the lock guards it. `swagent/acceleration.py` refuses to load it anywhere else.
 *
 * C has the plain cases only. Whatever is unusual goes to the Python code beside it, which is the only source of
 * templates and of every slow path.
 */
#ifndef SWAGENT_NATIVE_H
#define SWAGENT_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* One http or websocket scope, see swagent/request/state.py, which has the same fields. */
typedef struct {
    PyObject_HEAD
    PyObject *tracer;
    PyObject *scope;
    PyObject *faults;
    PyObject *number;
    PyObject *span;
    PyObject *following;
    PyObject *caller;
    PyObject *trace_id;
    PyObject *facts;
    PyObject *host;
    PyObject *previous;
    PyObject *clock; /* the split of its time; None: its time is not split */
    double start_time;
    double end_time;
    long status;
    char ended;
    /* how many steps of it are under way, where C serves it, and in which thread */
    int steps;
    unsigned long thread;
} Request;

extern PyTypeObject *Request_Type;

/* Monotonic seconds. On an error -1.0 with an exception set. */
double monotonic_now(void);
/* An object that has not begun. */
Request *request_new(PyTypeObject *type);
/* Begin: note the clock, become the active entry. 0, or -1 with an exception set. */
int request_begin(Request *self, PyObject *tracer, PyObject *scope, PyObject *faults);
/* End now; a second end does nothing. 0, or -1 with an exception set. */
int request_finish(Request *self);

/* Whether no header names a caller; they are read, unless they were. 0 where Python has to look. */
int request_has_no_caller(Request *self);
/* The trace's id, as `find_trace_id`, and where a record comes from, as `late_origin`: new references; NULL where Python
 * has to find it, with an exception or without. */
PyObject *request_trace_id(Request *self);
PyObject *request_late_origin(Request *self);

/* The row of finished requests, see rows.c. */
typedef struct {
    PyObject_HEAD
    PyObject *pending;
    PyObject *encode;
    PyObject *channel;
    Py_ssize_t full;
    vectorcallfunc vectorcall;
} Rows;

extern PyTypeObject *Rows_Type;

#define ROW_FIELDS 13
/* Append one request's fields, and encode a full group. Steals the references. */
int rows_append(Rows *self, PyObject *fields[ROW_FIELDS]);

/* Encodes a full group, and wakes the channel's reader where it waits for the first record. */
int look_at_group(PyObject *pending, Py_ssize_t full, PyObject *encode, PyObject *channel);

/* The row of plain log records, see log_rows.c. */
typedef struct {
    PyObject_HEAD
    PyObject *pending;
    PyObject *encode;
    PyObject *channel;
    PyObject *clock; /* None: that of C */
    Py_ssize_t full;
    vectorcallfunc vectorcall;
} LogRows;

extern PyTypeObject *LogRows_Type;

#define LOG_FIELDS 9
/* Append one record's fields and what takes its place, or None, and encode a full group. */
int log_rows_append(LogRows *self, PyObject *const *row, PyObject *entry);

/* The server's `send` around which ours is, or a Python callable for an unusual one. */
PyObject *make_send(Request *request, PyObject *send);

/* The task of asyncio that runs: a new reference; NULL where Python has to look for one, or with what has to pass. */
PyObject *running_task(void);

/* Takes the exception that is set, normalised and with its traceback; NULL where there is none. */
PyObject *take_error(void);
/* Sets an exception again. Steals the reference. */
void give_back_error(PyObject *error);

/* Clears the exception that is set, if any, where the caller goes on without what has failed. What has to reach the
 * application, such as the KeyboardInterrupt of a signal, is raised again in the next step of Python in this thread, as if
 * the signal had come then. */
void drop_error(void);

/* As `note_failure` of Python, of the exception that is set: 0, or -1 with what has to reach the application. */
int note_error(PyObject *function);

/* Counts the exception that is set as a fault of a piece of our work, in a `Faults` of Python: 0, or -1 with what has to
 * reach the application. */
int note_fault(PyObject *faults, PyObject *work);

/* Takes objects of Python from keyword arguments, each to the place of its name; NULL ends the names. */
int set_known(PyObject **at, const char *const *names, PyObject *args, PyObject *kwargs);

#ifdef Py_GIL_DISABLED
#error "swagent-native needs the global interpreter lock. swagent works without it on a free-threaded build"
#endif

/* Each returns 0, or -1 with an exception set. */
int add_log_renderer(PyObject *module);
int add_log_rows(PyObject *module);
int add_logs(PyObject *module);
int add_origins(PyObject *module);
int add_spans(PyObject *module);
int add_awaited(PyObject *module);
int add_base(PyObject *module);
int add_http_call(PyObject *module);
int add_query(PyObject *module);
int add_request(PyObject *module);
int add_rows(PyObject *module);
int add_send(PyObject *module);
int add_served(PyObject *module);
int add_loop(PyObject *module);
int add_places(PyObject *module);

#endif
