// Operations: arguments in, one call of Go, the result out.
#include "kern_py.h"

enum { SMALL = 8192 }; // elements: up to here a kernel takes less time than giving the interpreter's lock away and back
enum { INPUTS = 16 };  // of a chain

// Go's numbers of the elementwise steps.
enum { OP_SCALE = 1, OP_ADDS, OP_ADD, OP_SUB, OP_RSUB, OP_MUL, OP_DIV, OP_AXPY };

_Thread_local uint64_t kern_current_stream; // what work of this thread is queued on; 0: the device's own

int kern_large(const kern_view *v) {
  if (v->scalar) return 0;
  return v->device != KERN_CPU || kern_elements(v->shape, v->ndim) > SMALL;
}

// to_numpy takes over an array and gives numpy's view of it; a number without dimensions becomes numpy's scalar.
static PyObject *to_numpy(PyObject *a) {
  if (!a) return NULL;
  PyObject *n = PyObject_CallOneArg(kern_numpy_asarray, a);
  int scalar = ((Array *)a)->ndim == 0;
  Py_DECREF(a);
  if (!n || !scalar) return n;
  PyObject *none = PyTuple_New(0), *x = none ? PyObject_GetItem(n, none) : NULL;
  Py_XDECREF(none);
  Py_DECREF(n);
  return x;
}

// result is out, or the new array; arguments of numpy alone give numpy's.
static PyObject *result(const kern_view *v, PyObject *out, int host) {
  if (out) return Py_NewRef(out);
  PyObject *a = kern_new_array(v);
  return host ? to_numpy(a) : a;
}

static int host_only(PyObject *const *x, int n) {
  int any = 0;
  for (int i = 0; i < n; i++) {
    if (kern_is_array(x[i])) return 0;
    if (kern_is_numpy(x[i]) || (kern_numpy_generic && PyObject_TypeCheck(x[i], kern_numpy_generic))) any = 1;
    else if (!PyFloat_Check(x[i]) && !PyLong_Check(x[i])) return 0;
  }
  return any;
}

// numpy_like is numpy's new array for a result with the shape of the first input, NULL where Go shall make it: inputs
// of several shapes, subclasses, numbers.
static PyObject *numpy_like(PyObject *const *in, int n) {
  if (!kern_find_numpy() || Py_TYPE(in[0]) != kern_numpy_array) return NULL;
  PyObject *shape = NULL, *made = NULL;
  for (int i = 1; i < n; i++) {
    if (PyFloat_Check(in[i]) || PyLong_Check(in[i])) continue;
    if (Py_TYPE(in[i]) != kern_numpy_array) goto done;
    if (!shape && !(shape = PyObject_GetAttrString(in[0], "shape"))) goto done;
    PyObject *other = PyObject_GetAttrString(in[i], "shape");
    int same = other ? PyObject_RichCompareBool(shape, other, Py_EQ) : 0;
    Py_XDECREF(other);
    if (same != 1) goto done;
  }
  made = PyObject_CallOneArg(kern_numpy_empty_like, in[0]);
done:
  Py_XDECREF(shape);
  PyErr_Clear();
  return made;
}

static PyObject *none_is_null(PyObject *o) { return o == Py_None ? NULL : o; }

