// What takes lists of references. Part of hot.c.
//
// Go reads the ids where they lie, in the references, which the list keeps:
// what is handed over is an array of their addresses.

// ids_of fills p with where the ids are; 0: something in the list is no reference.
static int ids_of(PyObject **items, Py_ssize_t n, const unsigned char **p) {
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = items[i];
    if (Py_TYPE(x) != ref_type && !PyObject_TypeCheck(x, &RefType)) return 0;
    p[i] = ((Ref *)x)->id;
  }
  return 1;
}

static uint64_t count_of(const unsigned char *id) {
  uint64_t n;
  memcpy(&n, id, 8);
  return __builtin_bswap64(n);
}

// distinct reports whether each id is there once; -1: there is no memory to find that out.
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

// split makes the two lists: those that were picked, in order, and the others.
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

// left is what remains of a timeout, at most one slice; -1: for ever.
static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t slice_of(int64_t timeout, int64_t end, int *last) {
  *last = 0;
  if (timeout < 0) return SLICE_MS;
  int64_t left = end - now_ms();
  if (left <= SLICE_MS) *last = 1;
  if (left < 0) left = 0;
  return left < SLICE_MS ? left : SLICE_MS;
}

// wait_more waits for what was not there at once; 0: an exception is set.
static int wait_more(const unsigned char **p, Py_ssize_t n, int64_t need, int64_t timeout, int here, uint32_t *pick, int64_t *got) {
  int64_t end = timeout > 0 ? now_ms() + timeout : 0;
  for (;;) {
    int last, rc;
    hot_err e;
    int64_t ms = slice_of(timeout, timeout == 0 ? now_ms() : end, &last);
    Py_BEGIN_ALLOW_THREADS rc = HotSelect((unsigned char **)p, n, need, ms, here, pick, got, &e);
    Py_END_ALLOW_THREADS
    if (rc < 0) {
      raise_err(&e);
      return 0;
    }
    if (rc == 0 || last) return 1;
    if (PyErr_CheckSignals()) return 0;
  }
}

// wait(refs, num_returns, timeout_ms, here, shown) -> (ready, rest) | None
static PyObject *wait_(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (!arity("wait", nargs, 5) || !usable()) return NULL;
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
  int plain = ids_of(items, n, p);
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
