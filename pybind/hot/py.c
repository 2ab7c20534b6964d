// What all C files of eagleray._hot use: the process, errors, the call that runs, time. It calls none of them.
#include "py.h"

PyTypeObject *hot_ref_type;      // eagleray.ObjectRef
PyObject *hot_error;         // HotError(code, message)
pthread_t hot_main_thread;
int hot_have_main;
int hot_forked;                  // in a child that user code forked

// ---- errors -------------------------------------------------------------

PyObject *hot_raise(hot_err *e) {
  if (PyErr_Occurred()) { // a signal's handler has raised: see hot_signals
    free(e->code);
    free(e->message);
    return NULL;
  }
  PyObject *type = hot_error ? hot_error : PyExc_RuntimeError;
  PyObject *args = hot_error ? Py_BuildValue("(ss)", e->code, e->message) : Py_BuildValue("(s)", e->message);
  free(e->code);
  free(e->message);
  if (args) {
    PyErr_SetObject(type, args);
    Py_DECREF(args);
  }
  return NULL;
}

int hot_is_forked(void) { return hot_forked; }

int hot_unusable(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "this process was forked from one that uses eagleray: its session does not reach here. "
                  "Call eagleray.init() before forking only in the parent, or use multiprocessing's spawn method");
  return 0;
}

int hot_wrong_arity(const char *name, Py_ssize_t n, Py_ssize_t want) {
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, want, n);
  return 0;
}

// ---- which call runs: what it submits is its child -----------------------

__thread uint64_t hot_running_call; // that this thread took, and has not answered
PyObject *hot_running_var;          // a context variable with it, in actors with an event loop

uint64_t hot_parent_of_coroutine(void) {
  PyObject *v = NULL;
  uint64_t n = UINT64_MAX;
  if (PyContextVar_Get(hot_running_var, NULL, &v) == 0 && v) n = PyLong_AsUnsignedLongLong(v);
  Py_XDECREF(v);
  PyErr_Clear();
  return n;
}

// ---- time ---------------------------------------------------------------

int64_t hot_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t hot_boot_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// hot_slice_of returns what remains of a timeout, at most one slice; -1: for ever.
int64_t hot_slice_of(int64_t timeout, int64_t end, int *last) {
  *last = 0;
  if (timeout < 0) return SLICE_MS;
  int64_t left = end - hot_now_ms();
  if (left <= SLICE_MS) *last = 1;
  if (left < 0) left = 0;
  return left < SLICE_MS ? left : SLICE_MS;
}
