// Arguments of operations: arrays, memory of numpy, numbers.
#include "kern_py.h"

PyTypeObject *kern_numpy_array, *kern_numpy_generic;
PyObject *kern_numpy_asarray, *kern_numpy_empty_like;

int kern_find_numpy(void) {
  if (kern_numpy_array) return 1;
  PyObject *numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy"); // borrowed
  if (!numpy) return 0;
  PyObject *a = PyObject_GetAttrString(numpy, "ndarray"), *g = PyObject_GetAttrString(numpy, "generic");
  PyObject *f = PyObject_GetAttrString(numpy, "asarray"), *e = PyObject_GetAttrString(numpy, "empty_like");
  if (a && g && f && e && PyType_Check(a) && PyType_Check(g)) {
    kern_numpy_asarray = f;
    kern_numpy_empty_like = e;
    kern_numpy_generic = (PyTypeObject *)g;
    kern_numpy_array = (PyTypeObject *)a;
    return 1;
  }
  PyErr_Clear(); // numpy is being imported
  Py_XDECREF(a);
  Py_XDECREF(g);
  Py_XDECREF(f);
  Py_XDECREF(e);
  return 0;
}

int kern_is_numpy(PyObject *o) { return kern_find_numpy() && PyObject_TypeCheck(o, kern_numpy_array); }

void kern_release_operand(operand *o) {
  if (o->has_buf) PyBuffer_Release(&o->buf);
  Py_CLEAR(o->made);
  o->has_buf = 0;
}

// dtype_of_buffer is 0 for what arrays cannot hold.
static int dtype_of_buffer(const Py_buffer *b) {
  const char *f = b->format ? b->format : "B";
  if (*f == '@' || *f == '=' || *f == '<') f++;
  if (!*f || f[1]) return 0;
  switch (*f) {
  case 'e': return 1;
  case 'f': return 3;
  case 'd': return b->itemsize == 8 ? 4 : 0;
  case 'i': case 'l': case 'q': return b->itemsize == 4 ? 5 : b->itemsize == 8 ? 6 : 0;
  case 'B': return 7;
  }
  return 0;
}

// kern_view_of_buffer describes memory of the host. 0: it cannot be, an error is set; -1: not aligned for its elements.
int kern_view_of_buffer(const Py_buffer *b, kern_view *v) {
  int dtype = dtype_of_buffer(b);
  if (!dtype) {
    kern_fail("dtype",
               "elements of %zd bytes with buffer format '%s': arrays hold float16, bfloat16, float32, float64, int32, int64 or "
               "uint8 in the machine's byte order; convert them with .astype() first",
               b->itemsize, b->format ? b->format : "B");
    return 0;
  }
  if (b->ndim > KERN_DIMS) {
    kern_fail("shape", "%d dimensions: an array has at most %d", b->ndim, KERN_DIMS);
    return 0;
  }
  v->handle = 0;
  v->scalar = 0;
  v->ptr = (uintptr_t)b->buf;
  v->dtype = dtype;
  v->ndim = b->ndim;
  v->device = KERN_CPU;
  v->readonly = b->readonly;
  int64_t bits = (int64_t)v->ptr, step = b->itemsize, any = 1;
  for (int i = b->ndim - 1; i >= 0; i--) {
    v->shape[i] = b->shape ? b->shape[i] : b->len / b->itemsize;
    v->strides[i] = b->strides ? b->strides[i] : step;
    step *= v->shape[i];
    if (v->shape[i] > 1) bits |= v->strides[i];
    if (v->shape[i] == 0) any = 0;
  }
  return any && (bits & (kern_dtypes[dtype].size - 1)) ? -1 : 1;
}

