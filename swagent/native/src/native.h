/* The parts of the accelerator. Each source file adds its types and functions to the module.
 *
 * The module belongs to the main interpreter of a process with a global interpreter lock: its state is static, and
 * the lock guards it. `swagent/acceleration.py` refuses to load it anywhere else.
 */
#ifndef SWAGENT_NATIVE_H
#define SWAGENT_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "swagent-native needs the global interpreter lock. swagent works without it on a free-threaded build"
#endif

/* Each returns 0, or -1 with an exception set. */
int add_spans(PyObject *module);

#endif
