// Memory of a device in several processes.
#include "kern_py.h"

enum { HANDLE_ROOM = 512, OBJECT_ID = 28 };

// export(array) → (handle, size of the memory, offset of the array in it)
static PyObject *py_export(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char handle[HANDLE_ROOM];
  int n = 0, rc;
  int64_t size, offset;
  kern_err e;
  if (!kern_is_array(o)) {
    PyErr_SetString(PyExc_TypeError, "export() needs an Array");
    return NULL;
  }
  if (!kern_usable_array((Array *)o)) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = KernExport(((Array *)o)->handle, handle, HANDLE_ROOM, &n, &size, &offset, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return kern_raise(&e);
  return Py_BuildValue("(y#LL)", (char *)handle, (Py_ssize_t)n, (long long)size, (long long)offset);
}

// keep(array, object id): the memory lives while somebody holds the object.
static PyObject *py_keep(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_err e;
  if (!kern_arity("keep", n, 2)) return NULL;
  if (!kern_is_array(a[0]) || !PyBytes_Check(a[1]) || PyBytes_GET_SIZE(a[1]) != OBJECT_ID) {
    PyErr_SetString(PyExc_TypeError, "keep() needs an Array and the id of an object");
    return NULL;
  }
  if (!kern_usable_array((Array *)a[0])) return NULL;
  if (KernKeep(((Array *)a[0])->handle, (unsigned char *)PyBytes_AS_STRING(a[1]), &e) < 0) return kern_raise(&e);
  Py_RETURN_NONE;
}

// import_(handle, size, offset, dtype, shape, strides, owner) → a read-only array
static PyObject *py_import(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  kern_view v = {0}, made;
  kern_err e;
  int steps, rc;
  if (!kern_arity("import_", n, 7) || !kern_usable()) return NULL;
  if (!PyBytes_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "import_() needs a handle");
    return NULL;
  }
  int64_t size = PyLong_AsLongLong(a[1]);
  v.ptr = (uintptr_t)PyLong_AsLongLong(a[2]);
  v.dtype = (int32_t)PyLong_AsLong(a[3]);
  if (PyErr_Occurred() || !kern_axes(a[4], v.shape, &v.ndim, 1) || !kern_axes(a[5], v.strides, &steps, 0)) return NULL;
  if (steps != v.ndim) {
    kern_fail("shape", "%d strides for %d dimensions", steps, v.ndim);
    return NULL;
  }
  Py_INCREF(a[6]);
  Py_BEGIN_ALLOW_THREADS rc = KernImport((unsigned char *)PyBytes_AS_STRING(a[0]), (int)PyBytes_GET_SIZE(a[0]), size, &v,
                                         (uintptr_t)a[6], &made, &e);
  Py_END_ALLOW_THREADS
  return rc < 0 ? kern_raise(&e) : kern_new_array(&made);
}

PyMethodDef kern_share_functions[] = {
    {"export", py_export, METH_O, NULL}, FAST(py_keep, "keep"), FAST(py_import, "import_"), {0},
};
