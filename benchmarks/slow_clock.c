/* Slows the clocks of a process down, so that its timers hardly count while it runs under valgrind.

   cc -O2 -shared -fPIC -o slow_clock.so slow_clock.c
   SLOW_CLOCK="100 MONOTONIC_NS REALTIME_NS" LD_PRELOAD=./slow_clock.so program

   From the two given moments on, clocks advance at a hundredth of their speed. All processes that
   inherit the environment agree on the time. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static long long factor = 1, monotonic_ns, realtime_ns;

__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("SLOW_CLOCK");
    if (text == NULL || sscanf(text, "%lld %lld %lld", &factor, &monotonic_ns, &realtime_ns) != 3)
        factor = 1;
}

int clock_gettime(clockid_t clock, struct timespec *found)
{
    long status = syscall(SYS_clock_gettime, clock, found);
    if (status != 0 || factor == 1)
        return (int)status;
    long long start;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        start = realtime_ns;
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
        start = monotonic_ns;
        break;
    default:
        return 0;
    }
    long long now = found->tv_sec * SECOND + found->tv_nsec;
    long long slow = start + (now - start) / factor;
    found->tv_sec = slow / SECOND;
    found->tv_nsec = slow % SECOND;
    return 0;
}
