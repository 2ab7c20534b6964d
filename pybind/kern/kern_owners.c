// Owners of foreign memory: Python objects whose memory an array shows.
#include "kern_py.h"

// What was let go of by a thread that does not hold the interpreter's lock.
static pthread_mutex_t owners_lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t *owners;
static int owners_n, owners_cap;

static int drop_owners(void *unused) {
  (void)unused;
  pthread_mutex_lock(&owners_lock);
  uintptr_t *list = owners;
  int n = owners_n;
  owners = NULL;
  owners_n = owners_cap = 0;
  pthread_mutex_unlock(&owners_lock);
  for (int i = 0; i < n; i++) Py_DECREF((PyObject *)list[i]);
  free(list);
  return 0;
}

void kern_release(uintptr_t owner) {
  if (!Py_IsInitialized() || hot_is_forked()) return; // the process ends, or it is not ours to count in
  if (PyGILState_Check()) {
    Py_DECREF((PyObject *)owner);
    return;
  }
  pthread_mutex_lock(&owners_lock);
  if (owners_n == owners_cap) {
    int cap = owners_cap ? owners_cap * 2 : 16;
    uintptr_t *p = realloc(owners, (size_t)cap * sizeof *p);
    if (p) { owners = p; owners_cap = cap; }
  }
  if (owners_n < owners_cap) owners[owners_n++] = owner;
  pthread_mutex_unlock(&owners_lock);
  Py_AddPendingCall(drop_owners, NULL); // when its list is full, the next release does it
}
