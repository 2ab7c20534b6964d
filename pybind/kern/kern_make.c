// Making arrays, and views of them.
#include "kern_py.h"

// kern_axes reads a tuple of integers; negative lengths are errors, negative steps are not.
int kern_axes(PyObject *t, int64_t *out, int *n, int lengths) {
  if (!PyTuple_Check(t)) {
    PyErr_SetString(PyExc_TypeError, "a tuple of integers is needed");
    return 0;
  }
  if (PyTuple_GET_SIZE(t) > KERN_DIMS) {
    kern_fail("shape", "%zd dimensions: an array has at most %d", PyTuple_GET_SIZE(t), KERN_DIMS);
    return 0;
  }
  *n = (int)PyTuple_GET_SIZE(t);
  for (int i = 0; i < *n; i++) {
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(t, i));
    if (out[i] == -1 && PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return 0;
      PyErr_Clear();
      kern_fail("shape", "%R: a length or a step has more than 64 bits", t);
      return 0;
    }
    if (lengths && out[i] < 0) {
      kern_fail("shape", "shape %R: a length is negative", t);
      return 0;
    }
  }
  return 1;
}

// bytes_of is how much a contiguous array of the view's shape takes; -1, with an error, where no machine has that.
static int64_t bytes_of(const kern_view *v) {
  int64_t n = kern_dtypes[v->dtype].size;
  for (int i = 0; i < v->ndim; i++) {
    if (v->shape[i] == 0) return 0;
  }
  for (int i = 0; i < v->ndim; i++) {
    if (__builtin_mul_overflow(n, v->shape[i], &n)) {
      kern_fail("shape", "the shape asks for more bytes than 64 bits can count");
      return -1;
    }
  }
  return n;
}

// new(device, dtype, shape, fill: None = as it comes, or a number)
static PyObject *py_new(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_view v, made, fill = {0};
  kern_err e;
  int rc;
  if (!kern_arity("new", n, 4) || !kern_usable()) return NULL;
  v.device = (int32_t)PyLong_AsLong(a[0]);
  v.dtype = (int32_t)PyLong_AsLong(a[1]);
  if (PyErr_Occurred() || !kern_axes(a[2], v.shape, &v.ndim, 1) || (a[3] != Py_None && !kern_take_number(a[3], &fill))) return NULL;
  int64_t bytes = bytes_of(&v);
  if (bytes < 0) return NULL;
  UNLOCKED(bytes > 1 << 16 || v.device != KERN_CPU, rc = KernNew(&v, a[3] == Py_None ? NULL : &fill, kern_current_stream, &made, &e));
  return rc < 0 ? kern_raise(&e) : kern_new_array(&made);
}

// host(object): an array on the memory of an object with the buffer protocol, no copy.
static PyObject *py_host(PyObject *m, PyObject *o) {
  (void)m;
  if (!kern_usable()) return NULL;
  PyObject *owner = PyMemoryView_FromObject(o);
  if (!owner) {
    if (!kern_is_numpy(o)) return NULL;
    PyErr_Clear();
    PyObject *t = PyObject_GetAttrString(o, "dtype");
    if (t) kern_fail("dtype", "data type %S: arrays hold float16, bfloat16, float32, float64, int32, int64 or uint8", t);
    Py_XDECREF(t);
    return NULL;
  }
  kern_view v, made;
  kern_err e;
  int fit = kern_view_of_buffer(PyMemoryView_GET_BUFFER(owner), &v);
  if (fit <= 0) {
    if (fit < 0) kern_fail("shape", "the memory is not aligned for its elements: copy it first");
    Py_DECREF(owner);
    return NULL;
  }
  return KernWrap(&v, (uintptr_t)owner, &made, &e) < 0 ? kern_raise(&e) : kern_new_array(&made);
}

