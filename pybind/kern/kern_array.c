// The Python object of an array.
#include "kern_py.h"

PyTypeObject *kern_array_type; // eagleray.kernels.Array

const kern_dtype kern_dtypes[DTYPES] = {
    {0}, {"float16", "<f2", "e", 2}, {"bfloat16", NULL, NULL, 2}, {"float32", "<f4", "f", 4}, {"float64", "<f8", "d", 8},
    {"int32", "<i4", "i", 4}, {"int64", "<i8", "q", 8}, {"uint8", "|u1", "B", 1}};

int64_t kern_elements(const int64_t *shape, int ndim) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++) n *= shape[i];
  return n;
}

// kern_new_array takes over the view's handle.
PyObject *kern_new_array(const kern_view *v) {
  PyTypeObject *t = kern_array_type ? kern_array_type : &ArrayType;
  Array *a = (Array *)t->tp_alloc(t, 0);
  if (!a) { KernDrop(v->handle); return NULL; }
  a->handle = v->handle;
  a->ptr = v->ptr;
  a->dtype = v->dtype;
  a->ndim = v->ndim;
  a->device = v->device;
  a->readonly = (char)(v->readonly != 0);
  a->dims = a->few;
  if (v->ndim > 4 && !(a->dims = malloc((size_t)v->ndim * 16))) {
    Py_DECREF(a);
    return PyErr_NoMemory();
  }
  memcpy(a->dims, v->shape, (size_t)v->ndim * 8);
  memcpy(a->dims + v->ndim, v->strides, (size_t)v->ndim * 8);
  return (PyObject *)a;
}

void kern_view_of(const Array *a, kern_view *v) {
  v->handle = a->handle;
  v->scalar = 0;
  v->ptr = a->ptr;
  v->dtype = a->dtype;
  v->ndim = a->ndim;
  v->device = a->device;
  v->readonly = a->readonly;
  memcpy(v->shape, a->dims, (size_t)a->ndim * 8);
  memcpy(v->strides, a->dims + a->ndim, (size_t)a->ndim * 8);
}

static void array_dealloc(PyObject *self) {
  Array *a = (Array *)self;
  if (a->weak) PyObject_ClearWeakRefs(self);
  if (!hot_is_forked()) {
    if (a->exposed) KernDrop(a->exposed);
    if (a->handle) KernDrop(a->handle);
  }
  if (a->dims != a->few) free(a->dims);
  Py_TYPE(self)->tp_free(self); // a subclass's own dealloc counts its type
}

static PyObject *array_new(PyTypeObject *t, PyObject *args, PyObject *kw) {
  (void)args, (void)kw;
  PyErr_Format(PyExc_TypeError, "%s is made by array(), asarray(), empty(), zeros() or full()", t->tp_name);
  return NULL;
}

int kern_usable_array(Array *a) {
  if (!kern_usable()) return 0;
  if (!a->closed) return 1;
  kern_fail("closed", "the array was freed: nothing can be done with it");
  return 0;
}

static PyObject *array_free(PyObject *self, PyObject *unused) {
  (void)unused;
  Array *a = (Array *)self;
  if (!kern_usable()) return NULL;
  kern_err e;
  int rc;
  a->closed = 1;
  Py_BEGIN_ALLOW_THREADS rc = KernFree(a->handle, &e); // waits for work on the device
  Py_END_ALLOW_THREADS
  if (rc < 0) return kern_raise(&e);
  Py_RETURN_NONE;
}

// expose makes the memory outlive free(): somebody holds a bare pointer, and
// this object for as long as the pointer is used.
static int expose(Array *a) {
  if (!kern_usable_array(a)) return 0;
  if (a->exposed) return 1;
  kern_view v;
  kern_err e;
  if (KernAlias(a->handle, &v, &e) < 0) { kern_raise(&e); return 0; }
  a->exposed = v.handle;
  return 1;
}

static PyObject *array_pointer(PyObject *self, PyObject *unused) {
  (void)unused;
  Array *a = (Array *)self;
  if (!expose(a)) return NULL;
  return PyLong_FromUnsignedLongLong(kern_elements(a->dims, a->ndim) ? a->ptr : 0);
}

static PyObject *tuple_of(const int64_t *p, int n) {
  PyObject *t = PyTuple_New(n);
  for (int i = 0; t && i < n; i++) {
    PyObject *x = PyLong_FromLongLong(p[i]);
    if (!x) Py_CLEAR(t);
    else PyTuple_SET_ITEM(t, i, x);
  }
  return t;
}

static PyObject *array_shape(PyObject *self, void *u) { (void)u; return tuple_of(((Array *)self)->dims, ((Array *)self)->ndim); }
static PyObject *array_strides(PyObject *self, void *u) {
  (void)u;
  return tuple_of(((Array *)self)->dims + ((Array *)self)->ndim, ((Array *)self)->ndim);
}
static PyObject *array_ndim(PyObject *self, void *u) { (void)u; return PyLong_FromLong(((Array *)self)->ndim); }
static PyObject *array_itemsize(PyObject *self, void *u) { (void)u; return PyLong_FromLong(kern_dtypes[((Array *)self)->dtype].size); }
static PyObject *array_size(PyObject *self, void *u) {
  (void)u;
  return PyLong_FromLongLong(kern_elements(((Array *)self)->dims, ((Array *)self)->ndim));
}
static PyObject *array_nbytes(PyObject *self, void *u) {
  (void)u;
  Array *a = (Array *)self;
  return PyLong_FromLongLong(kern_elements(a->dims, a->ndim) * kern_dtypes[a->dtype].size);
}
static PyObject *array_dtype(PyObject *self, void *u) {
  (void)u;
  PyObject *t = kern_dtype_objects ? PyTuple_GetItem(kern_dtype_objects, ((Array *)self)->dtype) : NULL;
  if (t) return Py_NewRef(t);
  PyErr_Clear();
  return PyUnicode_FromString(kern_dtypes[((Array *)self)->dtype].name);
}
static PyObject *array_device(PyObject *self, void *u) {
  (void)u;
  int d = ((Array *)self)->device;
  return d == KERN_CPU ? PyUnicode_FromString("cpu") : PyUnicode_FromFormat("cuda:%d", d);
}
static PyObject *array_index(PyObject *self, void *u) { (void)u; return PyLong_FromLong(((Array *)self)->device); }
static PyObject *array_readonly(PyObject *self, void *u) { (void)u; return PyBool_FromLong(((Array *)self)->readonly); }
static PyObject *array_closed(PyObject *self, void *u) { (void)u; return PyBool_FromLong(((Array *)self)->closed); }

