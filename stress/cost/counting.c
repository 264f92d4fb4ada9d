/* Loaded before everything else into the process whose instructions are counted.
 *
 * The clock. Valgrind makes a process some fifty times slower. By a true clock each request would have a millisecond of
 * its own, and whatever remembers a time for a millisecond would never be right. So the clocks go slower at first, and
 * from the first `cost_advance` on they stop and go on only by what that says: the same at each run.
 *
 * The requests to callgrind, which are a few instructions in a row that a compiler has to put there.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define SECOND 1000000000LL
#define SLOWER 50
#define CLOCKS 8

static long long bases[CLOCKS]; /* what each clock said at the first look */
static long long passed;        /* since then; from the first `cost_advance` on */
static int is_driven;

static long long look(clockid_t id) {
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static long long since_first_look(void) {
    if (!bases[CLOCK_MONOTONIC])
        for (int id = 0; id < CLOCKS; id++)
            bases[id] = look(id);
    return is_driven ? passed : (look(CLOCK_MONOTONIC) - bases[CLOCK_MONOTONIC]) / SLOWER;
}

static int is_cpu_clock(clockid_t id) {
    return id < 0 || id >= CLOCKS || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID;
}

static int read_clock(clockid_t id, struct timespec *found) {
    if (is_cpu_clock(id))
        return (int)syscall(SYS_clock_gettime, id, found);
    long long now = since_first_look(); /* first: it sets the bases */
    now += bases[id];
    found->tv_sec = now / SECOND;
    found->tv_nsec = now % SECOND;
    return 0;
}

/* Takes the C library's place by an alias: no index of the code then counts every caller of the C library's function
 * as a caller of this one. */
extern __typeof(read_clock) clock_gettime __attribute__((alias("read_clock")));

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    (void)zone;
    struct timespec now;
    read_clock(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *found) {
    struct timespec now;
    read_clock(CLOCK_REALTIME, &now);
    if (found)
        *found = now.tv_sec;
    return now.tv_sec;
}

void cost_advance(long long nanoseconds) {
    if (!is_driven) {
        passed = since_first_look();
        is_driven = 1;
    }
    passed += nanoseconds;
}

void cost_begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

/* What was counted since the begin or the last dump, under this name. */
void cost_dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }

void cost_end(void) { CALLGRIND_STOP_INSTRUMENTATION; }
