// The module eagleray._hot, the C half of the hot path: submit, put, get. It turns Python objects into pointers and back.
// What it decides is only which interpreter lock to hold; all logic is in Go.
#include "py.h"

static PyObject *refs_of(unsigned char *first, int n) {
  if (n == 0) Py_RETURN_NONE;
  if (n == 1) return hot_new_ref(first);
  PyObject *out = PyTuple_New(n);
  uint64_t count;
  memcpy(&count, first, 8);
  count = __builtin_bswap64(count);
  for (int i = 0; i < n; i++) {
    unsigned char id[HOT_OBJECT];
    memcpy(id, first, HOT_OBJECT);
    uint64_t c = __builtin_bswap64(count + (uint64_t)i);
    uint32_t index = __builtin_bswap32((uint32_t)i + 1);
    memcpy(id, &c, 8);
    memcpy(id + 24, &index, 4);
    if (!out) { hot_let_go(id, 0); continue; }
    PyObject *r = hot_new_ref(id);
    if (!r) Py_CLEAR(out);
    else PyTuple_SET_ITEM(out, i, r);
  }
  return out;
}

static PyObject *start(PyObject *const *a, unsigned char *actor, PyObject *tmpl) {
  value_in in;
  hot_call k;
  hot_err e;
  unsigned char few[MANY * HOT_OBJECT], *heap, first[HOT_OBJECT];
  int32_t n = 0;
  int rc;
  int64_t packed = 0;
  if (TRACING) packed = trace_now();
  if (!hot_usable()) return NULL;
  k.tmpl = PyLong_AsLongLong(tmpl);
  if (k.tmpl == -1 && PyErr_Occurred()) return NULL;
  if (!hot_take_value(&in, a[0], a[1], a[2], a[4])) return NULL;
  if (!hot_take_ids(a[3], few, MANY, &heap, &k.ndeps)) { hot_release_value(&in); return NULL; }
  k.deps = heap ? heap : few;
  k.args = in.v;
  k.parent = hot_parent_call();
  k.args.site = hot_site();
  UNLOCKED(in.bytes > BIG, rc = HotSubmit(&k, actor, first, &n, &e));
  free(heap);
  hot_release_value(&in);
  if (rc < 0) return hot_raise(&e);
  if (TRACING) trace_submitted(packed, first);
  return refs_of(first, n);
}

// submit(actor, template, fmt, meta, bufs, deps, nested): the actor is the Handle of a method call, None for a task.
static PyObject *submit(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("submit", n, 7)) return NULL;
  if (a[0] == Py_None) return start(a + 2, NULL, a[1]);
  if (Py_TYPE(a[0]) != &HandleType) {
    PyErr_SetString(PyExc_TypeError, "submit() takes a Handle, or None for a task");
    return NULL;
  }
  return start(a + 2, ((Handle *)a[0])->actor, a[1]);
}

static PyObject *put(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  value_in in;
  hot_err e;
  unsigned char id[HOT_OBJECT];
  int rc;
  if (!hot_arity("put", n, 4) || !hot_usable() || !hot_take_value(&in, a[0], a[1], a[2], a[3])) return NULL;
  in.v.site = hot_site();
  UNLOCKED(in.bytes > BIG, rc = HotPut(&in.v, id, &e));
  hot_release_value(&in);
  if (rc < 0) return hot_raise(&e);
  return hot_new_ref(id);
}

static PyObject *get(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("get", n, 2) || !hot_usable()) return NULL;
  unsigned char *id = hot_ref_id(a[0]);
  if (!id) return NULL;
  int64_t timeout = PyLong_AsLongLong(a[1]);
  if (timeout == -1 && PyErr_Occurred()) return NULL;
  if (TRACING) trace_given();
  hot_found f = {0};
  hot_err e;
  int rc = HotTryGet(id, &f, &e), last;
  int64_t end = timeout > 0 ? hot_now_ms() + timeout : 0;
  while (rc == 1) {
    int64_t ms = hot_slice_of(timeout, timeout == 0 ? hot_now_ms() : end, &last);
    Py_BEGIN_ALLOW_THREADS rc = HotGet(id, ms, &f, &e);
    Py_END_ALLOW_THREADS
    if (rc == 1) {
      if (PyErr_CheckSignals()) return NULL;
      if (last) Py_RETURN_NONE;
    }
  }
  if (rc < 0) return hot_raise(&e);
  if (TRACING) trace_found(id);
  return hot_triple(&f);
}

// wait_on waits for a list; ready gets a byte per reference.
static int wait_on(PyObject *list, int64_t need, int64_t timeout, int how, char **ready, int64_t *infeasible, int *timed_out) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return 0;
  }
  Py_ssize_t n = PyList_GET_SIZE(list);
  unsigned char *p = malloc((size_t)n * HOT_OBJECT + 1);
  *ready = calloc((size_t)n + 1, 1);
  int good = p && *ready;
  if (!good) PyErr_NoMemory();
  for (Py_ssize_t i = 0; good && i < n; i++) {
    unsigned char *id = hot_ref_id(PyList_GET_ITEM(list, i));
    if (id) memcpy(p + i * HOT_OBJECT, id, HOT_OBJECT);
    else good = 0;
  }
  if (good) {
    hot_err e;
    int rc; // Go looks after signals
    Py_BEGIN_ALLOW_THREADS rc = HotWait(p, n, need, timeout, how, *ready, infeasible, &e);
    Py_END_ALLOW_THREADS
    if (rc < 0) {
      hot_raise(&e);
      good = 0;
    }
    *timed_out = rc != 0;
  }
  free(p);
  if (!good) { free(*ready); *ready = NULL; }
  return good;
}

static PyObject *wait_all(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("wait_all", n, 2) || !hot_usable()) return NULL;
  int64_t timeout = PyLong_AsLongLong(a[1]), infeasible = 0;
  if (PyErr_Occurred()) return NULL;
  char *ready;
  if (!PyList_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return NULL;
  }
  int late;
  if (!wait_on(a[0], PyList_GET_SIZE(a[0]), timeout, HOT_WAIT_ALL, &ready, &infeasible, &late)) return NULL;
  free(ready);
  return PyBool_FromLong(!late);
}

static PyObject *ready_(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *id = hot_ref_id(o);
  if (!id || !hot_usable()) return NULL;
  char mark = 0;
  int64_t infeasible = 0;
  hot_err e;
  if (HotWait(id, 1, 1, 0, HOT_WAIT_SOME, &mark, &infeasible, &e) < 0) return hot_raise(&e);
  return PyBool_FromLong(mark);
}

static PyMethodDef functions[] = {
    FAST(submit, "submit"), FAST(put, "put"), FAST(get, "get"), FAST(wait_all, "wait_all"), {"ready", ready_, METH_O, NULL}, {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_hot", "The hot path; see docs/hot-api.md.", -1, functions, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__hot(void) {
  PyMethodDef *const others[] = {
      hot_control_functions, hot_group_functions, hot_list_functions, hot_loop_functions, hot_refbatch_functions,
      hot_stream_functions, hot_title_functions, hot_trace_functions, hot_worker_functions,
  };
  late_imported();
  PyObject *m = PyModule_Create(&module);
  if (!m || hot_add_types(m) || hot_trace_types()) return NULL;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (PyModule_AddFunctions(m, others[i])) return NULL;
  hot_arm();
  return m;
}
