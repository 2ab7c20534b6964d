// Functions that take lists of references. Go gets an array of addresses and reads the ids where
// they lie, in the references, which the list keeps alive.
#include "py.h"

// hot_ids_of fills p with the addresses of the ids. It returns 0 when something in the list is no reference.
int hot_ids_of(PyObject **items, Py_ssize_t n, const unsigned char **p) {
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = items[i];
    if (Py_TYPE(x) != hot_ref_type && !PyObject_TypeCheck(x, &RefType)) return 0;
    p[i] = ((Ref *)x)->id;
  }
  return 1;
}

static uint64_t count_of(const unsigned char *id) {
  uint64_t n;
  memcpy(&n, id, 8);
  return __builtin_bswap64(n);
}

// distinct reports whether each id is there only once; -1: there is not enough memory to find that out.
static int distinct(const unsigned char **p, Py_ssize_t n) {
  // What a program makes one after another and keeps in that order counts up: no table is needed.
  Py_ssize_t i = 1;
  while (i < n && memcmp(p[i] + 8, p[i - 1] + 8, 16) == 0 && count_of(p[i]) > count_of(p[i - 1])) i++;
  if (i >= n) return 1;
  int bits = 4;
  while (((Py_ssize_t)1 << bits) < 2 * n) bits++;
  uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1), *slots = calloc((size_t)mask + 1, sizeof *slots);
  if (!slots) return -1;
  int once = 1;
  for (i = 0; once && i < n; i++) {
    uint64_t owner;
    memcpy(&owner, p[i] + 8, 8);
    uint32_t at = (uint32_t)((count_of(p[i]) ^ owner) * 0x9E3779B97F4A7C15ull >> (64 - bits));
    for (; slots[at]; at = (at + 1) & mask) {
      if (memcmp(p[slots[at] - 1], p[i], HOT_OBJECT) == 0) { once = 0; break; }
    }
    slots[at] = (uint32_t)i + 1;
  }
  free(slots);
  return once;
}

// split makes two lists: the references that were picked, in order, and the others.
static PyObject *split(PyObject **items, Py_ssize_t n, const uint32_t *pick, int64_t got) {
  PyObject *ready = PyList_New((Py_ssize_t)got), *rest = PyList_New(n - (Py_ssize_t)got);
  if (!ready || !rest) {
    Py_XDECREF(ready);
    Py_XDECREF(rest);
    return NULL;
  }
  Py_ssize_t left = 0, taken = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = items[i];
    Py_INCREF(x);
    if (taken < got && pick[taken] == (uint32_t)i) PyList_SET_ITEM(ready, taken++, x);
    else PyList_SET_ITEM(rest, left++, x);
  }
  return Py_BuildValue("(NN)", ready, rest);
}

// wait_more waits for references that were not ready at once. It returns 0 when an exception is set.
static int wait_more(const unsigned char **p, Py_ssize_t n, int64_t need, int64_t timeout, int here, uint32_t *pick, int64_t *got) {
  hot_err e;
  int rc; // Go looks after signals
  Py_BEGIN_ALLOW_THREADS rc = HotSelect((unsigned char **)p, n, need, timeout, here, pick, got, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) hot_raise(&e);
  return rc >= 0;
}

