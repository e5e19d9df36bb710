/* The bare interrupt: what any sampler pays at least. Every thread that is there
 * when it is switched on gets a clock of its own CPU time, which interrupts it
 * every PERIOD and notes the time into a ring that nobody reads. No stack, no
 * signal, no work. Loaded with "on PERIOD_NS" or "off". */
#include <dirent.h>
#include <jni.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_THREADS 1024

static struct {
  int file;
  void *ring;
} clocks[MOST_THREADS];
static int count;

static size_t ring_bytes(void) { return 2 * (size_t)sysconf(_SC_PAGESIZE); }

static int begin(pid_t thread, long period_ns) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = (unsigned long)period_ns;
  attr.sample_type = PERF_SAMPLE_TIME;
  attr.exclude_kernel = 1;
  int file = (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) {
    return -1;
  }
  /* Mapped for reading only, the ring is written over and over: it is never full. */
  void *ring = mmap(NULL, ring_bytes(), PROT_READ, MAP_SHARED, file, 0);
  if (ring == MAP_FAILED) {
    close(file);
    return -1;
  }
  clocks[count].file = file;
  clocks[count].ring = ring;
  count++;
  return 0;
}

static void end_all(void) {
  while (count > 0) {
    count--;
    munmap(clocks[count].ring, ring_bytes());
    close(clocks[count].file);
  }
}

static jint begin_all(long period_ns) {
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) {
    return JNI_ERR;
  }
  for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    long thread = atol(task->d_name);
    if (thread > 0 && count < MOST_THREADS) {
      begin((pid_t)thread, period_ns);
    }
  }
  closedir(tasks);
  return count > 0 ? JNI_OK : JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
  (void)vm;
  (void)reserved;
  end_all();
  if (options != NULL && strncmp(options, "on ", 3) == 0) {
    return begin_all(atol(options + 3));
  }
  return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
  return Agent_OnLoad(vm, options, reserved);
}
