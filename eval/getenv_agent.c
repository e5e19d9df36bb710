/* The least that an agent can do: ask for a JVMTI environment. What the VM itself
 * charges for that is not the profiler's cost, and is measured with this. */
#include <jvmti.h>

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
  (void)options;
  (void)reserved;
  jvmtiEnv *jvmti;
  return (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11);
}
