/* A clock that moves on demand, for all of a process: loaded before libc, so Python and C read the same. */
#include <time.h>

#define SECOND 1000000000LL

/* of the monotonic clocks and those of processor time */
static volatile long long now = 1000 * SECOND;
static volatile long long epoch = 1790000000LL * SECOND;

void
frozen_clock_advance(long long nanoseconds)
{
    now += nanoseconds;
}

int
clock_gettime(clockid_t clock, struct timespec *found)
{
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    long long at = is_wall ? epoch + now : now;
    found->tv_sec = at / SECOND;
    found->tv_nsec = at % SECOND;
    return 0;
}

time_t
time(time_t *found)
{
    time_t at = (epoch + now) / SECOND;
    if (found)
        *found = at;
    return at;
}
