// What the C files of eagleray._kern share. It declares and holds no code, but for functions of a few instructions that
// every call passes.
#ifndef EAGLERAY_KERN_PY_H
#define EAGLERAY_KERN_PY_H
#include "py.h"

#pragma GCC visibility push(hidden)

extern PyObject *kern_make_error;    // (code, message, detail, asked, free, total) → exception
extern PyObject *kern_as_array;      // anything with a protocol → Array
extern PyObject *kern_dtype_objects; // by number

// ---- types ------------------------------------------------------------------

// Everything but the closed flag is fixed at creation, so that no reader needs
// a lock: whether the array is still open is what Go says when it is used.
typedef struct {
  PyObject_HEAD
  PyObject *weak;
  uint64_t handle;  // gives the memory up when the object goes
  uint64_t exposed; // an alias, from when a bare pointer was handed out
  uintptr_t ptr;
  int32_t dtype, ndim, device;
  char readonly, closed;
  int64_t *dims; // shape, then strides
  int64_t few[8];
} Array;

// Data types by number: numpy's name, the array interface's, the buffer protocol's, bytes of an element.
enum { BF16 = 2, DTYPES = 8 };
typedef struct { const char *name, *typestr, *format; int size; } kern_dtype;
extern const kern_dtype kern_dtypes[DTYPES];

extern PyTypeObject ArrayType, ResourceType;
extern PyTypeObject *kern_array_type; // eagleray.kernels.Array
extern PyNumberMethods kern_array_number;

// An argument of an operation.
typedef struct {
  kern_view v;
  PyObject *made; // what stands for the argument: an array, or a copy of numpy's
  Py_buffer buf;
  char has_buf;
} operand;

// Once numpy is loaded.
extern PyTypeObject *kern_numpy_array, *kern_numpy_generic;
extern PyObject *kern_numpy_asarray, *kern_numpy_empty_like;

extern _Thread_local uint64_t kern_current_stream; // what work of this thread is queued on; 0: the device's own

// ---- functions --------------------------------------------------------------

// kern_py.c
int kern_unusable(void); // raises
int kern_wrong_arity(const char *name, Py_ssize_t n, Py_ssize_t want); // raises
PyObject *kern_raise(kern_err *e);
void kern_fail(const char *code, const char *format, ...);

// kern_array.c
int64_t kern_elements(const int64_t *shape, int ndim);
PyObject *kern_new_array(const kern_view *v);
void kern_view_of(const Array *a, kern_view *v);
int kern_usable_array(Array *a);
int kern_contiguous(const Array *a, int fortran);

// kern_make.c
int kern_axes(PyObject *t, int64_t *out, int *n, int lengths);

// kern_operand.c
int kern_find_numpy(void);
int kern_is_numpy(PyObject *o);
void kern_release_operand(operand *o);
int kern_view_of_buffer(const Py_buffer *b, kern_view *v);
int kern_take_number(PyObject *x, kern_view *v);
int kern_take(PyObject *x, operand *o);
int kern_take_array(PyObject *x, operand *o);
int kern_take_out(PyObject *x, operand *o);

// kern_ops.c
int kern_large(const kern_view *v);

extern PyMethodDef kern_dlpack_functions[], kern_make_functions[], kern_ops_functions[], kern_share_functions[], kern_stream_functions[];

#pragma GCC visibility pop

// ---- what every call passes -------------------------------------------------

static inline int kern_usable(void) { return hot_is_forked() ? kern_unusable() : 1; }

static inline int kern_arity(const char *name, Py_ssize_t n, Py_ssize_t want) { return n == want ? 1 : kern_wrong_arity(name, n, want); }

static inline int kern_is_array(PyObject *o) { return PyObject_TypeCheck(o, &ArrayType); }

#endif
