/* The clock of one request: three numbers, and one of them grows at each instant. */
#include "clock.h"
#include "places.h"
#include <math.h>

#define WORTH_A_NAME 0.001
#define NEVER -1.0

PyTypeObject *Served_Type;
double garbage_seconds = 0.0;
static double garbage_started = 0.0;
/* of Python: SplitTimes by their fields; names a wait; the text of what was awaited; the task that a loop runs */
static PyObject *split_times, *note_wait, *add_wait, *name_of_call, *awaited_text, *current_task, *current;
static PyObject *s_start;

/* -- the garbage collector ---------------------------------------------------------------------------------------- */

/* One of `gc.callbacks`. */
static PyObject *
note_collection(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "phase, info");
        return NULL;
    }
    double now = monotonic_now();
    if (now < 0.0) {
        return NULL;
    }
    if (PyUnicode_Compare(args[0], s_start) == 0) {
        garbage_started = now;
    }
    else if (garbage_started != 0.0) {
        garbage_seconds += now - garbage_started;
        garbage_started = 0.0;
    }
    Py_RETURN_NONE;
}

/* -- counting ----------------------------------------------------------------------------------------------------- */

int
clock_begin_counting(Clock *clock, PyObject *steps, double now)
{
    clock->steps = Py_NewRef(steps);
    /* a request begins within a step */
    clock->depth = 1;
    clock->last = now;
    clock->collected_before = garbage_seconds;
    return 0;
}

static void
call_python(PyObject *function, Served *served, double passed, PyObject *name)
{
    PyObject *seconds = PyFloat_FromDouble(passed);
    PyObject *done = seconds == NULL ? NULL : PyObject_CallFunctionObjArgs(function, served, seconds, name, NULL);
    Py_XDECREF(seconds);
    Py_XDECREF(done);
    /* it costs the name only */
    PyErr_Clear();
}

/* The call under way that names a wait: two new references. 0: there is none. */
static int
find_call(PyObject *active, PyObject **name, PyObject **quoted)
{
    if (active == NULL || active == Py_None || PyObject_TypeCheck(active, Request_Type)) {
        return 0;
    }
    PyObject *pair = PyObject_CallOneArg(name_of_call, active);
    int found = pair != NULL && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2;
    if (found) {
        *name = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        *quoted = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    }
    Py_XDECREF(pair);
    PyErr_Clear();
    return found;
}

/* A wait that is the request's only one so far, or has the name of that one. 0: Python has to look. */
static int
note_alone(Served *served, double passed)
{
    Clock *clock = clock_of(served);
    PyObject *name, *quoted;
    if (clock->awaited != NULL) {
        return 0;
    }
    if (!find_call(clock->active, &name, &quoted) && !find_place(served->inner, &name, &quoted)) {
        return 0;
    }
    if (clock->name == NULL || clock->name == name || PyUnicode_Compare(clock->name, name) == 0) {
        Py_XSETREF(clock->name, name);
        Py_XSETREF(clock->quoted, quoted);
        clock->named += passed;
        return 1;
    }
    Py_DECREF(name);
    Py_DECREF(quoted);
    return 0;
}

/* All tasks have waited for so long, and are still where they waited. */
static void
note(Served *served, double passed)
{
    Clock *clock = clock_of(served);
    if (note_alone(served, passed)) {
        return;
    }
    if (clock->name != NULL) {
        PyObject *name = clock->name;
        clock->name = NULL;
        Py_CLEAR(clock->quoted);
        call_python(add_wait, served, clock->named, name);
        Py_DECREF(name);
    }
    call_python(note_wait, served, passed, NULL);
}

static int
count(Served *served, double now)
{
    Clock *clock = clock_of(served);
    double passed = now - clock->last;
    clock->last = now;
    if (clock->depth) {
        clock->running += passed;
    }
    else if (clock->woken) {
        clock->ready += passed;
    }
    else {
        clock->awaiting += passed;
        if (passed >= WORTH_A_NAME && clock->steps != NULL) {
            note(served, passed);
        }
    }
    return 0;
}

