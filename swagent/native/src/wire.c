#include "wire.h"

#include <stdint.h>
#include <string.h>

void
writer_open(Writer *writer)
{
    writer->start = writer->at = writer->first;
    writer->end = writer->first + sizeof writer->first;
}

void
writer_close(Writer *writer)
{
    if (writer->start != writer->first) {
        PyMem_Free(writer->start);
    }
}

int
writer_grow(Writer *writer, Py_ssize_t more)
{
    Py_ssize_t used = writer->at - writer->start;
    if (more > PY_SSIZE_T_MAX / 2 - used) {
        PyErr_NoMemory();
        return FAILED;
    }
    Py_ssize_t size = (used + more) * 2;
    char *old = writer->start == writer->first ? NULL : writer->start;
    char *grown = PyMem_Realloc(old, (size_t)size);
    if (grown == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    if (old == NULL) {
        memcpy(grown, writer->first, (size_t)used);
    }
    writer->start = grown;
    writer->at = grown + used;
    writer->end = grown + size;
    return WRITTEN;
}

int
write_bytes(Writer *writer, const char *bytes, Py_ssize_t length)
{
    if (writer_reserve(writer, length) < 0) {
        return FAILED;
    }
    memcpy(writer->at, bytes, (size_t)length);
    writer->at += length;
    return WRITTEN;
}

/* A varint of 64 bits has ten bytes at most. */
#define LONGEST 10

int
write_varint(Writer *writer, unsigned long long value)
{
    if (writer_reserve(writer, LONGEST) < 0) {
        return FAILED;
    }
    while (value > 127) {
        *writer->at++ = (char)((value & 127) | 128);
        value >>= 7;
    }
    *writer->at++ = (char)value;
    return WRITTEN;
}

int
write_number(Writer *writer, int field, long long value)
{
    if (value == 0) {
        return WRITTEN;
    }
    if (writer_reserve(writer, 2 * LONGEST) < 0) {
        return FAILED;
    }
    *writer->at++ = (char)(field << 3); /* all fields here are below 16, so a tag is one byte */
    return write_varint(writer, (unsigned long long)value);
}

/* -- texts ------------------------------------------------------------------------------------------------------- */

static int
is_safe_letter(unsigned char letter)
{
    return (letter >= 32 && letter != 127) || letter == '\t' || letter == '\n' || letter == '\r';
}

/* Whether ASCII has no terminal controls. Eight letters at once, and each by itself only where one of them may be a
 * control or a line end. */
static int
is_safe(const char *letters, Py_ssize_t length)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    Py_ssize_t at = 0;
    while (at + 8 <= length) {
        uint64_t eight;
        memcpy(&eight, letters + at, 8);
        uint64_t below_space = (eight - 32 * ones) & tops;
        uint64_t deletes = ((eight ^ 127 * ones) - ones) & tops;
        if (below_space | deletes) {
            for (Py_ssize_t each = at; each < at + 8; each++) {
                if (!is_safe_letter((unsigned char)letters[each])) {
                    return 0;
                }
            }
        }
        at += 8;
    }
    for (; at < length; at++) {
        if (!is_safe_letter((unsigned char)letters[at])) {
            return 0;
        }
    }
    return 1;
}

const char *
plain_text(PyObject *text, Py_ssize_t *length)
{
    if (!PyUnicode_IS_COMPACT_ASCII(text)) {
        return NULL;
    }
    const char *letters = (const char *)PyUnicode_1BYTE_DATA(text);
    *length = PyUnicode_GET_LENGTH(text);
    return is_safe(letters, *length) ? letters : NULL;
}

static int
write_text_bytes(Writer *writer, int field, const char *bytes, Py_ssize_t length)
{
    if (writer_reserve(writer, 1 + LONGEST + length) < 0) {
        return FAILED;
    }
    *writer->at++ = (char)(field << 3 | 2);
    write_varint(writer, (unsigned long long)length);
    memcpy(writer->at, bytes, (size_t)length);
    writer->at += length;
    return WRITTEN;
}

static int
write_cleaned(Writer *writer, int field, PyObject *text, PyObject *clean)
{
    PyObject *cleaned = PyObject_CallOneArg(clean, text);
    if (cleaned == NULL) {
        return FAILED;
    }
    /* not PyUnicode_AsUTF8: that leaves the bytes in the text, and it may be the application's */
    PyObject *bytes = PyUnicode_AsUTF8String(cleaned);
    Py_DECREF(cleaned);
    if (bytes == NULL) {
        return FAILED;
    }
    int done = write_text_bytes(writer, field, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return done;
}

int
write_text(Writer *writer, int field, PyObject *text, PyObject *clean)
{
    if (!PyUnicode_CheckExact(text)) {
        return NOT_MINE;
    }
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0) {
        return FAILED;
    }
#endif
    if (PyUnicode_GET_LENGTH(text) == 0) {
        return WRITTEN;
    }
    Py_ssize_t length;
    const char *letters = plain_text(text, &length);
    if (letters == NULL) {
        return write_cleaned(writer, field, text, clean);
    }
    return write_text_bytes(writer, field, letters, length);
}

/* -- messages in messages ---------------------------------------------------------------------------------------- */

Py_ssize_t
nested_begin(Writer *writer, int field)
{
    if (writer_reserve(writer, 2) < 0) {
        return FAILED;
    }
    *writer->at++ = (char)(field << 3 | 2);
    writer->at++; /* for the length: most bodies are shorter than 128 bytes, so one byte is kept for it */
    return writer->at - writer->start;
}

int
nested_end(Writer *writer, Py_ssize_t begin)
{
    Py_ssize_t length = writer->at - writer->start - begin;
    if (length < 128) {
        writer->start[begin - 1] = (char)length;
        return WRITTEN;
    }
    if (writer_reserve(writer, LONGEST) < 0) {
        return FAILED;
    }
    char *body = writer->start + begin;
    Py_ssize_t more = 0;
    for (Py_ssize_t rest = length >> 7; rest; rest >>= 7) {
        more++;
    }
    memmove(body + more, body, (size_t)length);
    writer->at = body - 1;
    write_varint(writer, (unsigned long long)length);
    writer->at = body + more + length;
    return WRITTEN;
}

PyObject *
writer_result(const Writer *writer)
{
    return PyBytes_FromStringAndSize(writer->start, writer->at - writer->start);
}

int
forgive(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return 0;
    }
    PyErr_Clear();
    return 1;
}
