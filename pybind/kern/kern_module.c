// The module eagleray._kern, the C half of package kernels: Python's arrays and calls of package kernels.
// It reads arguments, makes the result's object and decides which lock to hold;
// shapes, data types, devices and lifetimes are checked in Go.
#include "kern_py.h"

// configure(Array, dtypes by number, make_error, as_array)
static PyObject *py_configure(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("configure", n, 4)) return NULL;
  if (!PyType_Check(a[0]) || !PyType_IsSubtype((PyTypeObject *)a[0], &ArrayType) || !PyTuple_Check(a[1])) {
    PyErr_SetString(PyExc_TypeError, "configure() takes a subclass of Array, a tuple and two functions");
    return NULL;
  }
  Py_XSETREF(kern_array_type, (PyTypeObject *)Py_NewRef(a[0]));
  Py_XSETREF(kern_dtype_objects, Py_NewRef(a[1]));
  Py_XSETREF(kern_make_error, Py_NewRef(a[2]));
  Py_XSETREF(kern_as_array, Py_NewRef(a[3]));
  Py_RETURN_NONE;
}

// search(folder): where NVIDIA's libraries may be
static PyObject *py_search(PyObject *m, PyObject *folder) {
  (void)m;
  const char *path = PyUnicode_AsUTF8(folder);
  if (!path) return NULL;
  KernSearch((char *)path);
  Py_RETURN_NONE;
}

// count() → (number of CUDA devices that this process sees, why there is none)
static PyObject *py_count(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  if (!kern_usable()) return NULL;
  char *why = NULL;
  int n;
  Py_BEGIN_ALLOW_THREADS n = KernCount(&why);
  Py_END_ALLOW_THREADS
  PyObject *r = Py_BuildValue("(iz)", n, why);
  free(why);
  return r;
}

// device_bytes() → what this process's arrays hold of CUDA devices
static PyObject *py_device_bytes(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  if (!kern_usable()) return NULL;
  return PyLong_FromLongLong(KernDeviceBytes());
}

// describe(device) → (name, uuid, total bytes, free bytes, major, minor)
static PyObject *py_describe(PyObject *m, PyObject *o) {
  (void)m;
  if (!kern_usable()) return NULL;
  int device = (int)PyLong_AsLong(o), rc;
  if (device == -1 && PyErr_Occurred()) return NULL;
  char *name = NULL, *uuid = NULL;
  int64_t numbers[4];
  kern_err e;
  Py_BEGIN_ALLOW_THREADS rc = KernDescribe(device, &name, &uuid, numbers, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return kern_raise(&e);
  PyObject *r = Py_BuildValue("(zzLLLL)", name, uuid, (long long)numbers[0], (long long)numbers[1], (long long)numbers[2], (long long)numbers[3]);
  free(name);
  free(uuid);
  return r;
}

static PyMethodDef functions[] = {
    FAST(py_configure, "configure"), {"search", py_search, METH_O, NULL}, {"count", py_count, METH_NOARGS, NULL},
    {"device_bytes", py_device_bytes, METH_NOARGS, NULL}, {"describe", py_describe, METH_O, NULL}, {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kern", "Arrays and kernels; see docs/hot-api.md.", -1, functions, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__kern(void) {
  PyMethodDef *const others[] = {kern_dlpack_functions, kern_make_functions, kern_ops_functions, kern_share_functions, kern_stream_functions};
  late_imported();
  ArrayType.tp_as_number = &kern_array_number;
  if (PyType_Ready(&ArrayType) || PyType_Ready(&ResourceType)) return NULL;
  PyObject *m = PyModule_Create(&module);
  if (!m || PyModule_AddObjectRef(m, "Array", (PyObject *)&ArrayType)) return NULL;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (PyModule_AddFunctions(m, others[i])) return NULL;
  hot_arm();
  return m;
}
