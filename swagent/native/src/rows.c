/* Rows of finished requests: how they come into the intake, and how they become bytes.
 *
 * The layout of a row is that of swagent/request/finished.py. A request like one before it is rendered from the form
 * that Python has made of that one: an encoded segment with gaps.
 */
#include "native.h"

PyTypeObject *Rows_Type;
static PyTypeObject *Form_Type, *Renderer_Type;
static PyObject *s_ring_at, *s_wake_reader, *s_clock;
/* what the row of a segment has in the place of a request's number and facts */
static PyObject *no_request, *no_facts;
enum { OF_FACTS = 7 };

enum { NUMBER, START, END, CLIENT, CALLER, TIMES, METHOD, SCHEME, HOST, PATH, TEMPLATE, COMPONENT, STATUS };

/* -- the channel -------------------------------------------------------------------------------------------------- */

/* What a channel has in C: each record looks at it. */
typedef struct {
    PyObject_HEAD
    double ring_at;
} Ring;

static PyTypeObject *Ring_Type;

static int
ring_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void
ring_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef ring_members[] = {
    {"ring_at", T_DOUBLE, offsetof(Ring, ring_at), 0, "How many records have to wait before the reader wants a ring."},
    {NULL},
};

static PyType_Slot ring_slots[] = {
    {Py_tp_doc, "What a channel has in C."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, ring_dealloc},
    {Py_tp_traverse, ring_traverse},
    {Py_tp_members, ring_members},
    {0, NULL},
};

static PyType_Spec ring_spec = {
    .name = "swagent_native._native.Ring",
    .basicsize = sizeof(Ring),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = ring_slots,
};

/* -- into the intake ---------------------------------------------------------------------------------------------- */

/* How many records have to wait before the reader wants a ring; -1.0, maybe with an exception set. */
static double
ring_at_of(PyObject *channel)
{
    if (PyObject_TypeCheck(channel, Ring_Type)) {
        return ((Ring *)channel)->ring_at;
    }
    PyObject *ring_at = PyObject_GetAttr(channel, s_ring_at);
    double least = ring_at == NULL ? -1.0 : PyFloat_AsDouble(ring_at);
    Py_XDECREF(ring_at);
    return least;
}

