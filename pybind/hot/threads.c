// Go's threads do without an arena of malloc's. runtime/cgo hands a new thread
// what it begins with in 24 bytes of malloc's, which the thread frees: and
// malloc makes an arena for each thread that asks it for anything, by four
// system calls, a page and two mappings. A worker has half a dozen threads.
//
// The linker lets calls of malloc and free in this library come here.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include "late.h"

extern void *__real_malloc(size_t);
extern void __real_free(void *);

enum { SLOTS = 32, SLOT = 32, CALLER = 256 };

static _Alignas(16) unsigned char slots[SLOTS][SLOT];
static uint32_t taken; // a bit each

// Weak: cgo's trial link does without.
extern void x_cgo_thread_start(void) __attribute__((weak));

static void *take(void) {
  uint32_t now = __atomic_load_n(&taken, __ATOMIC_RELAXED);
  while (~now) {
    int free_one = __builtin_ctz(~now);
    if (__atomic_compare_exchange_n(&taken, &now, now | (uint32_t)1 << free_one, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return slots[free_one];
  }
  return NULL;
}

void *__wrap_malloc(size_t n) {
  // What others ask for may be freed elsewhere, or grow.
  if (n <= SLOT && x_cgo_thread_start && (uintptr_t)__builtin_return_address(0) - (uintptr_t)x_cgo_thread_start < CALLER) {
    void *p = take();
    if (p) return p;
  }
  return __real_malloc(n);
}

void __wrap_free(void *p) {
  uintptr_t at = (uintptr_t)p - (uintptr_t)slots;
  if (at < sizeof slots) __atomic_fetch_and(&taken, ~((uint32_t)1 << at / SLOT), __ATOMIC_RELEASE);
  else __real_free(p);
}