static Py_ssize_t array_length(PyObject *self) {
  Array *a = (Array *)self;
  if (a->ndim) return (Py_ssize_t)a->dims[0];
  PyErr_SetString(PyExc_TypeError, "an array without dimensions has no length");
  return -1;
}

// ---- buffer protocol: memory of the host ----------------------------------------

int kern_contiguous(const Array *a, int fortran) {
  int64_t want = kern_dtypes[a->dtype].size;
  for (int k = 0; k < a->ndim; k++) {
    int i = fortran ? k : a->ndim - 1 - k;
    if (a->dims[i] == 0) return 1;
    if (a->dims[i] != 1 && a->dims[a->ndim + i] != want) return 0;
    want *= a->dims[i];
  }
  return 1;
}

static int array_getbuffer(PyObject *self, Py_buffer *v, int flags) {
  Array *a = (Array *)self;
  v->obj = NULL;
  if (a->device != KERN_CPU) {
    PyErr_Format(PyExc_BufferError, "the array is on cuda:%d: its memory is not the host's; call .numpy() for a copy", a->device);
    return -1;
  }
  if (a->dtype == BF16) {
    PyErr_SetString(PyExc_TypeError, "bfloat16 has no counterpart in numpy and the buffer protocol: call .astype('float32')");
    return -1;
  }
  if (!kern_usable_array(a)) return -1;
  int c = kern_contiguous(a, 0), f = kern_contiguous(a, 1);
  const char *problem = NULL;
  if ((flags & PyBUF_WRITABLE) && a->readonly) problem = "the array is read-only";
  else if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c) problem = "the array is not contiguous";
  else if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f) problem = "the array is not Fortran contiguous";
  else if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f) problem = "the array is not contiguous";
  else if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c) problem = "the array is not contiguous";
  if (problem) {
    PyErr_SetString(PyExc_BufferError, problem);
    return -1;
  }
  kern_view alias; // the view outlives free()
  kern_err e;
  if (KernAlias(a->handle, &alias, &e) < 0) { kern_raise(&e); return -1; }
  v->buf = (void *)a->ptr;
  v->itemsize = kern_dtypes[a->dtype].size;
  v->len = kern_elements(a->dims, a->ndim) * v->itemsize;
  v->readonly = a->readonly;
  v->ndim = a->ndim;
  v->format = flags & PyBUF_FORMAT ? (char *)kern_dtypes[a->dtype].format : NULL;
  v->shape = flags & PyBUF_ND ? (Py_ssize_t *)a->dims : NULL;
  v->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? (Py_ssize_t *)(a->dims + a->ndim) : NULL;
  v->suboffsets = NULL;
  v->internal = (void *)(uintptr_t)alias.handle;
  v->obj = Py_NewRef(self);
  return 0;
}

static void array_releasebuffer(PyObject *self, Py_buffer *v) {
  (void)self;
  if (!hot_is_forked()) KernDrop((uint64_t)(uintptr_t)v->internal);
}

static PyBufferProcs array_buffer = {.bf_getbuffer = array_getbuffer, .bf_releasebuffer = array_releasebuffer};
static PySequenceMethods array_sequence = {.sq_length = array_length};

static PyGetSetDef array_attrs[] = {
    {"shape", array_shape, NULL, "Length of each axis, in elements.", NULL},
    {"strides", array_strides, NULL, "Step along each axis, in bytes.", NULL},
    {"ndim", array_ndim, NULL, "Number of axes.", NULL},
    {"size", array_size, NULL, "Number of elements.", NULL},
    {"itemsize", array_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", array_nbytes, NULL, "Bytes of all elements.", NULL},
    {"dtype", array_dtype, NULL, "Type of the elements.", NULL},
    {"device", array_device, NULL, "\"cpu\" or \"cuda:N\".", NULL},
    {"_cuda", array_index, NULL, "Index of the CUDA device, -1 on the host.", NULL},
    {"readonly", array_readonly, NULL, "Whether writing to it raises ReadOnlyError.", NULL},
    {"closed", array_closed, NULL, "Whether it was freed.", NULL},
    {0},
};

static PyMethodDef array_methods[] = {
    {"free", array_free, METH_NOARGS,
     "Give the memory up now, not when the object goes. Views and exported buffers keep theirs. Twice does no harm."},
    {"_pointer", array_pointer, METH_NOARGS, "Address of the first element; the memory then lives as long as this object."},
    {0},
};

PyTypeObject ArrayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._kern.Array",
    .tp_doc = "Base of eagleray.kernels.Array: elements on a device.",
    .tp_basicsize = sizeof(Array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = array_new,
    .tp_dealloc = array_dealloc,
    .tp_getset = array_attrs,
    .tp_methods = array_methods,
    .tp_as_buffer = &array_buffer,
    .tp_as_sequence = &array_sequence,
    .tp_weaklistoffset = offsetof(Array, weak),
};
