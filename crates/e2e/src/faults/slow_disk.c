/* Preloaded into a JVM: writes to recordings hang as long as the file that
   HEADWAY_SLOW names exists, as on a disk that answers no more; they fail with
   EIO as long as the file that HEADWAY_BROKEN names exists, as on one that is
   broken. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_recording(int fd) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, ".jfr") != 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    const char *slow = getenv("HEADWAY_SLOW");
    while (slow && is_recording(fd) && access(slow, F_OK) == 0) usleep(20000);
    const char *broken = getenv("HEADWAY_BROKEN");
    if (broken && is_recording(fd) && access(broken, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return real(fd, bytes, count, offset);
}