// wait(refs, num_returns, timeout_ms, here, shown) -> (ready, rest) | None
static PyObject *wait_(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (!hot_arity("wait", nargs, 5) || !hot_usable()) return NULL;
  if (!PyList_CheckExact(a[0]) || !PyLong_Check(a[1])) Py_RETURN_NONE;
  Py_ssize_t n = PyList_GET_SIZE(a[0]);
  int overflow;
  int64_t need = PyLong_AsLongLongAndOverflow(a[1], &overflow), timeout = PyLong_AsLongLong(a[2]), got = 0;
  int here = PyObject_IsTrue(a[3]);
  if (PyErr_Occurred()) return NULL;
  PyObject *shown = a[4] == Py_None ? a[0] : a[4];
  if (overflow || need < 1 || need > n || n > INT32_MAX || !PyList_CheckExact(shown) || PyList_GET_SIZE(shown) != n) Py_RETURN_NONE;
  const unsigned char **p = malloc((size_t)n * sizeof *p + (size_t)need * sizeof(uint32_t));
  if (!p) return PyErr_NoMemory();
  uint32_t *pick = (uint32_t *)(p + n);
  PyObject **items = ((PyListObject *)a[0])->ob_item, *out = NULL;
  int plain = hot_ids_of(items, n, p);
  if (plain && shown == a[0]) plain = distinct(p, n);
  if (plain <= 0) {
    free(p);
    if (plain < 0) return PyErr_NoMemory();
    Py_RETURN_NONE;
  }
  int64_t sure = HotSelectNow((unsigned char **)p, n, need, here, pick, &got);
  if (sure && (got == need || timeout == 0)) {
    out = split(((PyListObject *)shown)->ob_item, n, pick, got);
  } else { // other threads run: these keep what the lists hold
    PyObject *held = PyList_AsTuple(a[0]), *seen = held ? PyList_AsTuple(shown) : NULL;
    if (seen && wait_more(p, n, need, timeout, here, pick, &got)) out = split(((PyTupleObject *)seen)->ob_item, n, pick, got);
    Py_XDECREF(seen);
    Py_XDECREF(held);
  }
  free(p);
  return out;
}

// ---- get of a list ----------------------------------------------------------

// scalar makes a number, a text or None. It returns NULL without an exception when the value is something else.
static PyObject *scalar(const hot_found *f) {
  const unsigned char *p = (const unsigned char *)f->env;
  // [1, format, metadata of less than 256 bytes, []]
  if (f->n < 6 || p[0] != 0x94 || p[1] != 1 || p[2] > 1 || p[3] != 0xc4 || f->n != 6 + (int64_t)p[4] || p[f->n - 1] != 0x90) return NULL;
  if (p[2] == 0) Py_RETURN_NONE;
  if (p[4] == 0) return NULL;
  hot_reader r = {p + 6, p + 5 + p[4], 1};
  unsigned char t = p[5];
  int64_t left = r.end - r.p;
  if (t < 0x80 && left == 0) return PyLong_FromLong(t);
  if (t >= 0xe0 && left == 0) return PyLong_FromLong((signed char)t);
  if ((t & 0xe0) == 0xa0 && left == (t & 31)) return PyUnicode_DecodeUTF8((const char *)r.p, left, "strict");
  switch (t) {
    case 0xc0: if (left == 0) Py_RETURN_NONE; break;
    case 0xc2: if (left == 0) Py_RETURN_FALSE; break;
    case 0xc3: if (left == 0) Py_RETURN_TRUE; break;
    case 0xcc: case 0xcd: case 0xce: case 0xcf:
      if (left == 1 << (t - 0xcc)) return PyLong_FromUnsignedLongLong(hot_big_endian(&r, (int)left));
      break;
    case 0xd0: case 0xd1: case 0xd2: case 0xd3:
      if (left == 1 << (t - 0xd0)) {
        int shift = 64 - 8 * (int)left;
        return PyLong_FromLongLong((int64_t)(hot_big_endian(&r, (int)left) << shift) >> shift);
      }
      break;
    case 0xcb:
      if (left == 8) {
        uint64_t bits = hot_big_endian(&r, 8);
        double d;
        memcpy(&d, &bits, 8);
        return PyFloat_FromDouble(d);
      }
  }
  return NULL;
}

// The form of the previous array: arrays that come together mostly have the same form.
typedef struct {
  PyObject *meta, *form; // (data type, shape, order, numpy's class)
} last_form;

