/* The clock of one request: three numbers, and one of them grows at each instant. */
#include "calls.h"
#include "clock.h"
#include "places.h"
#include "slots.h"
#include <math.h>

#define WORTH_A_NAME 0.001
#define NEVER -1.0

PyTypeObject *Served_Type;
double garbage_seconds = 0.0;
static double garbage_started = 0.0;
/* of Python: SplitTimes by their fields; names a wait; the text of what was awaited; the task that a loop runs */
static PyObject *times_type, *note_wait, *add_wait, *name_of_call, *awaited_text, *current_task, *current;
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
    drop_error();
}

/* The names of the calls that came last, by the texts that they are made of. These are held, so that no other has their
 * address. */
#define KNOWN_CALLS 64
#define LONGEST_CALL 512
static struct {
    PyObject *call, *peer, *pair;
} known_calls[KNOWN_CALLS];

static int
is_short_text(PyObject *text)
{
    return text != NULL && PyUnicode_CheckExact(text) && PyUnicode_GET_LENGTH(text) <= LONGEST_CALL;
}

/* Name a call of a span that is no subclass, open and in no generator: as `name_of_open_call`, without an exception. */
static PyObject *
name_plain_call(PyObject *span)
{
    PyObject *call = FIELD(span, span_slots.name), *peer = FIELD(span, span_slots.peer);
    if (!is_short_text(call) || !is_short_text(peer)) {
        return PyObject_CallOneArg(name_of_call, span);
    }
    size_t at = ((size_t)call >> 4 ^ (size_t)peer >> 9) % KNOWN_CALLS;
    if (known_calls[at].call == call && known_calls[at].peer == peer) {
        return Py_NewRef(known_calls[at].pair);
    }
    Py_INCREF(call);
    Py_INCREF(peer);
    PyObject *pair = PyObject_CallOneArg(name_of_call, span);
    if (pair == NULL) {
        Py_DECREF(call);
        Py_DECREF(peer);
        return NULL;
    }
    PyObject *formers[3] = {known_calls[at].call, known_calls[at].peer, known_calls[at].pair};
    known_calls[at].call = call;
    known_calls[at].peer = peer;
    known_calls[at].pair = Py_NewRef(pair);
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(formers[i]);
    }
    return pair;
}

/* The call under way that names a wait: two new references. 0: there is none. */
static int
find_call(PyObject *active, PyObject **name, PyObject **quoted)
{
    if (active == NULL || active == Py_None || PyObject_TypeCheck(active, Request_Type)) {
        return 0;
    }
    PyObject *pair = is_open_call(active) ? name_plain_call(active) : PyObject_CallOneArg(name_of_call, active);
    int found = pair != NULL && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2;
    if (found) {
        *name = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        *quoted = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    }
    Py_XDECREF(pair);
    drop_error();
    return found;
}

/* Whether it is the request's only wait so far, or has the name of that one. */
static int
is_alone(const Clock *clock, PyObject *name)
{
    return clock->awaited == NULL &&
           (clock->name == NULL || clock->name == name || PyUnicode_Compare(clock->name, name) == 0);
}

/* Several names are Python's. */
static void
hand_name_on(Served *served)
{
    Clock *clock = clock_of(served);
    PyObject *name = clock->name;
    if (name != NULL) {
        clock->name = NULL;
        Py_CLEAR(clock->quoted);
        call_python(add_wait, served, clock->named, name);
        Py_DECREF(name);
    }
}

