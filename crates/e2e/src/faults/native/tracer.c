/* tracer PID: attaches to every thread of a process, as a debugger does, until its input ends. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

int main(int count, char **arguments) {
  char path[64];
  if (count != 2) {
    return 2;
  }
  snprintf(path, sizeof path, "/proc/%s/task", arguments[1]);
  DIR *tasks = opendir(path);
  if (!tasks) {
    return 1;
  }
  for (struct dirent *task; (task = readdir(tasks));) {
    if (task->d_name[0] != '.' && ptrace(PTRACE_SEIZE, atoi(task->d_name), 0, 0) != 0) {
      perror(task->d_name);
    }
  }
  puts("READY");
  fflush(stdout);
  getchar();
  return 0;
}