/* As `SegmentIntake.offer_request`, after the row. */
int
look_at_group(PyObject *pending, Py_ssize_t full, PyObject *encode, PyObject *channel)
{
    if (PyList_GET_SIZE(pending) >= full) {
        PyObject *done = PyObject_CallNoArgs(encode);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    double least = ring_at_of(channel);
    if (least == -1.0 && PyErr_Occurred()) {
        return -1;
    }
    if (least > 1.0) {
        return 0;
    }
    /* not for the first record only: two threads may each find the other's here */
    PyObject *done = PyObject_CallMethodNoArgs(channel, s_wake_reader);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

int
rows_append(Rows *self, PyObject *fields[ROW_FIELDS])
{
    Py_ssize_t before = PyList_GET_SIZE(self->pending);
    int failed = 0;
    for (int i = 0; i < ROW_FIELDS; i++) {
        failed = failed || PyList_Append(self->pending, fields[i]) < 0;
    }
    for (int i = 0; i < ROW_FIELDS; i++) {
        Py_DECREF(fields[i]);
    }
    if (failed) {
        /* half a row would shift all that follow it */
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyList_SetSlice(self->pending, before, PY_SSIZE_T_MAX, NULL);
        PyErr_Restore(type, value, trace);
        return -1;
    }
    return look_at_group(self->pending, self->full, self->encode, self->channel);
}

/* A row made by Python: a tuple of the fields. */
static PyObject *
rows_call(Rows *self, PyObject *const *args, size_t count, PyObject *names)
{
    if (PyVectorcall_NARGS(count) != 1 || (names != NULL && PyTuple_GET_SIZE(names)) || !PyTuple_Check(args[0]) ||
        PyTuple_GET_SIZE(args[0]) != ROW_FIELDS) {
        PyErr_SetString(PyExc_TypeError, "one finished request is offered at a time");
        return NULL;
    }
    PyObject *fields[ROW_FIELDS];
    for (int i = 0; i < ROW_FIELDS; i++) {
        fields[i] = Py_NewRef(PyTuple_GET_ITEM(args[0], i));
    }
    if (rows_append(self, fields) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* As `SegmentIntake.offer`: the row of a segment, see `request/finished.py`. */
static PyObject *
rows_offer_segment(Rows *self, PyObject *segment)
{
    PyObject *clock = self->channel == NULL ? NULL : PyObject_GetAttr(self->channel, s_clock);
    PyObject *now = clock == NULL ? NULL : PyObject_CallNoArgs(clock);
    Py_XDECREF(clock);
    if (now == NULL) {
        return NULL;
    }
    PyObject *fields[ROW_FIELDS] = {no_request, now, now, Py_None, segment, Py_None};
    for (int i = 0; i < OF_FACTS; i++) {
        fields[ROW_FIELDS - OF_FACTS + i] = PyTuple_GET_ITEM(no_facts, i);
    }
    for (int i = 0; i < ROW_FIELDS; i++) {
        Py_INCREF(fields[i]);
    }
    Py_DECREF(now);
    if (rows_append(self, fields) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef rows_methods[] = {
    {"offer_segment", (PyCFunction)rows_offer_segment, METH_O, "As `SegmentIntake.offer`."},
    {NULL},
};

static PyObject *
rows_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"pending", "full", "encode", "channel", NULL};
    PyObject *pending, *encode, *channel;
    Py_ssize_t full;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!nOO", names, &PyList_Type, &pending, &full, &encode, &channel)) {
        return NULL;
    }
    Rows *self = (Rows *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->pending = Py_NewRef(pending);
        self->encode = Py_NewRef(encode);
        self->channel = Py_NewRef(channel);
        self->full = full;
        self->vectorcall = (vectorcallfunc)rows_call;
    }
    return (PyObject *)self;
}

static int
rows_traverse(Rows *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->pending);
    Py_VISIT(self->encode);
    Py_VISIT(self->channel);
    return 0;
}

static int
rows_clear(Rows *self)
{
    Py_CLEAR(self->encode);
    Py_CLEAR(self->channel);
    return 0;
}

static void
rows_dealloc(Rows *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    rows_clear(self);
    Py_CLEAR(self->pending);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef rows_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Rows, vectorcall), READONLY, NULL},
    {NULL},
};

static PyType_Slot rows_slots[] = {
    {Py_tp_doc, "Takes finished requests, as `SegmentIntake.offer_request`."},
    {Py_tp_new, rows_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, rows_dealloc},
    {Py_tp_traverse, rows_traverse},
    {Py_tp_clear, rows_clear},
    {Py_tp_members, rows_members},
    {Py_tp_methods, rows_methods},
    {0, NULL},
};

static PyType_Spec rows_spec = {
    .name = "swagent_native._native.Rows",
    .basicsize = sizeof(Rows),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = rows_slots,
};

/* -- forms: bytes with gaps --------------------------------------------------------------------------------------- */

#define GAPS 8

typedef struct {
    PyObject_HEAD
    Py_ssize_t gaps;
    Py_ssize_t size;              /* of the pieces, without what is in the gaps */
    Py_ssize_t lengths[GAPS + 1]; /* of each piece */
    char *pieces;                 /* one behind the other */
} Form;

typedef struct {
    const char *at;
    Py_ssize_t size;
} Text;

/* Take a format of `%b` and `%%` apart. */
static int
split_form(Form *self, const char *form, Py_ssize_t length)
{
    char *to = self->pieces;
    Py_ssize_t piece = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (form[i] != '%') {
            *to++ = form[i];
            self->lengths[piece]++;
            continue;
        }
        i++;
        if (i < length && form[i] == '%') {
            *to++ = '%';
            self->lengths[piece]++;
        }
        else if (i < length && form[i] == 'b' && piece < GAPS) {
            piece++;
        }
        else {
            PyErr_SetString(PyExc_ValueError, "not a form");
            return -1;
        }
    }
    self->gaps = piece;
    self->size = to - self->pieces;
    return 0;
}