static int
count_now(Served *served)
{
    double now = monotonic_now();
    return now < 0.0 ? -1 : count(served, now);
}

int
clock_wake(Served *served, double since)
{
    Clock *clock = clock_of(served);
    double now = monotonic_now();
    if (now < 0.0) {
        return -1;
    }
    if (since != NEVER && since < now && !clock->depth && !clock->woken) {
        count(served, since > clock->last ? since : clock->last);
    }
    else {
        count(served, now);
    }
    clock->woken++;
    return clock->last < now ? count(served, now) : 0;
}

int
clock_begin(Served *served)
{
    Clock *clock = clock_of(served);
    if (count_now(served) < 0) {
        return -1;
    }
    if (!clock->depth) {
        clock->collected_before = garbage_seconds;
    }
    clock->depth++;
    return 0;
}

int
clock_begin_woken(Served *served)
{
    int failed = clock_begin(served);
    clock_of(served)->woken--;
    return failed;
}

int
clock_end(Served *served)
{
    Clock *clock = clock_of(served);
    int failed = count_now(served);
    clock->depth--;
    if (!clock->depth) {
        clock->collected += garbage_seconds - clock->collected_before;
    }
    return failed;
}

/* The step of the request's own task ends, and the task will go on. */
int
clock_suspend(Served *served)
{
    Clock *clock = clock_of(served);
    clock->is_out = 1;
    if (clock->steps == NULL) {
        return 0;
    }
    if (clock->own == NULL) {
        PyObject *loop = served->serving == NULL ? NULL : served->serving->loop;
        PyObject *task = loop == NULL ? Py_NewRef(Py_None) : PyObject_CallOneArg(current_task, loop);
        if (task == NULL) {
            return -1;
        }
        /* held by the loop as long as it runs, and compared only */
        clock->own = task;
        Py_DECREF(task);
    }
    PyObject *active;
    if (PyContextVar_Get(current, NULL, &active) < 0) {
        return -1;
    }
    Py_XSETREF(clock->active, active);
    return clock_end(served);
}

/* The next step of the request's own task begins. */
int
clock_resume(Served *served)
{
    Clock *clock = clock_of(served);
    clock->is_out = 0;
    if (clock->steps == NULL) {
        return 0;
    }
    if (clock->is_woken) {
        clock->is_woken = 0;
        return clock_begin_woken(served);
    }
    return clock_begin(served);
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

static PyObject *
whole(double seconds)
{
    return PyLong_FromDouble(floor(seconds * 1000.0 + 0.5));
}

/* Of requests that ran and did nothing else, which most are: by their milliseconds. */
#define PLAIN 64
static PyObject *plain_times[PLAIN];

/* 1 with the place of such a request's times. */
static int
is_plain(Clock *clock, PyObject ***at)
{
    if (clock->ready != 0.0 || clock->awaiting != 0.0 || clock->collected != 0.0 || clock->running >= 0.001 * (PLAIN - 1)) {
        return 0;
    }
    *at = &plain_times[(int)floor(clock->running * 1000.0 + 0.5)];
    return 1;
}

static PyObject *
make_times(Clock *clock, PyObject *awaited)
{
    PyObject *fields[5] = {whole(clock->running), whole(clock->ready), whole(clock->awaiting), whole(clock->collected),
                           awaited};
    PyObject *key = fields[0] && fields[1] && fields[2] && fields[3] && awaited
                        ? PyTuple_Pack(5, fields[0], fields[1], fields[2], fields[3], awaited)
                        : NULL;
    PyObject *times = key == NULL ? NULL : PyDict_GetItemWithError(split_times, key);
    Py_XINCREF(times);
    if (times == NULL && key != NULL && !PyErr_Occurred()) {
        times = PyObject_GetItem(split_times, key);
    }
    Py_XDECREF(key);
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(fields[i]);
    }
    return times;
}