// apply runs steps over inputs. With one step and a number among the inputs Go finds the step for it.
static PyObject *apply(const kern_step *steps, int nsteps, PyObject *const *in, int n, PyObject *out) {
  operand few[3], *ops = few;
  const kern_view *views[INPUTS];
  kern_view made;
  kern_err e;
  PyObject *res = NULL, *fresh = NULL;
  int rc, done = 0, big = 0, have_out = 0;
  operand o;
  if (!kern_usable()) return NULL;
  if (n > 3 && !(ops = malloc((size_t)n * sizeof *ops))) return PyErr_NoMemory();
  if (!out) {
    out = fresh = numpy_like(in, n);
    if (out && !kern_take_out(out, &o)) { // a data type that arrays do not hold: the input's error says so
      kern_release_operand(&o);
      PyErr_Clear();
      Py_CLEAR(fresh);
      out = NULL;
    }
    have_out = out != NULL;
  }
  for (; done < n; done++) {
    if (!(n == 1 ? kern_take_array : kern_take)(in[done], &ops[done])) { kern_release_operand(&ops[done]); goto done; }
    views[done] = &ops[done].v;
    big |= kern_large(views[done]);
  }
  if (out && !have_out) {
    have_out = 1;
    if (!kern_take_out(out, &o)) goto done;
  }
  if (out) big |= kern_large(&o.v);
  UNLOCKED(big, rc = KernMap((kern_step *)steps, nsteps, (kern_view **)views, n, out ? &o.v : NULL, kern_current_stream, &made, &e));
  if (rc < 0) kern_raise(&e);
  else res = result(&made, out, host_only(in, n));
done:
  if (have_out) kern_release_operand(&o);
  while (done--) kern_release_operand(&ops[done]);
  if (ops != few) free(ops);
  Py_XDECREF(fresh);
  return res;
}

static PyObject *needs_two(void) {
  kern_fail("dtype", "None is neither an array nor a number: the operation takes two");
  return NULL;
}

// step(op, s, t, x, y or None, out or None)
static PyObject *py_step(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("step", n, 6)) return NULL;
  kern_step k = {.op = (int32_t)PyLong_AsLong(a[0]), .in = a[4] != Py_None, .s = PyFloat_AsDouble(a[1]), .t = PyFloat_AsDouble(a[2])};
  if (PyErr_Occurred()) return NULL;
  if (a[4] == Py_None && k.op >= OP_ADD && k.op <= OP_AXPY) return needs_two();
  return apply(&k, 1, a + 3, 1 + k.in, none_is_null(a[5]));
}

// repeat(array, count): doubles it in place count times without returning to Python: benchmarks compare with that.
static PyObject *py_repeat(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("repeat", n, 2) || !kern_usable()) return NULL;
  long count = PyLong_AsLong(a[1]);
  if (PyErr_Occurred()) return NULL;
  if (!kern_is_array(a[0])) {
    PyErr_SetString(PyExc_TypeError, "repeat() needs an Array");
    return NULL;
  }
  kern_step k = {.op = OP_SCALE, .s = 2};
  kern_view v, made, *in = &v;
  kern_err e;
  kern_view_of((Array *)a[0], &v);
  while (count-- > 0) {
    if (KernMap(&k, 1, &in, 1, &v, kern_current_stream, &made, &e) < 0) return kern_raise(&e);
  }
  Py_RETURN_NONE;
}

// chain(steps: bytes, inputs: tuple, out or None)
static PyObject *py_chain(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("chain", n, 3)) return NULL;
  if (!PyBytes_Check(a[0]) || !PyTuple_Check(a[1]) || PyBytes_GET_SIZE(a[0]) % (Py_ssize_t)sizeof(kern_step)) {
    PyErr_SetString(PyExc_TypeError, "chain() takes steps, a tuple of inputs and out");
    return NULL;
  }
  Py_ssize_t in = PyTuple_GET_SIZE(a[1]);
  if (in < 1 || in > INPUTS) {
    kern_fail("shape", "a chain has 1 to %d inputs, got %zd", INPUTS, in);
    return NULL;
  }
  const kern_step *steps = (const kern_step *)PyBytes_AS_STRING(a[0]);
  int count = (int)(PyBytes_GET_SIZE(a[0]) / (Py_ssize_t)sizeof(kern_step));
  return apply(steps, count, ((PyTupleObject *)a[1])->ob_item, (int)in, none_is_null(a[2]));
}