static PyObject *
form_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"form", NULL};
    PyObject *form;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "S", names, &form)) {
        return NULL;
    }
    Form *self = (Form *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->pieces = PyMem_Malloc(PyBytes_GET_SIZE(form) + 1);
    if (self->pieces == NULL) {
        PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    if (split_form(self, PyBytes_AS_STRING(form), PyBytes_GET_SIZE(form)) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void
form_dealloc(Form *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(self->pieces);
    type->tp_free(self);
    Py_DECREF(type);
}

/* The form with its gaps filled. There must be as many as the form has. */
static PyObject *
fill(Form *self, const Text *texts)
{
    Py_ssize_t size = self->size;
    for (Py_ssize_t i = 0; i < self->gaps; i++) {
        size += texts[i].size;
    }
    PyObject *filled = PyBytes_FromStringAndSize(NULL, size);
    if (filled == NULL) {
        return NULL;
    }
    char *to = PyBytes_AS_STRING(filled);
    const char *piece = self->pieces;
    for (Py_ssize_t i = 0;; i++) {
        memcpy(to, piece, self->lengths[i]);
        to += self->lengths[i];
        piece += self->lengths[i];
        if (i == self->gaps) {
            return filled;
        }
        if (texts[i].size) {
            /* an empty text may be nowhere */
            memcpy(to, texts[i].at, texts[i].size);
        }
        to += texts[i].size;
    }
}

static PyObject *
form_fill(Form *self, PyObject *const *args, Py_ssize_t count)
{
    Text texts[GAPS];
    if (count != self->gaps) {
        PyErr_SetString(PyExc_TypeError, "a text for each gap");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyBytes_CheckExact(args[i])) {
            PyErr_SetString(PyExc_TypeError, "gaps are filled with bytes");
            return NULL;
        }
        texts[i] = (Text){PyBytes_AS_STRING(args[i]), PyBytes_GET_SIZE(args[i])};
    }
    return fill(self, texts);
}

static PyMethodDef form_methods[] = {
    {"fill", (PyCFunction)(void (*)(void))form_fill, METH_FASTCALL, "The form with a text in each gap."},
    {NULL},
};

static PyType_Slot form_slots[] = {
    {Py_tp_doc, "A format of `%b` and `%%`, ready to be filled."},
    {Py_tp_new, form_new},
    {Py_tp_dealloc, form_dealloc},
    {Py_tp_methods, form_methods},
    {0, NULL},
};

static PyType_Spec form_spec = {
    .name = "swagent_native._native.Form",
    .basicsize = sizeof(Form),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = form_slots,
};

/* -- the renderer ------------------------------------------------------------------------------------------------- */

/* What the requests of a form have in common; each is held. */
typedef struct {
    PyObject *template, *status, *method, *host, *scheme, *component;
    Py_ssize_t peer, split, trace_id, reference;
    Form *form;
} Kind;
#define KINDS 64

/* What a cache says of the objects that came last, by address: of a connection's client, and of where the time went. */
typedef struct {
    PyObject *key, *value;
} Said;
#define SAID 128

/* The callers that came last: what each repeats, two lengths, and the form. */
typedef struct {
    PyObject *rest;
    Py_ssize_t trace_id, segment_id;
    Form *form;
} Recent;
#define RECENT 32

typedef struct {
    PyObject_HEAD
    PyObject *forms;      /* dict: by what requests have in common, see `RequestEncoder` */
    PyObject *peers;      /* cache: the peer as it is written, by the client */
    PyObject *splits;     /* cache: where the time went as it is written, by SplitTimes */
    PyObject *references; /* cache: the form of references, by the rest of a header and two lengths */
    PyObject *odd;        /* in the place of a text that is not written as it is */
    int is_binary;
    Kind kinds[KINDS];    /* those that came last, so that most need no key */
    Recent recent[RECENT];
    Said clients[SAID], times[SAID];
} Renderer;

/* Milliseconds that have as many bytes as a form has for them, see segment_template.py. */
#define EARLIEST 1000000000000LL
#define LATEST ((1LL << 42) - 1)
#define TIME_SIZE 13

static int
write_time(Renderer *self, double seconds, char *to, Text *text)
{
    double exact = seconds * 1000.0;
    if (!(exact >= (double)EARLIEST && exact < (double)LATEST)) {
        return 0;
    }
    long long milliseconds = (long long)exact;
    text->at = to;
    if (self->is_binary) {
        text->size = 6;
        for (int i = 0; i < 5; i++, milliseconds >>= 7) {
            to[i] = (char)((milliseconds & 127) | 128);
        }
        to[5] = (char)milliseconds;
        return 1;
    }
    text->size = TIME_SIZE;
    for (int i = TIME_SIZE - 1; i >= 0; i--, milliseconds /= 10) {
        to[i] = (char)('0' + milliseconds % 10);
    }
    return 1;
}

static int
write_number(PyObject *number, char *to, Text *text)
{
    int overflow;
    long long signed_left = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || signed_left < 0) {
        PyErr_Clear();
        return 0;
    }
    unsigned long long left = (unsigned long long)signed_left;
    int size = 0;
    char digits[16];
    do {
        digits[size++] = "0123456789abcdef"[left & 15];
        left >>= 4;
    } while (left);
    for (int i = 0; i < size; i++) {
        to[i] = digits[size - 1 - i];
    }
    text->at = to;
    text->size = size;
    return 1;
}

/* As `cache[key]`; a new reference. */
static PyObject *
look_up(PyObject *cache, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(cache, key);
    if (value != NULL) {
        return Py_NewRef(value);
    }
    return PyErr_Occurred() ? NULL : PyObject_GetItem(cache, key);
}

/* As `look_up` of a key that does not change. The key is held, so no other object has its address. */
static PyObject *
look_up_said(Said *said, PyObject *cache, PyObject *key)
{
    Said *slot = &said[((size_t)key >> 4 ^ (size_t)key >> 12) % SAID];
    if (slot->key == key) {
        return Py_NewRef(slot->value);
    }
    PyObject *value = look_up(cache, key);
    if (value != NULL) {
        Said former = *slot;
        slot->key = Py_NewRef(key);
        slot->value = Py_NewRef(value);
        Py_XDECREF(former.key);
        Py_XDECREF(former.value);
    }
    return value;
}

/* -- the caller of a request -------------------------------------------------------------------------------------- */

#define MAX_ID 96

static int
value_of_letter(unsigned char letter)
{
    if (letter >= 'A' && letter <= 'Z') {
        return letter - 'A';
    }
    if (letter >= 'a' && letter <= 'z') {
        return letter - 'a' + 26;
    }
    if (letter >= '0' && letter <= '9') {
        return letter - '0' + 52;
    }
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

/* An id of ASCII letters, digits and dots out of its Base64, as it is written but in one way only; -1: Python looks. */
static Py_ssize_t
decode_id(const unsigned char *from, Py_ssize_t size, char *to)
{
    Py_ssize_t written = 0, padding = 0;
    if (size == 0 || size % 4 || size / 4 * 3 > MAX_ID) {
        return -1;
    }
    padding = from[size - 1] != '=' ? 0 : from[size - 2] != '=' ? 1 : 2;
    for (Py_ssize_t i = 0; i < size; i += 4) {
        int last = i + 4 == size, bits = 0;
        for (int k = 0; k < 4; k++) {
            int value = last && k >= 4 - padding ? 0 : value_of_letter(from[i + k]);
            if (value < 0) {
                return -1;
            }
            bits = bits << 6 | value;
        }
        int bytes = last ? 3 - (int)padding : 3;
        if (last && (bits & (padding == 2 ? 0xFFFF : padding == 1 ? 0xFF : 0))) {
            return -1;
        }
        for (int k = 0; k < bytes; k++) {
            unsigned char letter = (unsigned char)(bits >> (16 - 8 * k));
            if (!Py_ISALNUM(letter) && letter != '.') {
                return -1;
            }
            to[written++] = (char)letter;
        }
    }
    return written;
}

typedef struct {
    char trace[MAX_ID], segment[MAX_ID];
    Text trace_id;
    PyObject *reference;
} Caller;


static Recent *
recent_of(Renderer *self, const char *rest, Py_ssize_t size)
{
    size_t mixed = (size_t)size * 31;
    for (Py_ssize_t i = 0; i < size; i += 7) {
        mixed = mixed * 131 + (unsigned char)rest[i];
    }
    return &self->recent[(mixed ^ mixed >> 9) % RECENT];
}

/* The form of the references of one caller: a new reference; NULL: Python looks. */
static Form *
look_up_reference(Renderer *self, const char *rest, Py_ssize_t size, Py_ssize_t trace_size, Py_ssize_t segment_size)
{
    PyObject *key = Py_BuildValue("(y#nn)", rest, size, trace_size, segment_size);
    PyObject *form = key == NULL ? NULL : look_up(self->references, key);
    Py_XDECREF(key);
    if (form == NULL || Py_TYPE(form) != Form_Type) {
        drop_error();
        Py_XDECREF(form);
        return NULL;
    }
    return (Form *)form;
}

static Form *
find_reference(Renderer *self, const char *rest, Py_ssize_t size, Py_ssize_t trace_size, Py_ssize_t segment_size)
{
    Recent *known = recent_of(self, rest, size);
    if (known->form != NULL && known->trace_id == trace_size && known->segment_id == segment_size &&
        PyBytes_GET_SIZE(known->rest) == size && memcmp(PyBytes_AS_STRING(known->rest), rest, size) == 0) {
        return (Form *)Py_NewRef(known->form);
    }
    Form *form = look_up_reference(self, rest, size, trace_size, segment_size);
    PyObject *kept = form == NULL ? NULL : PyBytes_FromStringAndSize(rest, size);
    if (kept != NULL) {
        Py_XSETREF(known->rest, kept);
        Py_XSETREF(known->form, (Form *)Py_NewRef(form));
        known->trace_id = trace_size;
        known->segment_id = segment_size;
    }
    else {
        PyErr_Clear();
    }
    return form;
}

/* As `CallerEncoder.encode` for a header whose like was seen before. 0: Python looks. */
static int
read_caller(Renderer *self, PyObject *header, Caller *caller)
{
    if (!PyBytes_CheckExact(header) || PyBytes_GET_SIZE(header) > 2048) {
        return 0;
    }
    const char *at = PyBytes_AS_STRING(header), *end = at + PyBytes_GET_SIZE(header);
    if (end - at < 2 || at[0] != '1' || at[1] != '-') {
        return 0;
    }
    const char *trace = at + 2, *dash = memchr(trace, '-', end - trace);
    const char *segment = dash == NULL ? NULL : dash + 1;
    const char *second = segment == NULL ? NULL : memchr(segment, '-', end - segment);
    if (second == NULL) {
        return 0;
    }
    Py_ssize_t trace_size = decode_id((const unsigned char *)trace, dash - trace, caller->trace);
    Py_ssize_t segment_size = decode_id((const unsigned char *)segment, second - segment, caller->segment);
    if (trace_size <= 0 || segment_size <= 0) {
        return 0;
    }
    Form *form = find_reference(self, second + 1, end - second - 1, trace_size, segment_size);
    if (form == NULL) {
        return 0;
    }
    Text ids[2] = {{caller->trace, trace_size}, {caller->segment, segment_size}};
    caller->trace_id = ids[0];
    caller->reference = form->gaps == 2 ? fill(form, ids) : NULL;
    Py_DECREF(form);
    if (caller->reference == NULL) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

/* -- one request -------------------------------------------------------------------------------------------------- */

static int
is_text_alike(PyObject *one, PyObject *other)
{
    return one == other || (PyUnicode_CheckExact(one) && PyUnicode_CheckExact(other) && PyUnicode_Compare(one, other) == 0);
}

static int
is_bytes_alike(PyObject *one, PyObject *other)
{
    return one == other || (PyBytes_CheckExact(one) && PyBytes_CheckExact(other) &&
                            PyBytes_GET_SIZE(one) == PyBytes_GET_SIZE(other) &&
                            memcmp(PyBytes_AS_STRING(one), PyBytes_AS_STRING(other), PyBytes_GET_SIZE(one)) == 0);
}

static int
is_kind(Kind *kind, Kind *other)
{
    return kind->form != NULL && kind->template == other->template && kind->status == other->status &&
           kind->component == other->component && kind->peer == other->peer && kind->split == other->split &&
           kind->trace_id == other->trace_id && kind->reference == other->reference &&
           is_text_alike(kind->method, other->method) && is_text_alike(kind->scheme, other->scheme) &&
           is_bytes_alike(kind->host, other->host);
}

/* Where a kind is kept: a route's template and a small status are the same objects again and again. */
static Kind *
slot_of(Kind *kinds, Kind *kind)
{
    size_t mixed = (size_t)kind->template >> 4;
    mixed = mixed * 31 + ((size_t)kind->status >> 4);
    mixed = mixed * 31 + (size_t)(kind->peer * 7 + kind->split * 5 + kind->reference * 3 + kind->trace_id);
    return &kinds[(mixed ^ mixed >> 8) % KINDS];
}

static void
forget_kind(Kind *kind)
{
    Kind former = *kind;
    memset(kind, 0, sizeof(Kind));
    Py_XDECREF(former.template);
    Py_XDECREF(former.status);
    Py_XDECREF(former.method);
    Py_XDECREF(former.host);
    Py_XDECREF(former.scheme);
    Py_XDECREF(former.component);
    Py_XDECREF(former.form);
}

static void
keep_kind(Kind *slot, Kind *kind, Form *form)
{
    forget_kind(slot);
    *slot = *kind;
    slot->form = (Form *)Py_NewRef(form);
    Py_INCREF(slot->template);
    Py_INCREF(slot->status);
    Py_INCREF(slot->method);
    Py_INCREF(slot->host);
    Py_INCREF(slot->scheme);
    Py_INCREF(slot->component);
}

/* The form for a request: a new reference; NULL: it is like none before it. */
static Form *
look_up_form(Renderer *self, PyObject **row, Py_ssize_t peer, Py_ssize_t split, Caller *caller)
{
    PyObject *lengths[4] = {PyLong_FromSsize_t(peer), PyLong_FromSsize_t(split), NULL, NULL}, *key = NULL;
    if (caller == NULL) {
        key = lengths[0] == NULL || lengths[1] == NULL
                  ? NULL
                  : PyTuple_Pack(8, row[TEMPLATE], row[STATUS], row[METHOD], row[HOST], row[SCHEME], row[COMPONENT],
                                 lengths[0], lengths[1]);
    }
    else {
        lengths[2] = PyLong_FromSsize_t(caller->trace_id.size);
        lengths[3] = PyLong_FromSsize_t(PyBytes_GET_SIZE(caller->reference));
        key = lengths[0] == NULL || lengths[1] == NULL || lengths[2] == NULL || lengths[3] == NULL
                  ? NULL
                  : PyTuple_Pack(10, row[TEMPLATE], row[STATUS], row[METHOD], row[HOST], row[SCHEME], row[COMPONENT],
                                 lengths[0], lengths[1], lengths[2], lengths[3]);
    }
    PyObject *form = key == NULL ? NULL : PyDict_GetItemWithError(self->forms, key);
    Py_XINCREF(form);
    Py_XDECREF(key);
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(lengths[i]);
    }
    if (form == NULL || Py_TYPE(form) != Form_Type || ((Form *)form)->gaps != 7) {
        PyErr_Clear();
        Py_XDECREF(form);
        return NULL;
    }
    return (Form *)form;
}

static Form *
find_form(Renderer *self, PyObject **row, Py_ssize_t peer, Py_ssize_t split, Caller *caller)
{
    Kind kind = {row[TEMPLATE], row[STATUS], row[METHOD], row[HOST], row[SCHEME], row[COMPONENT], peer, split,
                 caller == NULL ? -1 : caller->trace_id.size,
                 caller == NULL ? -1 : PyBytes_GET_SIZE(caller->reference), NULL};
    Kind *slot = slot_of(self->kinds, &kind);
    if (is_kind(slot, &kind)) {
        return (Form *)Py_NewRef(slot->form);
    }
    Form *form = look_up_form(self, row, peer, split, caller);
    if (form != NULL) {
        keep_kind(slot, &kind, form);
    }
    return form;
}

static PyObject *
render_as(Renderer *self, PyObject **row, double epoch, PyObject *peer, PyObject *split, Caller *caller)
{
    char number[16], start[16], end[16];
    Text texts[7] = {{0}};
    Form *form = find_form(self, row, PyBytes_GET_SIZE(peer), PyBytes_GET_SIZE(split), caller);
    if (form == NULL) {
        return NULL;
    }
    PyObject *rendered = NULL;
    if (PyFloat_CheckExact(row[START]) && PyFloat_CheckExact(row[END]) && write_number(row[NUMBER], number, &texts[1]) &&
        write_time(self, epoch + PyFloat_AS_DOUBLE(row[START]), start, &texts[2]) &&
        write_time(self, epoch + PyFloat_AS_DOUBLE(row[END]), end, &texts[3])) {
        texts[0] = caller == NULL ? texts[1] : caller->trace_id;
        if (caller != NULL) {
            texts[4] = (Text){PyBytes_AS_STRING(caller->reference), PyBytes_GET_SIZE(caller->reference)};
        }
        texts[5] = (Text){PyBytes_AS_STRING(peer), PyBytes_GET_SIZE(peer)};
        texts[6] = (Text){PyBytes_AS_STRING(split), PyBytes_GET_SIZE(split)};
        rendered = fill(form, texts);
    }
    Py_DECREF(form);
    return rendered;
}

/* A new reference: the bytes, or None where Python has to look. Never with an exception. */
static PyObject *
render(Renderer *self, PyObject **row, double epoch)
{
    Caller caller = {0};
    PyObject *rendered = NULL, *peer = NULL, *split = NULL;
    int is_called = row[CALLER] != Py_None;
    int is_plain = PyLong_CheckExact(row[NUMBER]) && row[NUMBER] != Py_False && PyObject_IsTrue(row[NUMBER]);
    if (is_plain && (!is_called || read_caller(self, row[CALLER], &caller))) {
        peer = PyTuple_CheckExact(row[CLIENT]) ? look_up_said(self->clients, self->peers, row[CLIENT])
                                               : look_up(self->peers, row[CLIENT]);
        split = peer == NULL ? NULL : look_up_said(self->times, self->splits, row[TIMES]);
        if (split != NULL && PyBytes_CheckExact(peer) && peer != self->odd && PyBytes_CheckExact(split)) {
            rendered = render_as(self, row, epoch, peer, split, is_called ? &caller : NULL);
        }
    }
    if (rendered == NULL) {
        drop_error();
    }
    Py_XDECREF(split);
    Py_XDECREF(peer);
    Py_XDECREF(caller.reference);
    return rendered == NULL ? Py_NewRef(Py_None) : rendered;
}

/* Whether Python has to ask if an operation is ignored. */
static int
is_asked_for(PyObject *path, int dots_only)
{
    if (!dots_only || !PyUnicode_CheckExact(path)) {
        return 1;
    }
    return PyUnicode_FindChar(path, '.', 0, PyUnicode_GET_LENGTH(path), 1) != -1;
}

static int
is_ignored(PyObject *asked, PyObject **row)
{
    PyObject *args[2] = {row[METHOD], row[PATH]};
    PyObject *answer = PyObject_Vectorcall(asked, args, 2, NULL);
    int ignored = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return ignored;
}

static PyObject *
renderer_render(Renderer *self, PyObject *args)
{
    PyObject *row, *asked;
    double epoch;
    int dots_only;
    if (!PyArg_ParseTuple(args, "O!dpO", &PyList_Type, &row, &epoch, &dots_only, &asked)) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(row) / ROW_FIELDS;
    PyObject *payloads = PyList_New(count);
    for (Py_ssize_t i = 0; payloads != NULL && i < count; i++) {
        /* the row is the caller's own: nothing else changes it */
        PyObject **fields = &((PyListObject *)row)->ob_item[i * ROW_FIELDS];
        int ignored = is_asked_for(fields[PATH], dots_only) ? is_ignored(asked, fields) : 0;
        if (ignored < 0) {
            drop_error();
        }
        PyList_SET_ITEM(payloads, i, ignored ? Py_NewRef(Py_None) : render(self, fields, epoch));
    }
    return payloads;
}

static PyObject *
renderer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"forms", "peers", "splits", "references", "odd", "is_binary", NULL};
    PyObject *forms, *peers, *splits, *references, *odd;
    int is_binary;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOSp", names, &PyDict_Type, &forms, &peers, &splits, &references,
                                     &odd,
                                     &is_binary)) {
        return NULL;
    }
    Renderer *self = (Renderer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->forms = Py_NewRef(forms);
        self->peers = Py_NewRef(peers);
        self->splits = Py_NewRef(splits);
        self->references = Py_NewRef(references);
        self->odd = Py_NewRef(odd);
        self->is_binary = is_binary;
    }
    return (PyObject *)self;
}