/* What was awaited, as JSON; empty: there is no name for it. NULL without memory. */
static PyObject *
text_of_awaited(Clock *clock)
{
    PyObject *text = NULL;
    if (clock->awaited != NULL) {
        PyObject *seconds = PyFloat_FromDouble(clock->awaiting);
        text = seconds == NULL ? NULL : PyObject_CallFunctionObjArgs(awaited_text, clock->awaited, seconds, NULL);
        Py_XDECREF(seconds);
        PyErr_Clear();
    }
    else if (clock->name != NULL) {
        /* as `AwaitedTimes.text` */
        long named = (long)rint(clock->named * 1000.0), rest = (long)rint((clock->awaiting - clock->named) * 1000.0);
        if (named > 0) {
            text = rest > 0 ? PyUnicode_FromFormat("[[%U,%ld],[\"other\",%ld]]", clock->quoted, named, rest)
                            : PyUnicode_FromFormat("[[%U,%ld]]", clock->quoted, named);
            PyErr_Clear();
        }
    }
    return text == NULL ? PyUnicode_FromStringAndSize(NULL, 0) : text;
}

PyObject *
clock_stop(Served *served, double now)
{
    Clock *clock = clock_of(served);
    if (clock->steps == NULL) {
        return Py_XNewRef(clock->times);
    }
    count(served, now);
    if (clock->depth) {
        clock->collected += garbage_seconds - clock->collected_before;
    }
    PyObject **plain = NULL, *awaited = NULL;
    int is_simple = is_plain(clock, &plain) && clock->name == NULL && clock->awaited == NULL;
    if (is_simple && *plain != NULL) {
        Py_CLEAR(clock->active);
        Py_CLEAR(clock->steps);
        clock->times = Py_NewRef(*plain);
        return Py_NewRef(*plain);
    }
    awaited = text_of_awaited(clock);
    Py_CLEAR(clock->active);
    Py_CLEAR(clock->awaited);
    Py_CLEAR(clock->name);
    Py_CLEAR(clock->quoted);
    Py_CLEAR(clock->steps);
    clock->times = make_times(clock, awaited);
    Py_XDECREF(awaited);
    if (is_simple && clock->times != NULL) {
        *plain = Py_NewRef(clock->times);
    }
    return Py_XNewRef(clock->times);
}

void
clock_clear(Clock *clock)
{
    Py_CLEAR(clock->steps);
    Py_CLEAR(clock->times);
    Py_CLEAR(clock->active);
    Py_CLEAR(clock->awaited);
    Py_CLEAR(clock->name);
    Py_CLEAR(clock->quoted);
}

/* -- the module --------------------------------------------------------------------------------------------------- */

static PyObject *
configure_clock(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"split_times", "note_wait", "add_wait", "name_of_call", "awaited_text", "current_task", "current", NULL};
    PyObject *times, *noting, *adding, *naming, *text, *task, *variable;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOOO", names, &times, &noting, &adding, &naming, &text, &task,
                                     &variable)) {
        return NULL;
    }
    Py_XSETREF(split_times, Py_NewRef(times));
    Py_XSETREF(note_wait, Py_NewRef(noting));
    Py_XSETREF(awaited_text, Py_NewRef(text));
    Py_XSETREF(add_wait, Py_NewRef(adding));
    Py_XSETREF(name_of_call, Py_NewRef(naming));
    Py_XSETREF(current_task, Py_NewRef(task));
    Py_XSETREF(current, Py_NewRef(variable));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"configure_clock", (PyCFunction)(void (*)(void))configure_clock, METH_VARARGS | METH_KEYWORDS,
     "Set the objects of Python that clocks know."},
    {"note_collection", (PyCFunction)(void (*)(void))note_collection, METH_FASTCALL,
     "One of `gc.callbacks`, for the clocks."},
    {NULL},
};

int
add_clock(PyObject *module)
{
    s_start = PyUnicode_InternFromString("start");
    return s_start == NULL ? -1 : PyModule_AddFunctions(module, functions);
}
