/* The least that a tracer of monitors can cost: the VM posts its events for
 * contended enters to callbacks that return at once. What Headway costs beyond
 * this is Headway's. Loaded with "on" or "off". */
#include <jvmti.h>
#include <string.h>

static jvmtiEnv *jvmti;

static void JNICALL on_monitor(jvmtiEnv *env, JNIEnv *jni, jthread thread, jobject object) {
  (void)env;
  (void)jni;
  (void)thread;
  (void)object;
}

static jint prepare(JavaVM *vm) {
  if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK) {
    return JNI_ERR;
  }
  jvmtiCapabilities wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.can_generate_monitor_events = 1;
  if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE) {
    return JNI_ERR;
  }
  jvmtiEventCallbacks callbacks;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.MonitorContendedEnter = on_monitor;
  callbacks.MonitorContendedEntered = on_monitor;
  return (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) == JVMTI_ERROR_NONE ? JNI_OK : JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
  (void)reserved;
  if (jvmti == NULL && prepare(vm) != JNI_OK) {
    return JNI_ERR;
  }
  jvmtiEventMode mode = options != NULL && strcmp(options, "on") == 0 ? JVMTI_ENABLE : JVMTI_DISABLE;
  const jvmtiEvent events[] = {JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED};
  for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
    if ((*jvmti)->SetEventNotificationMode(jvmti, mode, events[i], NULL) != JVMTI_ERROR_NONE) {
      return JNI_ERR;
    }
  }
  return JNI_OK;
}