static int
renderer_traverse(Renderer *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->forms);
    Py_VISIT(self->peers);
    Py_VISIT(self->splits);
    Py_VISIT(self->references);
    return 0;
}

static void
renderer_dealloc(Renderer *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < KINDS; i++) {
        forget_kind(&self->kinds[i]);
    }
    for (int i = 0; i < RECENT; i++) {
        Py_XDECREF(self->recent[i].rest);
        Py_XDECREF(self->recent[i].form);
    }
    for (int i = 0; i < SAID; i++) {
        Py_XDECREF(self->clients[i].key);
        Py_XDECREF(self->clients[i].value);
        Py_XDECREF(self->times[i].key);
        Py_XDECREF(self->times[i].value);
    }
    Py_XDECREF(self->forms);
    Py_XDECREF(self->peers);
    Py_XDECREF(self->splits);
    Py_XDECREF(self->references);
    Py_XDECREF(self->odd);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef renderer_methods[] = {
    {"render", (PyCFunction)renderer_render, METH_VARARGS,
     "Segments of the requests in a row that are like others before them; None for each other one."},
    {NULL},
};

static PyType_Slot renderer_slots[] = {
    {Py_tp_doc, "Renders requests from forms."},
    {Py_tp_new, renderer_new},
    {Py_tp_dealloc, renderer_dealloc},
    {Py_tp_traverse, renderer_traverse},
    {Py_tp_methods, renderer_methods},
    {0, NULL},
};