// operate(KERN_SUM …, x, y or None, argument: int, out or None); the argument is an axis, a data type or a device.
static PyObject *py_operate(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("operate", n, 5) || !kern_usable()) return NULL;
  int kind = (int)PyLong_AsLong(a[0]);
  int64_t arg = PyLong_AsLongLong(a[3]);
  if (PyErr_Occurred()) return NULL;
  if (a[2] == Py_None && (kind == KERN_DOT || kind == KERN_MATMUL)) return needs_two();
  PyObject *out = none_is_null(a[4]), *res = NULL;
  operand x, y, o;
  kern_view made;
  kern_err e;
  int two = a[2] != Py_None, rc, big = 0;
  y.made = o.made = NULL;
  y.has_buf = o.has_buf = 0;
  if (!kern_take_array(a[1], &x) || (two && !kern_take_array(a[2], &y)) || (out && !kern_take_out(out, &o))) goto done;
  big = kern_large(&x.v) || (two && kern_large(&y.v)) || (kind == KERN_MATMUL && !x.v.scalar && kern_elements(x.v.shape, x.v.ndim) > 256);
  UNLOCKED(big, rc = KernOperate(kind, &x.v, two ? &y.v : NULL, arg, out ? &o.v : NULL, kern_current_stream, &made, &e));
  if (rc < 0) kern_raise(&e);
  else res = result(&made, out, kind != KERN_TO && host_only(a + 1, 1 + two));
done:
  kern_release_operand(&o);
  kern_release_operand(&y);
  kern_release_operand(&x);
  return res;
}

// ---- operators -------------------------------------------------------------------

static int operand_like(PyObject *o) {
  return kern_is_array(o) || kern_is_numpy(o) || PyFloat_Check(o) || PyLong_Check(o) ||
         (kern_numpy_generic && PyObject_TypeCheck(o, kern_numpy_generic));
}

static PyObject *binary(int op, PyObject *a, PyObject *b, PyObject *out) {
  if (!operand_like(a) || !operand_like(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *in[2] = {a, b};
  kern_step k = {.op = op, .in = 1};
  return apply(&k, 1, in, 2, out);
}

static PyObject *nb_add(PyObject *a, PyObject *b) { return binary(OP_ADD, a, b, NULL); }
static PyObject *nb_sub(PyObject *a, PyObject *b) { return binary(OP_SUB, a, b, NULL); }
static PyObject *nb_mul(PyObject *a, PyObject *b) { return binary(OP_MUL, a, b, NULL); }
static PyObject *nb_div(PyObject *a, PyObject *b) { return binary(OP_DIV, a, b, NULL); }
static PyObject *nb_iadd(PyObject *a, PyObject *b) { return binary(OP_ADD, a, b, a); }
static PyObject *nb_isub(PyObject *a, PyObject *b) { return binary(OP_SUB, a, b, a); }
static PyObject *nb_imul(PyObject *a, PyObject *b) { return binary(OP_MUL, a, b, a); }
static PyObject *nb_idiv(PyObject *a, PyObject *b) { return binary(OP_DIV, a, b, a); }

static PyObject *nb_neg(PyObject *a) {
  kern_step k = {.op = OP_SCALE, .s = ((Array *)a)->dtype == 7 ? 255 : -1}; // uint8 wraps around
  return apply(&k, 1, &a, 1, NULL);
}

static PyObject *nb_matmul(PyObject *a, PyObject *b) {
  if (!operand_like(a) || !operand_like(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *kind = PyLong_FromLong(KERN_MATMUL), *zero = PyLong_FromLong(0);
  PyObject *args[5] = {kind, a, b, zero, Py_None};
  PyObject *r = kind && zero ? py_operate(NULL, args, 5) : NULL;
  Py_XDECREF(kind);
  Py_XDECREF(zero);
  return r;
}

PyNumberMethods kern_array_number = {
    .nb_add = nb_add, .nb_subtract = nb_sub, .nb_multiply = nb_mul, .nb_true_divide = nb_div,
    .nb_inplace_add = nb_iadd, .nb_inplace_subtract = nb_isub, .nb_inplace_multiply = nb_imul, .nb_inplace_true_divide = nb_idiv,
    .nb_negative = nb_neg, .nb_matrix_multiply = nb_matmul,
};

PyMethodDef kern_ops_functions[] = {
    FAST(py_step, "step"), FAST(py_repeat, "repeat"), FAST(py_chain, "chain"), FAST(py_operate, "operate"), {0},
};
