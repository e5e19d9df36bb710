/* A SIGTRAP handler that does not return, and what runs into a trap of its own and comes back by it. */
#include <setjmp.h>

static __thread sigjmp_buf back;

void on_trap(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}

/* 1 if the handler jumped back here. */
int trap_and_jump(void) {
  if (sigsetjmp(back, 1)) {
    return 1;
  }
  __asm__ volatile("int3");
  return 0;
}