static PyType_Spec renderer_spec = {
    .name = "swagent_native._native.Renderer",
    .basicsize = sizeof(Renderer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = renderer_slots,
};

int
add_rows(PyObject *module)
{
    s_ring_at = PyUnicode_InternFromString("ring_at");
    s_wake_reader = PyUnicode_InternFromString("wake_reader");
    s_clock = PyUnicode_InternFromString("clock");
    no_request = PyLong_FromLong(0);
    no_facts = Py_BuildValue("(ssysOii)", "", "", "", "", Py_None, 0, 0);
    if (!s_ring_at || !s_wake_reader || !s_clock || !no_request || !no_facts) {
        return -1;
    }
    Ring_Type = (PyTypeObject *)PyType_FromSpec(&ring_spec);
    Rows_Type = (PyTypeObject *)PyType_FromSpec(&rows_spec);
    Form_Type = (PyTypeObject *)PyType_FromSpec(&form_spec);
    Renderer_Type = (PyTypeObject *)PyType_FromSpec(&renderer_spec);
    if (Ring_Type == NULL || Rows_Type == NULL || Form_Type == NULL || Renderer_Type == NULL) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "Ring", (PyObject *)Ring_Type) < 0 ||
        PyModule_AddObjectRef(module, "Rows", (PyObject *)Rows_Type) < 0 ||
        PyModule_AddObjectRef(module, "Form", (PyObject *)Form_Type) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Renderer", (PyObject *)Renderer_Type);
}
