/* How messages are written: protobuf, into a buffer that grows. */
#ifndef SWAGENT_WIRE_H
#define SWAGENT_WIRE_H

#include "native.h"

/* What comes of each step. With FAILED an exception is set. With NOT_MINE Python has to do it, from the beginning. */
enum { FAILED = -1, WRITTEN = 0, NOT_MINE = 1 };

/* Most messages fit into the first room, which takes no allocation. It must not be copied: `at` points into it. */
typedef struct {
    char *start;
    char *at;
    char *end;
    char first[2048];
} Writer;

void writer_open(Writer *writer);
void writer_close(Writer *writer);
int writer_grow(Writer *writer, Py_ssize_t more);

/* Room for so many bytes behind `at`. */
static inline int
writer_reserve(Writer *writer, Py_ssize_t more)
{
    return writer->end - writer->at >= more ? WRITTEN : writer_grow(writer, more);
}

int write_bytes(Writer *writer, const char *bytes, Py_ssize_t length);
int write_varint(Writer *writer, unsigned long long value);

/* A number's field; none for 0. */
int write_number(Writer *writer, int field, long long value);

/* A text's field; none for an empty one. Not mine is what is no plain str.
 * `clean` is the Python function of this name, for texts of more than plain ASCII. */
int write_text(Writer *writer, int field, PyObject *text, PyObject *clean);

/* The bytes of a text whose letters are certainly safe; NULL without an exception where that is not certain. */
const char *plain_text(PyObject *text, Py_ssize_t *length);

/* A message inside another: its body is written between these two. */
Py_ssize_t nested_begin(Writer *writer, int field);
int nested_end(Writer *writer, Py_ssize_t begin);

/* What was written, as bytes. */
PyObject *writer_result(const Writer *writer);

/* Clears the exception that is set, where it is an error: Python does it anew and says which.
 * Returns 0 with what has to pass, such as KeyboardInterrupt, still set. */
int forgive(void);

#endif
