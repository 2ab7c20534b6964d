// Batches of references: references that come together in one value. The Go half is
// core/internal/refs/refbatch.go.
#include "py.h"

// gather is where the value that a thread unpickles now takes its references from, one after
// another.
typedef struct gather {
  struct ref_batch *s;
  const unsigned char *ids;
  uint32_t next, n; // the batch may be gone when all references that were taken are gone
  struct gather *outer;
} gather;

static __thread gather *gathering;

// next_ref() -> the next reference of the value that this thread is unpickling
static PyObject *next_ref(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  gather *g = gathering;
  if (!g || g->next >= g->n) {
    PyErr_SetString(PyExc_RuntimeError, "a value has more references than were sent with it: this is only for what the session's own pickles name");
    return NULL;
  }
  PyTypeObject *t = hot_ref_type ? hot_ref_type : &RefType;
  Ref *r = (Ref *)t->tp_alloc(t, 0);
  if (!r) return NULL;
  memcpy(r->id, g->ids + (size_t)g->next * HOT_OBJECT, HOT_OBJECT);
  r->batch = g->s;
  r->place = g->next++;
  return (PyObject *)r;
}

// ref_table(list of references) -> the bytes that go in front of the pickle
static PyObject *ref_table(PyObject *m, PyObject *list) {
  (void)m;
  if (!hot_usable()) return NULL;
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return NULL;
  }
  Py_ssize_t n = PyList_GET_SIZE(list);
  const unsigned char **p = malloc((size_t)n * sizeof *p + 1);
  if (!p) return PyErr_NoMemory();
  PyObject *out = NULL;
  void *table = NULL;
  int64_t size = 0;
  hot_err e;
  if (!hot_ids_of(((PyListObject *)list)->ob_item, n, p)) PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
  else if (HotRefTable((unsigned char **)p, n, &table, &size, &e) < 0) hot_raise(&e);
  else out = PyBytes_FromStringAndSize(table, (Py_ssize_t)size);
  free(table);
  free(p);
  return out;
}

// with_refs(loads, meta, buffers) -> what loads makes of the pickle behind the table of references in meta
static PyObject *with_refs(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (!hot_arity("with_refs", nargs, 3) || !hot_usable()) return NULL;
  Py_buffer meta;
  if (PyObject_GetBuffer(a[1], &meta, PyBUF_SIMPLE)) return NULL;
  uint32_t size = 0, n = 0;
  if (meta.len >= 8) {
    memcpy(&size, meta.buf, 4);
    memcpy(&n, (char *)meta.buf + 4, 4);
  }
  struct ref_batch *s = NULL;
  PyObject *out = NULL;
  hot_err e;
  if (n == 0 || size > (size_t)meta.len || (uint64_t)n * HOT_OBJECT + 16 > size) {
    PyErr_SetString(PyExc_RuntimeError, "the references of a value are damaged: what is stored of it is no value, so some process has written over it");
  } else if (!(s = calloc(1, sizeof *s + ((size_t)n + 63) / 64 * 8))) {
    PyErr_NoMemory();
  } else if (s->n = n, s->alive = n, HotImportAll(s, meta.buf, size, hot_site(), &e) < 0) {
    free(s);
    hot_raise(&e);
  } else {
    gather g = {s, (unsigned char *)meta.buf + 16, 0, n, gathering};
    PyObject *pickled = PyMemoryView_FromMemory((char *)meta.buf + size, meta.len - size, PyBUF_READ);
    PyObject *args = pickled ? PyTuple_Pack(1, pickled) : NULL, *kw = args ? PyDict_New() : NULL;
    if (kw && (a[2] == Py_None || PyDict_SetItemString(kw, "buffers", a[2]) == 0)) {
      gathering = &g;
      out = PyObject_Call(a[0], args, kw);
      gathering = g.outer;
    }
    Py_XDECREF(kw);
    Py_XDECREF(args);
    Py_XDECREF(pickled);
    while (g.next < n) hot_ref_gone(s, g.next++); // unpickling has failed before it took these
  }
  PyBuffer_Release(&meta);
  return out;
}

PyMethodDef hot_refbatch_functions[] = {
    {"next_ref", next_ref, METH_NOARGS, "The next reference of a value."}, {"ref_table", ref_table, METH_O, NULL},
    FAST(with_refs, "with_refs"), {0},
};