/* All tasks have waited for so long, and are still where they waited. */
static void
note(Served *served, double passed)
{
    Clock *clock = clock_of(served);
    PyObject *name, *quoted;
    if (!find_call(clock->active, &name, &quoted) && !find_place(served->inner, &name, &quoted)) {
        hand_name_on(served);
        call_python(note_wait, served, passed, NULL);
        return;
    }
    if (is_alone(clock, name)) {
        Py_XSETREF(clock->name, name);
        Py_XSETREF(clock->quoted, quoted);
        clock->named += passed;
        return;
    }
    hand_name_on(served);
    call_python(add_wait, served, passed, name);
    Py_DECREF(name);
    Py_DECREF(quoted);
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

/* The task that runs: a new reference, None where there is none. */
static PyObject *
find_own_task(Served *served)
{
    PyObject *loop = served->serving == NULL ? NULL : served->serving->loop;
    if (loop == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *task = running_task();
    return task != NULL || PyErr_Occurred() ? task : PyObject_CallOneArg(current_task, loop);
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
        PyObject *task = find_own_task(served);
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

/* What `SplitTimes` are made of: whole milliseconds, and of the waits what has a name, see `AwaitedTimes.text`. */
typedef struct {
    double running, ready, awaiting, collected, named, rest;
    PyObject *quoted;
} Fields;

/* The times of the requests that came last. Few numbers come again and again, so most need neither text nor object. Others are
 * made anew: the cache of Python would weigh its key, which takes longer than all else of a request's times. */
#define KNOWN 256
static struct {
    Fields fields;
    PyObject *times;
} known_times[KNOWN];

static double
whole(double seconds)
{
    return floor(seconds * 1000.0 + 0.5);
}

static void
read_fields(Clock *clock, Fields *fields)
{
    fields->running = whole(clock->running);
    fields->ready = whole(clock->ready);
    fields->awaiting = whole(clock->awaiting);
    fields->collected = whole(clock->collected);
    fields->named = clock->name == NULL ? 0.0 : rint(clock->named * 1000.0);
    fields->rest = clock->name == NULL ? 0.0 : rint((clock->awaiting - clock->named) * 1000.0);
    fields->quoted = clock->quoted;
}

static size_t
slot_of(const Fields *fields)
{
    double mixed = fields->running + 31.0 * fields->ready + 101.0 * fields->awaiting + 1009.0 * fields->collected +
                   3.0 * fields->named + 7.0 * fields->rest;
    return ((mixed >= 0.0 && mixed < 1e15 ? (size_t)mixed : 0) ^ (size_t)fields->quoted >> 4) % KNOWN;
}

static int
is_same(const Fields *one, const Fields *other)
{
    return one->running == other->running && one->ready == other->ready && one->awaiting == other->awaiting &&
           one->collected == other->collected && one->named == other->named && one->rest == other->rest &&
           one->quoted == other->quoted;
}

static PyObject *
make_times(const Fields *fields, PyObject *awaited)
{
    PyObject *numbers[4] = {PyLong_FromDouble(fields->running), PyLong_FromDouble(fields->ready),
                            PyLong_FromDouble(fields->awaiting), PyLong_FromDouble(fields->collected)};
    PyObject *key = numbers[0] && numbers[1] && numbers[2] && numbers[3] && awaited
                        ? PyTuple_Pack(5, numbers[0], numbers[1], numbers[2], numbers[3], awaited)
                        : NULL;
    PyObject *args = key == NULL ? NULL : PyTuple_Pack(1, key);
    PyObject *times = args == NULL ? NULL : PyTuple_Type.tp_new((PyTypeObject *)times_type, args, NULL);
    Py_XDECREF(args);
    Py_XDECREF(key);
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(numbers[i]);
    }
    return times;
}

/* What was awaited, as JSON; empty: there is no name for it. NULL without memory. */
static PyObject *
text_of_awaited(Clock *clock, const Fields *fields)
{
    PyObject *text = NULL;
    if (clock->awaited != NULL) {
        PyObject *seconds = PyFloat_FromDouble(clock->awaiting);
        text = seconds == NULL ? NULL : PyObject_CallFunctionObjArgs(awaited_text, clock->awaited, seconds, NULL);
        Py_XDECREF(seconds);
        drop_error();
    }
    else if (clock->name != NULL) {
        long named = (long)fields->named, rest = (long)fields->rest;
        if (named > 0) {
            text = rest > 0 ? PyUnicode_FromFormat("[[%U,%ld],[\"other\",%ld]]", clock->quoted, named, rest)
                            : PyUnicode_FromFormat("[[%U,%ld]]", clock->quoted, named);
            PyErr_Clear();
        }
    }
    return text == NULL ? PyUnicode_FromStringAndSize(NULL, 0) : text;
}

/* The times by their fields: a new reference; NULL with an exception set. */
static PyObject *
find_times(Clock *clock)
{
    Fields fields;
    read_fields(clock, &fields);
    size_t at = slot_of(&fields);
    int is_alone = clock->awaited == NULL;
    if (is_alone && known_times[at].times != NULL && is_same(&known_times[at].fields, &fields)) {
        return Py_NewRef(known_times[at].times);
    }
    /* held, so that no other name has its address */
    Py_XINCREF(fields.quoted);
    PyObject *awaited = text_of_awaited(clock, &fields), *times = make_times(&fields, awaited);
    Py_XDECREF(awaited);
    if (!is_alone || times == NULL) {
        Py_XDECREF(fields.quoted);
        return times;
    }
    PyObject *former = known_times[at].times, *former_name = known_times[at].fields.quoted;
    known_times[at].fields = fields;
    known_times[at].times = Py_NewRef(times);
    Py_XDECREF(former);
    Py_XDECREF(former_name);
    return times;
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
    PyObject *times = find_times(clock);
    Py_CLEAR(clock->active);
    Py_CLEAR(clock->awaited);
    Py_CLEAR(clock->name);
    Py_CLEAR(clock->quoted);
    Py_CLEAR(clock->steps);
    Py_XSETREF(clock->times, times);
    return Py_XNewRef(times);
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
    static char *names[] = {"times_type", "note_wait", "add_wait", "name_of_call", "awaited_text", "current_task", "current", NULL};
    PyObject *times, *noting, *adding, *naming, *text, *task, *variable;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOOO", names, &PyType_Type, &times, &noting, &adding, &naming, &text,
                                     &task, &variable)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)times, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of times has to be a named tuple");
        return NULL;
    }
    Py_XSETREF(times_type, Py_NewRef(times));
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
