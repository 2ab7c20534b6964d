// Concurrency groups of an actor: see core/internal/execute/lane.go.
#include "py.h"

static PyObject *group_server; // what the thread of the system group runs

// serve_group is the thread of the system group. It is a thread of C's, because its first call may come while the main
// thread waits in C for long.
static void *serve_group(void *p) {
  (void)p;
  PyGILState_STATE s = PyGILState_Ensure();
  PyObject *found = PyObject_CallNoArgs(group_server);
  if (found) Py_DECREF(found);
  else PyErr_WriteUnraisable(group_server);
  PyGILState_Release(s);
  return NULL;
}

void hot_serve_group(void) {
  pthread_attr_t attr;
  pthread_t thread;
  sigset_t all, before;
  if (pthread_attr_init(&attr)) return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigfillset(&all); // the program's handlers run on its own threads
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, &attr, serve_group, NULL))
    fprintf(stderr, "Eagle Ray warning: no thread could be started for the concurrency group _ray_system\n");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}

// declare_groups(names, server): the actor's groups; server, if it is not None, is called on the system group's thread
static PyObject *declare_groups(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("declare_groups", n, 2) || !hot_usable()) return NULL;
  if (!PyTuple_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "declare_groups takes a tuple of names");
    return NULL;
  }
  Py_ssize_t count = PyTuple_GET_SIZE(a[0]);
  const char **names = PyMem_Calloc((size_t)count + 1, sizeof *names);
  if (!names) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!(names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(a[0], i)))) {
      PyMem_Free(names);
      return NULL;
    }
  }
  if (a[1] != Py_None) {
    Py_INCREF(a[1]);
    Py_XSETREF(group_server, a[1]);
  }
  hot_err e;
  int rc = HotDeclareGroups((char **)names, count, a[1] != Py_None, &e);
  PyMem_Free(names);
  if (rc < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

PyMethodDef hot_group_functions[] = {
    FAST(declare_groups, "declare_groups"), {0},
};