int kern_take_number(PyObject *x, kern_view *v) {
  v->handle = 0;
  v->beyond = 0;
  if (PyFloat_Check(x)) {
    v->scalar = KERN_FLOAT;
    v->f = PyFloat_AS_DOUBLE(x);
    return 1;
  }
  if (PyIndex_Check(x)) {
    PyObject *n = PyNumber_Index(x);
    if (!n) return 0;
    int over = 0;
    v->scalar = KERN_INT;
    v->i = PyLong_AsLongLongAndOverflow(n, &over);
    v->beyond = over;
    v->f = over ? PyLong_AsDouble(n) : (double)v->i;
    Py_DECREF(n);
    if (v->f != -1 || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    kern_fail("overflow", "an integer of that size fits no data type");
    return 0;
  }
  v->scalar = KERN_FLOAT;
  v->f = PyFloat_AsDouble(x);
  if (v->f != -1 || !PyErr_Occurred()) return 1;
  PyErr_Clear();
  kern_fail("dtype", "%.100s is neither an array nor a real number", Py_TYPE(x)->tp_name);
  return 0;
}

// take_host views numpy's memory; one that is not aligned is copied, unless it is to be written to.
static int take_host(PyObject *x, operand *o, int write) {
  if (Py_TYPE(x) != kern_numpy_array && PyObject_HasAttrString(x, "mask")) {
    kern_fail("dtype", "a masked array: arrays have no mask; call .filled(value) or .data first");
    return 0;
  }
  if (PyObject_GetBuffer(x, &o->buf, PyBUF_RECORDS_RO)) {
    PyErr_Clear();
    kern_fail("dtype", "an array of %.100s cannot be read as numbers: arrays hold float16, bfloat16, float32, float64, int32, int64 or uint8",
               Py_TYPE(x)->tp_name);
    return 0;
  }
  o->has_buf = 1;
  int rc = kern_view_of_buffer(&o->buf, &o->v);
  if (rc >= 0) return rc;
  if (write) {
    kern_fail("shape", "out is not aligned for its elements: nothing can be written to it in place");
    return 0;
  }
  PyObject *copy = PyObject_CallMethod(x, "copy", NULL);
  kern_release_operand(o);
  if (!copy) return 0;
  o->made = copy;
  if (PyObject_GetBuffer(copy, &o->buf, PyBUF_RECORDS_RO)) return 0;
  o->has_buf = 1;
  return kern_view_of_buffer(&o->buf, &o->v) == 1;
}

// kern_take reads an argument; release_operand is due in any case.
int kern_take(PyObject *x, operand *o) {
  o->made = NULL;
  o->has_buf = 0;
  if (kern_is_array(x)) {
    kern_view_of((Array *)x, &o->v);
    return 1;
  }
  if (PyFloat_Check(x) || PyLong_Check(x)) return kern_take_number(x, &o->v);
  if (kern_is_numpy(x)) return take_host(x, o, 0);
  if (kern_numpy_generic && PyObject_TypeCheck(x, kern_numpy_generic)) return kern_take_number(x, &o->v);
  if (!kern_as_array) {
    PyErr_Format(PyExc_TypeError, "an Array or ndarray is needed, not %.100s", Py_TYPE(x)->tp_name);
    return 0;
  }
  o->made = PyObject_CallOneArg(kern_as_array, x);
  if (!o->made) return 0;
  kern_view_of((Array *)o->made, &o->v);
  return 1;
}

// kern_take_array is take for operations that have no form for numbers; numpy's are arrays without dimensions.
int kern_take_array(PyObject *x, operand *o) {
  o->made = NULL;
  o->has_buf = 0;
  if (kern_find_numpy() && PyObject_TypeCheck(x, kern_numpy_generic)) return take_host(x, o, 0);
  return kern_take(x, o);
}

// kern_take_out reads where the result goes.
int kern_take_out(PyObject *x, operand *o) {
  o->made = NULL;
  o->has_buf = 0;
  if (kern_is_array(x)) {
    kern_view_of((Array *)x, &o->v);
    return 1;
  }
  if (kern_is_numpy(x)) return take_host(x, o, 1);
  kern_fail("dtype", "out must be an Array or an ndarray, not %.100s", Py_TYPE(x)->tp_name);
  return 0;
}
