/* A profiler that costs what it says: whenever the process has used PERIOD of CPU
 * time, a signal interrupts whatever runs and keeps it busy for a given share of
 * that. The share is of what the program itself uses: with 50 per mille, of each
 * 10.5 ms of CPU time 0.5 ms are the loop's, and the program needs 5 % more CPU
 * for the same work. Loaded with "on SHARE_PER_MILLE" or "off". What the harness
 * reports for it shows whether the harness measures right. */
#include <errno.h>
#include <jni.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The kernel looks at such timers once a tick (1 to 10 ms); overruns make up for that. */
#define PERIOD_NS 10000000L
#define SECOND_NS 1000000000L

static timer_t timer;
static int has_timer;
static long busy_ns;

static long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void be_busy(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)context;
  int before = errno;
  /* Periods that passed before the signal was delivered are made up for. */
  long end = cpu_ns() + busy_ns * (1 + info->si_overrun);
  while (cpu_ns() < end) {
  }
  errno = before;
}

static int set_period(long ns) {
  struct itimerspec spec = {{ns / SECOND_NS, ns % SECOND_NS}, {ns / SECOND_NS, ns % SECOND_NS}};
  return timer_settime(timer, 0, &spec, NULL);
}

static int make_timer(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = be_busy;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  return sigaction(SIGPROF, &action, NULL) != 0 || timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0;
}

static jint obey(const char *options) {
  if (!has_timer) {
    if (make_timer()) {
      return JNI_ERR;
    }
    has_timer = 1;
  }
  if (strncmp(options, "on ", 3) == 0) {
    busy_ns = PERIOD_NS / 1000 * atol(options + 3);
    return set_period(PERIOD_NS + busy_ns) ? JNI_ERR : JNI_OK;
  }
  return set_period(0) ? JNI_ERR : JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
  (void)vm;
  (void)reserved;
  return obey(options == NULL ? "off" : options);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
  return Agent_OnLoad(vm, options, reserved);
}
