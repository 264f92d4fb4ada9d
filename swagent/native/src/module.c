/* The module `swagent_native._native`. */
#include "calls.h"
#include "clock.h"
#include "headers.h"
#include "late.h"
#include "lock.h"
#include "request_span.h"
#include "slots.h"

/* Raised with each change of what Python and C expect of each other. */
#define API 17

static int
execute(PyObject *module)
{
    /* One that shares the lock with the main interpreter may load whatever it likes, and before 3.12 so may all. */
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "it is for the main interpreter alone");
        return -1;
    }
    if (add_awaited(module) < 0 || add_base(module) < 0 || add_calls(module) < 0 || add_headers(module) < 0 || add_http_call(module) < 0 || add_lock(module) < 0 || add_slots(module) < 0 || add_request_span(module) < 0 || add_clock(module) < 0 || add_log_renderer(module) < 0 || add_log_rows(module) < 0 || add_logs(module) < 0 ||
        add_late(module) < 0 || add_loop(module) < 0 || add_origins(module) < 0 || add_places(module) < 0 || add_query(module) < 0 || add_request(module) < 0 ||
        add_rows(module) < 0 || add_send(module) < 0 || add_served(module) < 0 || add_spans(module) < 0) {
        return -1;
    }
    return PyModule_AddIntConstant(module, "API", API);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "swagent_native._native",
    .m_doc = "The fast paths of swagent in C.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
