// What an actor's event loop waits with.
#include "py.h"

#define LOOP_MOST 64 // calls that are taken at a time

// loop_start(fd): the loop that polls this descriptor takes this actor's calls.
static PyObject *loop_start(PyObject *m, PyObject *o) {
  (void)m;
  hot_err e;
  long fd = PyLong_AsLong(o);
  if ((fd == -1 && PyErr_Occurred()) || !hot_usable()) return NULL;
  if (HotLoopStart((int)fd, &e) < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

// loop_take(most, timeout_ms) -> (items or None, whether the loop's own descriptors have something)
static PyObject *loop_take(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("loop_take", n, 2) || !hot_usable()) return NULL;
  long most = PyLong_AsLong(a[0]);
  int64_t ms = PyLong_AsLongLong(a[1]);
  if (PyErr_Occurred()) return NULL;
  hot_item it[LOOP_MOST + 1]; // one may have been fetched beside
  hot_err e;
  int rc, got = 0, fired = 0;
  memset(it, 0, sizeof it[0] * (size_t)((most < 0 ? 0 : most > LOOP_MOST ? LOOP_MOST : most) + 1));
  Py_BEGIN_ALLOW_THREADS rc = HotLoopTake((int)(most < 0 ? 0 : most > LOOP_MOST ? LOOP_MOST : most), ms, it, &got, &fired, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return hot_raise(&e);
  PyObject *items = Py_None;
  if (got == 0) Py_INCREF(items);
  else items = PyTuple_New(got);
  for (int i = 0; i < got; i++) {
    PyObject *t = items ? hot_item_tuple(&it[i]) : NULL;
    if (t) title_runs(&it[i]);
    hot_free_item(&it[i]);
    if (t) PyTuple_SET_ITEM(items, i, t);
    else Py_CLEAR(items);
  }
  if (!items) return NULL;
  if (got == 0 && PyErr_CheckSignals()) {
    Py_DECREF(items);
    return NULL;
  }
  return Py_BuildValue("(NO)", items, fired ? Py_True : Py_False);
}

PyMethodDef hot_loop_functions[] = {
    FAST(loop_take, "loop_take"), {"loop_start", loop_start, METH_O, NULL}, {0},
};
