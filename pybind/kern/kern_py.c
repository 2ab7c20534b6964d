// What all C files of eagleray._kern use: what the module was configured with, and errors. It calls none of them.
#include "kern_py.h"

PyObject *kern_make_error;    // (code, message, detail, asked, free, total) → exception
PyObject *kern_as_array;      // anything with a protocol → Array
PyObject *kern_dtype_objects; // by number

// ---- errors -------------------------------------------------------------

static void set_error(const char *code, const char *message, const char *detail, int64_t asked, int64_t left, int64_t total) {
  if (!kern_make_error) {
    PyErr_Format(PyExc_RuntimeError, "%s: %s", code, message);
    return;
  }
  PyObject *x = PyObject_CallFunction(kern_make_error, "sszLLL", code, message, detail, (long long)asked, (long long)left, (long long)total);
  if (!x) return;
  PyErr_SetObject((PyObject *)Py_TYPE(x), x);
  Py_DECREF(x);
}

PyObject *kern_raise(kern_err *e) {
  set_error(e->code, e->message, e->detail, e->asked, e->free, e->total);
  free(e->code);
  free(e->message);
  free(e->detail);
  return NULL;
}

void kern_fail(const char *code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  PyObject *text = PyUnicode_FromFormatV(format, args);
  va_end(args);
  const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
  if (s) set_error(code, s, NULL, 0, 0, 0);
  Py_XDECREF(text);
}

int kern_unusable(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "this process was forked from one that uses eagleray.kernels, whose runtime does not reach here: "
                  "use multiprocessing's spawn method, or kernels in one of the two only");
  return 0;
}

int kern_wrong_arity(const char *name, Py_ssize_t n, Py_ssize_t want) {
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, want, n);
  return 0;
}
