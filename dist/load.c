/* Loads the agent as a JVM would, and is no JVM: the agent has to say so and let the program run.
 * Built with musl, it shows that musl finds every name that the library needs, runs what the
 * library does at load, and gets an answer from it. */
#include <dlfcn.h>
#include <stdio.h>

enum { JNI_EVERSION = -3 };

static int asked;

static int get_env(void *vm, void **environment, int version) {
  (void)vm;
  (void)version;
  *environment = 0;
  asked = 1;
  return JNI_EVERSION;
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: load LIBRARY\n");
    return 2;
  }
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*load)(void *, char *, void *) = (int (*)(void *, char *, void *))dlsym(library, "Agent_OnLoad");
  if (!load) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* JNIInvokeInterface: three empty places, then DestroyJavaVM, AttachCurrentThread,
   * DetachCurrentThread, GetEnv, AttachCurrentThreadAsDaemon. */
  void *functions[8] = {0, 0, 0, 0, 0, 0, (void *)get_env, 0};
  void *vm = functions;
  int answer = load(&vm, "start,file=/dev/null", 0);
  printf("the library is loaded, %s, and answered %d\n", asked ? "asked for JVMTI" : "asked for nothing", answer);
  return asked && answer == 0 ? 0 : 1;
}
