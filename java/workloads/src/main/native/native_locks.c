/*
 * Monitors entered and left by native code, for the `jni` workload.
 *
 * Times are CLOCK_MONOTONIC, the clock of System.nanoTime on Linux, so that
 * stamps taken here and in Java can be compared.
 */
#include <jni.h>
#include <time.h>

static jlong now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (jlong)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin_for(jlong ns) {
  jlong end = now_ns() + ns;
  while (now_ns() < end) {
  }
}

/* Stamps: {request, acquired, about to release}. */
static void put_stamps(JNIEnv *env, jlongArray stamps, jlong request, jlong acquired, jlong release) {
  jlong values[3] = {request, acquired, release};
  (*env)->SetLongArrayRegion(env, stamps, 0, 3, values);
}

JNIEXPORT void JNICALL Java_io_headway_workloads_predict_NativeLocks_enterHoldExit(
    JNIEnv *env, jclass type, jobject lock, jlong hold_ns, jlongArray stamps) {
  (void)type;
  jlong request = now_ns();
  if ((*env)->MonitorEnter(env, lock) != JNI_OK) {
    return;
  }
  jlong acquired = now_ns();
  spin_for(hold_ns);
  jlong release = now_ns();
  (*env)->MonitorExit(env, lock);
  put_stamps(env, stamps, request, acquired, release);
}

JNIEXPORT void JNICALL Java_io_headway_workloads_predict_NativeLocks_enter(
    JNIEnv *env, jclass type, jobject lock) {
  (void)type;
  (*env)->MonitorEnter(env, lock);
}

JNIEXPORT void JNICALL Java_io_headway_workloads_predict_NativeLocks_exit(
    JNIEnv *env, jclass type, jobject lock) {
  (void)type;
  (*env)->MonitorExit(env, lock);
}

/* A native synchronized method: the VM's wrapper owns the monitor of `type`. */
JNIEXPORT void JNICALL Java_io_headway_workloads_predict_NativeLocks_holdClass(
    JNIEnv *env, jclass type, jlong hold_ns, jlongArray stamps) {
  (void)type;
  jlong acquired = now_ns();
  spin_for(hold_ns);
  put_stamps(env, stamps, 0, acquired, now_ns());
}
