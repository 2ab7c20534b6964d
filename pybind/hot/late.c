// Go starts on request, and not when the library is loaded. A zygote loads the library once
// for all its workers. Go does not survive a fork, so it starts in each worker.
//
// The linker puts Go's own initialiser into a section that the loader does not know (late.ld).
// After `_late.delay_start()`, importing the modules of this library does not start Go. `_late.start()`
// starts it.
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "background.h"
#include "late.h"
#include "trim.h"
#include "warm.h"

typedef void (*initialiser)(int, char **, char **);

// Weak: cgo's trial link has no linker script.
extern const initialiser hot_go_init[] __attribute__((weak, visibility("hidden")));
extern const initialiser hot_go_init_end[] __attribute__((weak, visibility("hidden")));

static int delayed, started;
static int argc;
static char **argv;

__attribute__((constructor)) static void keep_arguments(int c, char **v) {
  argc = c;
  argv = v;
}

// ---- the stack of the main thread ------------------------------------------

// Go asks where the main thread's stack is at that thread's first call, and the C library reads
// all of /proc/self/maps for that: 0.4 ms with a few hundred libraries. The stack is where it was
// in the zygote, so the answer is remembered. The linker lets Go's calls come here.
extern int __real_pthread_getattr_np(pthread_t, pthread_attr_t *);

static pthread_t main_thread;
static void *stack;
static size_t stack_size;

int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *a) {
  if (!stack || !pthread_equal(thread, main_thread)) return __real_pthread_getattr_np(thread, a);
  int failed = pthread_attr_init(a);
  return failed ? failed : pthread_attr_setstack(a, stack, stack_size);
}

static void note_stack(void) {
  pthread_attr_t a;
  if (__real_pthread_getattr_np(main_thread = pthread_self(), &a)) return;
  if (pthread_attr_getstack(&a, &stack, &stack_size)) stack = NULL;
  pthread_attr_destroy(&a);
}

// ---- what Go is told about the process ---------------------------------------

enum { WORKER_PROCESSORS = 4 };

// A worker's Go serves one task, so it needs no more than a few processors, and it need not look
// for the limits of cgroups.
static char processors[32];
static char no_cgroups[] = "GODEBUG=containermaxprocs=0";

static int is_set(char **environment, const char *name) {
  for (; *environment; environment++) {
    if (!strncmp(*environment, name, strlen(name))) return 1;
  }
  return 0;
}

// vector_for_workers makes a copy of what the kernel has put on the stack (arguments,
// environment, and what follows them), with variables of ours in the environment.
static char **vector_for_workers(void) {
  char **environment = argv + argc + 1;
  size_t variables = 0, behind = 0;
  while (environment[variables]) variables++;
  const unsigned long *notes = (const unsigned long *)(environment + variables + 1);
  while (notes[behind]) behind += 2; // AT_NULL ends them
  behind += 2;
  char **v = malloc(sizeof *v * ((size_t)argc + variables + behind + 4)), **p = v;
  if (!v) return argv;
  memcpy(p, argv, sizeof *v * ((size_t)argc + 1));
  p += argc + 1;
  memcpy(p, environment, sizeof *v * variables);
  p += variables;
  if (!is_set(environment, "GOMAXPROCS=")) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? WORKER_PROCESSORS : CPU_COUNT(&set);
    snprintf(processors, sizeof processors, "GOMAXPROCS=%d", n < WORKER_PROCESSORS ? n : WORKER_PROCESSORS);
    *p++ = processors;
  }
  if (!is_set(environment, "GODEBUG=")) *p++ = no_cgroups;
  *p++ = NULL;
  memcpy(p, notes, sizeof *notes * behind);
  return v;
}

// ---- start -------------------------------------------------------------------

int late_started(void) { return started; }

void late_start(void) {
  if (started) return;
  started = 1;
  hot_slack_begin();
  for (const initialiser *f = &hot_go_init[0]; f < &hot_go_init_end[0]; f++) (*f)(argc, argv, argv + argc + 1);
  hot_slack_end();
}

void late_imported(void) {
  if (!delayed) late_start();
}

static PyObject *delay_start(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  if (!started && !delayed && &hot_go_init[0] < &hot_go_init_end[0]) {
    delayed = 1;
    note_stack();
    argv = vector_for_workers();
  }
  return PyBool_FromLong(delayed);
}

static PyObject *start(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  late_start();
  Py_RETURN_NONE;
}

static PyObject *before_forks(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  warm_begin();
  Py_RETURN_NONE;
}

static PyObject *record_written_pages(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  warm_record();
  Py_RETURN_NONE;
}

static PyObject *trim(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS trim_code();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"delay_start", delay_start, METH_NOARGS, NULL},
    {"start", start, METH_NOARGS, NULL},
    {"before_forks", before_forks, METH_NOARGS, NULL},
    {"record_written_pages", record_written_pages, METH_NOARGS, NULL},
    {"trim", trim, METH_NOARGS, NULL},
    {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_late", "When Go starts; see docs/hot-api.md.", -1, functions, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__late(void) { return PyModule_Create(&module); }

// What gopy generates; setup.py renames it.
extern PyObject *gopy_init(void);

PyMODINIT_FUNC PyInit__core(void) {
  late_imported();
  return gopy_init();
}
