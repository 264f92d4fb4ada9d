"""Every look into frames, local variables and private names of other libraries, and into the interpreter.

No interface of Python says why a task was cancelled, what a coroutine waits for, or which task runs in a loop of
another thread. Frames and private attributes do, as long as a library keeps their names. So each name is written here,
once, with its library, the versions that were looked at, and what is lost without it:

    touched            a name that is looked at: a function, its local variable, an attribute; and the version gate
    known_versions     whether a version is among those of a gate
    frames             the functions on a stack, and the frames of other threads
    installed_code     the folders whose code is not the application's own
    asyncio_inside, anyio_inside, trio_inside, starlette_inside, sqlalchemy_inside
                       the names of one library each
    pools_inside       the names of connection pools
    lock_waits         the lock, semaphore, queue that a task waits for
    own_waits          functions of the agent in which a request waits
    await_chain        the frames of a coroutine that waits
    loop_view          a loop as another thread sees it
    loop_turns, trio_turns, uvloop_inside
                       when the turns of a loop begin and end
    kernel_timer       a timer of the kernel's
    executor_threads   which request a worker thread works for
    garbage_time       how long the interpreter's garbage collector has run

Where a version was not looked at, or a name is gone, nothing is found and nothing else happens. The tests in
`tests/inspection` look for each name in the installed versions: a name that was renamed fails there.
"""