// foreign(device, dtype, pointer, shape, strides or None, readonly, owner)
static PyObject *py_foreign(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_view v = {0}, made;
  kern_err e;
  int steps;
  if (!kern_arity("foreign", n, 7) || !kern_usable()) return NULL;
  v.device = (int32_t)PyLong_AsLong(a[0]);
  v.dtype = (int32_t)PyLong_AsLong(a[1]);
  v.ptr = (uintptr_t)PyLong_AsUnsignedLongLong(a[2]);
  if (PyErr_Occurred() || !kern_axes(a[3], v.shape, &v.ndim, 1) || bytes_of(&v) < 0) return NULL;
  v.readonly = PyObject_IsTrue(a[5]);
  if (a[4] == Py_None) {
    int64_t step = kern_dtypes[v.dtype].size;
    for (int i = v.ndim - 1; i >= 0; i--) {
      v.strides[i] = step;
      step *= v.shape[i];
    }
  } else {
    if (!kern_axes(a[4], v.strides, &steps, 0)) return NULL;
    if (steps != v.ndim) {
      kern_fail("shape", "%d strides for %d dimensions", steps, v.ndim);
      return NULL;
    }
  }
  int64_t bits = (int64_t)v.ptr;
  for (int i = 0; i < v.ndim; i++) {
    if (v.shape[i] > 1) bits |= v.strides[i];
  }
  if (bits & (kern_dtypes[v.dtype].size - 1)) {
    kern_fail("shape", "the memory is not aligned for its elements: copy it first");
    return NULL;
  }
  Py_INCREF(a[6]);
  return KernWrap(&v, (uintptr_t)a[6], &made, &e) < 0 ? kern_raise(&e) : kern_new_array(&made);
}

// view(array, offset in bytes, shape, strides, readonly, dtype or 0 for the same): the same memory, otherwise seen.
static PyObject *py_view(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_view v, made;
  kern_err e;
  int steps;
  if (!kern_arity("view", n, 6)) return NULL;
  if (!kern_is_array(a[0])) {
    PyErr_SetString(PyExc_TypeError, "view() needs an Array");
    return NULL;
  }
  Array *from = (Array *)a[0];
  if (!kern_usable_array(from)) return NULL;
  kern_view_of(from, &v);
  int64_t offset = PyLong_AsLongLong(a[1]);
  if (PyErr_Occurred() || !kern_axes(a[2], v.shape, &v.ndim, 1) || !kern_axes(a[3], v.strides, &steps, 0)) return NULL;
  v.ptr += (uintptr_t)offset;
  v.readonly = PyObject_IsTrue(a[4]);
  int dtype = (int)PyLong_AsLong(a[5]);
  if (dtype > 0 && dtype < DTYPES) v.dtype = dtype;
  if (steps != v.ndim || PyErr_Occurred()) {
    if (!PyErr_Occurred()) kern_fail("shape", "%d strides for %d dimensions", steps, v.ndim);
    return NULL;
  }
  if (KernView(&v, &made, &e) < 0) return kern_raise(&e);
  return kern_new_array(&made);
}

// copy_into(source, destination): between devices, the host's arrays included; same shape and data type.
static PyObject *py_copy_into(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  operand x, o;
  kern_err e;
  int rc, good = 0;
  if (!kern_arity("copy_into", n, 2) || !kern_usable()) return NULL;
  o.made = NULL;
  o.has_buf = 0;
  if (kern_take(a[0], &x) && kern_take_out(a[1], &o)) {
    UNLOCKED(kern_large(&x.v) || kern_large(&o.v), rc = KernCopyInto(&x.v, &o.v, kern_current_stream, &e));
    good = rc == 0;
    if (rc < 0) kern_raise(&e);
  }
  kern_release_operand(&o);
  kern_release_operand(&x);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

PyMethodDef kern_make_functions[] = {
    FAST(py_new, "new"), {"host", py_host, METH_O, NULL}, FAST(py_foreign, "foreign"), FAST(py_view, "view"), FAST(py_copy_into, "copy_into"), {0},
};
