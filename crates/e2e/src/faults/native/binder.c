/* A JVMTI agent that binds Unsafe.park to a function of its own, which calls nobody's: a park may return at any time. */
#include <jni.h>
#include <unistd.h>

static void JNICALL park(JNIEnv *env, jobject object, jboolean is_absolute, jlong time) {
  (void)env, (void)object, (void)is_absolute, (void)time;
  usleep(1000);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
  JNIEnv *env;
  JNINativeMethod method = {"park", "(ZJ)V", (void *)park};
  (void)options, (void)reserved;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) {
    return 1;
  }
  jclass type = (*env)->FindClass(env, "jdk/internal/misc/Unsafe");
  return type ? (*env)->RegisterNatives(env, type, &method, 1) : 1;
}
