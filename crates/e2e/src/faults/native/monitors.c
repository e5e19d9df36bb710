/* Native methods of io.headway.workloads.faults.Target: a monitor that native code enters and exits. */
#include <jni.h>

JNIEXPORT void JNICALL Java_io_headway_workloads_faults_Target_enter(JNIEnv *env, jclass type, jobject monitor) {
  (void)type;
  (*env)->MonitorEnter(env, monitor);
}

JNIEXPORT void JNICALL Java_io_headway_workloads_faults_Target_exit(JNIEnv *env, jclass type, jobject monitor) {
  (void)type;
  (*env)->MonitorExit(env, monitor);
}
