// Streams, events and the user's kernels.
#include "kern_py.h"

// Resource is a stream, an event or a kernel: a handle that goes with the object.
typedef struct {
  PyObject_HEAD
  uint64_t handle;
} Resource;

static void resource_dealloc(PyObject *self) {
  if (!hot_is_forked()) KernDrop(((Resource *)self)->handle);
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject ResourceType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._kern.Resource",
    .tp_basicsize = sizeof(Resource),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = resource_dealloc,
};

static PyObject *new_resource(uint64_t handle) {
  Resource *r = PyObject_New(Resource, &ResourceType);
  if (!r) { KernDrop(handle); return NULL; }
  r->handle = handle;
  return (PyObject *)r;
}

// handle_of is 0 for None; *bad is set, with an error, for what is no resource.
static uint64_t handle_of(PyObject *o, int *bad) {
  if (o == Py_None) return 0;
  if (Py_TYPE(o) == &ResourceType) return ((Resource *)o)->handle;
  PyErr_Format(PyExc_TypeError, "a Resource is needed, not %.100s", Py_TYPE(o)->tp_name);
  *bad = 1;
  return 0;
}

// kern_current_stream(KERN_STREAM_NEW …, device, resource or None, another or None) → resource or number
static PyObject *py_stream(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_err e;
  int bad = 0, rc;
  if (!kern_arity("stream", n, 4) || !kern_usable()) return NULL;
  int what = (int)PyLong_AsLong(a[0]), device = (int)PyLong_AsLong(a[1]);
  uint64_t x = handle_of(a[2], &bad), y = handle_of(a[3], &bad), made = 0;
  double value = 0;
  if (bad || PyErr_Occurred()) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = KernStream(what, device, x, y, &made, &value, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return kern_raise(&e);
  if (made) return new_resource(made);
  return PyFloat_FromDouble(value);
}

// set_stream(resource or None): work of this thread is queued on it from now on.
static PyObject *py_set_stream(PyObject *m, PyObject *o) {
  (void)m;
  int bad = 0;
  uint64_t h = handle_of(o, &bad);
  if (bad) return NULL;
  kern_current_stream = h;
  Py_RETURN_NONE;
}

// dtype_of_scalar is 0 for Python's own numbers, -1 for numpy's that no array holds.
static int dtype_of_scalar(PyObject *x) {
  if (!kern_numpy_generic || !PyObject_TypeCheck(x, kern_numpy_generic)) return 0;
  PyObject *t = PyObject_GetAttrString(x, "dtype"), *name = t ? PyObject_GetAttrString(t, "name") : NULL;
  int found = -1;
  for (int i = 1; name && i < DTYPES; i++) {
    if (PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, kern_dtypes[i].name)) found = i;
  }
  Py_XDECREF(name);
  Py_XDECREF(t);
  PyErr_Clear();
  return found;
}

// compile(device, source, name, options: tuple of str) → (kernel, signature)
static PyObject *py_compile(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  const char *options[64];
  kern_err e;
  uint64_t made;
  int rc;
  if (!kern_arity("compile", n, 4) || !kern_usable()) return NULL;
  int device = (int)PyLong_AsLong(a[0]);
  if (PyErr_Occurred()) return NULL;
  const char *source = PyUnicode_AsUTF8(a[1]), *name = source ? PyUnicode_AsUTF8(a[2]) : NULL;
  if (!name) return NULL;
  if (!PyTuple_Check(a[3]) || PyTuple_GET_SIZE(a[3]) > 64) {
    PyErr_SetString(PyExc_TypeError, "options are a tuple of at most 64 strings");
    return NULL;
  }
  int count = (int)PyTuple_GET_SIZE(a[3]);
  for (int i = 0; i < count; i++) {
    if (!(options[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(a[3], i)))) return NULL;
  }
  Py_BEGIN_ALLOW_THREADS rc = KernCompile(device, (char *)source, (char *)name, (char **)options, count, &made, &e);
  Py_END_ALLOW_THREADS
  return rc < 0 ? kern_raise(&e) : new_resource(made);
}

// launch(kernel, (gx, gy, gz), (bx, by, bz), shared bytes, arguments: tuple)
static PyObject *py_launch(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_err e;
  int64_t grid[KERN_DIMS], block[KERN_DIMS];
  int ng, nb, bad = 0, rc = -1;
  if (!kern_arity("launch", n, 5) || !kern_usable()) return NULL;
  uint64_t kernel = handle_of(a[0], &bad);
  if (bad || !kern_axes(a[1], grid, &ng, 1) || !kern_axes(a[2], block, &nb, 1)) return NULL;
  int64_t shared = PyLong_AsLongLong(a[3]);
  if (PyErr_Occurred()) return NULL;
  if (ng != 3 || nb != 3 || !PyTuple_Check(a[4])) {
    PyErr_SetString(PyExc_TypeError, "launch() takes three lengths of grid and block and a tuple of arguments");
    return NULL;
  }
  Py_ssize_t count = PyTuple_GET_SIZE(a[4]), done = 0;
  operand *ops = malloc((size_t)(count + 1) * sizeof *ops);
  kern_view **views = malloc((size_t)(count + 1) * sizeof *views);
  if (!ops || !views) PyErr_NoMemory();
  for (; ops && views && done < count; done++) {
    PyObject *x = PyTuple_GET_ITEM(a[4], done);
    views[done] = &ops[done].v;
    if (kern_is_numpy(x)) {
      kern_fail("dtype", "argument %zd is a numpy array, which a kernel cannot reach: pass an Array of the kernel's device", done);
      break;
    }
    int fine = kern_take(x, &ops[done]);
    if (!fine) { kern_release_operand(&ops[done]); break; }
    if (ops[done].v.scalar) ops[done].v.dtype = dtype_of_scalar(x);
  }
  if (!PyErr_Occurred()) {
    Py_BEGIN_ALLOW_THREADS rc = KernLaunch(kernel, kern_current_stream, grid, block, shared, views, (int)count, &e);
    Py_END_ALLOW_THREADS
    if (rc < 0) kern_raise(&e);
  }
  while (done--) kern_release_operand(&ops[done]);
  free(ops);
  free(views);
  if (rc < 0) return NULL;
  Py_RETURN_NONE;
}

PyMethodDef kern_stream_functions[] = {
    FAST(py_stream, "stream"), {"set_stream", py_set_stream, METH_O, NULL}, FAST(py_compile, "compile"), FAST(py_launch, "launch"), {0},
};
