// The command line that `ps` shows for a worker: ray::f while it runs the task f, ray::A.m
// while it runs a method of an actor, ray::A while the actor has nothing to do, else ray::IDLE.
//
// The kernel shows the memory in which it has put the process's arguments. If that memory does
// not end with a zero, the kernel shows the text up to the first zero only. So a change costs a
// copy of a few bytes and no system call.
#include "py.h"

#define TITLE_PREFIX "ray::"
#define TITLE_PREFIX_N (sizeof TITLE_PREFIX - 1)
#define TITLE_MOST 128

static char *title_at; // behind the prefix; NULL: nothing is shown
static size_t title_room, title_n;
static char title_idle[TITLE_MOST];
static size_t title_idle_n;
static int title_calls;         // threads that run a call; with an event loop, calls that are not answered yet
static __thread int title_busy; // this one does

static void title_write(const char *p, size_t n) {
  if (n > title_room) n = title_room;
  memcpy(title_at, p, n);
  if (n < title_n) memset(title_at + n, 0, title_n - n);
  title_n = n;
}

// title_runs: this thread, or an event loop, begins a call.
void title_runs(const hot_item *it) {
  if (!title_at || (it->kind != 1 && it->kind != 2) || !it->name) return;
  if (hot_running_var) {
    title_calls++;
  } else {
    title_calls += !title_busy;
    title_busy = 1;
  }
  title_write((const char *)it->name, (size_t)it->name_n);
}

// title_waits: this thread waits for work, so the title says what the worker is.
void title_waits(void) {
  if (!title_at || !title_busy) return;
  title_busy = 0;
  if (--title_calls == 0) title_write(title_idle, title_idle_n);
}

// title_answered: a call of an event loop has ended.
void title_answered(void) {
  if (!title_at || !hot_running_var || title_calls == 0) return;
  if (--title_calls == 0) title_write(title_idle, title_idle_n);
}

// show_in(start, end): the memory of the process's arguments
static PyObject *show_in(PyObject *m, PyObject *args) {
  (void)m;
  unsigned long long start, end;
  if (!PyArg_ParseTuple(args, "KK", &start, &end)) return NULL;
  if (end <= start || end - start < TITLE_PREFIX_N + 16) {
    PyErr_SetString(PyExc_ValueError, "the memory of the process's arguments is too small for a title");
    return NULL;
  }
  char *p = (char *)(uintptr_t)start;
  size_t n = (size_t)(end - start);
  memset(p, 0, n);
  p[n - 1] = ' ';
  memcpy(p, TITLE_PREFIX, TITLE_PREFIX_N);
  title_at = p + TITLE_PREFIX_N;
  title_room = n - TITLE_PREFIX_N - 2; // a zero, and the last byte
  title_n = 0;
  Py_RETURN_NONE;
}

// show_as(text): the text that is shown while no call runs
static PyObject *show_as(PyObject *m, PyObject *o) {
  (void)m;
  Py_ssize_t n;
  const char *p = PyUnicode_AsUTF8AndSize(o, &n);
  if (!p) return NULL;
  title_idle_n = (size_t)n < TITLE_MOST ? (size_t)n : TITLE_MOST;
  memcpy(title_idle, p, title_idle_n);
  if (title_at && title_calls == 0) title_write(title_idle, title_idle_n);
  Py_RETURN_NONE;
}

PyMethodDef hot_title_functions[] = {
    {"show_in", show_in, METH_VARARGS, NULL}, {"show_as", show_as, METH_O, NULL}, {0},
};