// array_of makes an array of a triple. It returns NULL, maybe with an exception, when the general way has to make it, which
// also says what is wrong.
static PyObject *array_of(PyObject *t, PyObject *form_of, last_form *last) {
  PyObject *meta = PyTuple_GET_ITEM(t, 1), *bufs = PyTuple_GET_ITEM(t, 2);
  if (!PyBytes_Check(meta) || !PyTuple_Check(bufs) || PyTuple_GET_SIZE(bufs) != 1) return NULL;
  if (!last->meta || PyBytes_GET_SIZE(last->meta) != PyBytes_GET_SIZE(meta) ||
      memcmp(PyBytes_AS_STRING(last->meta), PyBytes_AS_STRING(meta), (size_t)PyBytes_GET_SIZE(meta))) {
    PyObject *form = PyObject_CallOneArg(form_of, meta);
    if (!form || !PyTuple_Check(form) || PyTuple_GET_SIZE(form) != 4) {
      Py_XDECREF(form);
      return NULL;
    }
    Py_XSETREF(last->form, form);
    Py_INCREF(meta);
    Py_XSETREF(last->meta, meta);
  }
  static PyObject *zero;
  if (!zero && !(zero = PyLong_FromLong(0))) return NULL;
  PyObject **form = ((PyTupleObject *)last->form)->ob_item;
  PyObject *args[] = {form[1], form[0], PyTuple_GET_ITEM(bufs, 0), zero, Py_None, form[2]};
  return PyObject_Vectorcall(form[3], args, 6, NULL);
}

// get_all(refs, value_of, form_of) -> list of values; None: not all are at hand; False: there is something else in the list.
// value_of makes the value of a triple, and raises what stands in the place of one.
static PyObject *get_all(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (!hot_arity("get_all", nargs, 3) || !hot_usable()) return NULL;
  if (!PyList_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return NULL;
  }
  PyObject *held = PyList_AsTuple(a[0]); // other code runs before all values are made
  if (!held) return NULL;
  Py_ssize_t n = PyTuple_GET_SIZE(held), i = 0;
  hot_found *f = malloc((size_t)n * (sizeof *f + sizeof(void *)) + 1);
  const unsigned char **p = (const unsigned char **)(f + n);
  uint64_t keep = 0;
  int64_t missing = 0;
  hot_err e;
  last_form last = {0};
  PyObject *out = NULL;
  if (!f) {
    PyErr_NoMemory();
  } else if (!hot_ids_of(((PyTupleObject *)held)->ob_item, n, p)) {
    out = Py_False;
    Py_INCREF(out);
  } else if (HotTryGetAll((unsigned char **)p, n, f, &keep, &missing, &e) < 0) {
    hot_raise(&e);
  } else {
    out = PyList_New(n);
    for (; out && i < n; i++) {
      if (f[i].n < 0) continue;
      if (TRACING) {
        trace_given();
        trace_found(p[i]);
      }
      PyObject *v = f[i].view ? NULL : scalar(&f[i]);
      if (!v && !PyErr_Occurred()) {
        PyObject *t = hot_triple(&f[i]);
        if (t && PyLong_AsLong(PyTuple_GET_ITEM(t, 0)) == 2) v = array_of(t, a[2], &last);
        if (t && !v) {
          PyErr_Clear();
          v = PyObject_CallOneArg(a[1], t);
        }
        Py_XDECREF(t);
      }
      if (!v) Py_CLEAR(out);
      else PyList_SET_ITEM(out, i, v);
    }
    for (; i < n; i++)
      if (f[i].n >= 0 && f[i].view) hot_let_go(NULL, f[i].view);
  }
  if (keep) hot_let_go(NULL, keep);
  Py_XDECREF(last.meta);
  Py_XDECREF(last.form);
  free(f);
  Py_DECREF(held);
  if (out && missing) {
    Py_DECREF(out);
    Py_RETURN_NONE;
  }
  return out;
}

PyMethodDef hot_list_functions[] = {
    FAST(wait_, "wait"), FAST(get_all, "get_all"), {0},
};
