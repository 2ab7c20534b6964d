// DLPack, both ways: its structures, and capsules of them.
// The layout is the one that the DLPack specification fixes, version 1.1 and, without a version, the one before 1.0.
#include "kern_py.h"

typedef struct { int32_t type, id; } dl_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } dl_dtype;
typedef struct {
  void *data;
  dl_device device;
  int32_t ndim;
  dl_dtype dtype;
  int64_t *shape, *strides; // in elements
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *);
} dl_managed;

typedef struct dl_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dl_versioned *);
  uint64_t flags;
  dl_tensor tensor;
} dl_versioned;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4 };
enum { DL_READONLY = 1, DL_COPIED = 2 };

static const dl_dtype dl_dtypes[] = {{0}, {DL_FLOAT, 16, 1}, {DL_BFLOAT, 16, 1}, {DL_FLOAT, 32, 1}, {DL_FLOAT, 64, 1},
                                     {DL_INT, 32, 1}, {DL_INT, 64, 1}, {DL_UINT, 8, 1}};
static const char *const dl_names[] = {"dltensor", "dltensor_versioned"}, *const dl_used[] = {"used_dltensor", "used_dltensor_versioned"};

// What an exported tensor is made of, in one piece. Its memory is kept by the alias: deleters may run without the lock.
typedef struct {
  union { dl_managed plain; dl_versioned versioned; } m;
  uint64_t alias;
  int64_t dims[];
} dl_export;

static void export_end(dl_export *x) {
  if (!hot_is_forked()) KernDrop(x->alias);
  free(x);
}
static void export_end_plain(dl_managed *m) { export_end((dl_export *)m); }
static void export_end_versioned(dl_versioned *m) { export_end((dl_export *)m); }

// A capsule that nobody consumed.
static void capsule_end(PyObject *c) {
  for (int i = 0; i < 2; i++) {
    if (PyCapsule_IsValid(c, dl_names[i])) export_end(PyCapsule_GetPointer(c, dl_names[i]));
  }
}

// dlpack(array, versioned, copied) → capsule
static PyObject *py_dlpack(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  if (!kern_arity("dlpack", n, 3)) return NULL;
  if (!kern_is_array(args[0])) {
    PyErr_SetString(PyExc_TypeError, "dlpack() needs an Array");
    return NULL;
  }
  Array *a = (Array *)args[0];
  int versioned = PyObject_IsTrue(args[1]), copied = PyObject_IsTrue(args[2]);
  if (!kern_usable_array(a)) return NULL;
  dl_export *x = calloc(1, sizeof *x + (size_t)a->ndim * 16);
  if (!x) return PyErr_NoMemory();
  kern_view v;
  kern_err e;
  if (KernAlias(a->handle, &v, &e) < 0) {
    free(x);
    return kern_raise(&e);
  }
  x->alias = v.handle;
  int size = kern_dtypes[a->dtype].size;
  for (int i = 0; i < a->ndim; i++) {
    x->dims[i] = a->dims[i];
    x->dims[a->ndim + i] = a->dims[a->ndim + i] / size;
  }
  dl_tensor *t = versioned ? &x->m.versioned.tensor : &x->m.plain.tensor;
  t->data = (void *)a->ptr;
  t->device = a->device == KERN_CPU ? (dl_device){DL_CPU, 0} : (dl_device){DL_CUDA, a->device};
  t->ndim = a->ndim;
  t->dtype = dl_dtypes[a->dtype];
  t->shape = x->dims;
  t->strides = x->dims + a->ndim;
  if (versioned) {
    x->m.versioned.major = 1;
    x->m.versioned.minor = 1;
    x->m.versioned.flags = (a->readonly ? DL_READONLY : 0) | (copied ? DL_COPIED : 0);
    x->m.versioned.deleter = export_end_versioned;
  } else {
    x->m.plain.deleter = export_end_plain;
  }
  PyObject *c = PyCapsule_New(x, dl_names[versioned], capsule_end);
  if (!c) export_end(x);
  return c;
}

static const char owner_names[2][24] = {"eagleray.dlpack", "eagleray.dlpack.v1"};

static void owner_end(PyObject *c) {
  if (PyCapsule_IsValid(c, owner_names[0])) {
    dl_managed *m = PyCapsule_GetPointer(c, owner_names[0]);
    if (m->deleter) m->deleter(m);
  } else {
    dl_versioned *m = PyCapsule_GetPointer(c, owner_names[1]);
    if (m->deleter) m->deleter(m);
  }
}

static int dtype_of_dl(dl_dtype t) {
  for (int i = 1; i < DTYPES && t.lanes == 1; i++) {
    if (t.code == dl_dtypes[i].code && t.bits == dl_dtypes[i].bits) return i;
  }
  return 0;
}

static PyObject *array_of_tensor(const dl_tensor *t, int readonly, PyObject *owner) {
  kern_view v = {0}, made;
  kern_err e;
  v.dtype = dtype_of_dl(t->dtype);
  if (!v.dtype) {
    kern_fail("dtype", "a DLPack tensor of type code %d with %d bits and %d lanes: arrays hold float16, bfloat16, float32, float64, "
               "int32, int64 or uint8", t->dtype.code, t->dtype.bits, t->dtype.lanes);
    return NULL;
  }
  switch (t->device.type) {
  case DL_CPU: case DL_CUDA_HOST: v.device = KERN_CPU; break;
  case DL_CUDA: case DL_MANAGED: v.device = t->device.id; break;
  default:
    kern_fail("device", "a DLPack tensor on a device of type %d: arrays are on the host (1) or on CUDA devices (2)", t->device.type);
    return NULL;
  }
  if (t->ndim < 0 || t->ndim > KERN_DIMS) {
    kern_fail("shape", "a DLPack tensor of %d dimensions: arrays have at most %d", t->ndim, KERN_DIMS);
    return NULL;
  }
  int size = kern_dtypes[v.dtype].size;
  int64_t step = size;
  v.ptr = (uintptr_t)t->data + t->byte_offset;
  v.ndim = t->ndim;
  v.readonly = readonly;
  for (int i = t->ndim - 1; i >= 0; i--) {
    v.shape[i] = t->shape[i];
    v.strides[i] = t->strides ? t->strides[i] * size : step;
    step *= v.shape[i];
  }
  if (v.ptr % (uintptr_t)size) {
    kern_fail("shape", "the DLPack tensor is not aligned for its elements: copy it first");
    return NULL;
  }
  Py_INCREF(owner);
  return KernWrap(&v, (uintptr_t)owner, &made, &e) < 0 ? kern_raise(&e) : kern_new_array(&made);
}

// from_dlpack(capsule): takes the tensor over; its producer's deleter runs when the last view goes.
static PyObject *py_from_dlpack(PyObject *m, PyObject *c) {
  (void)m;
  if (!kern_usable()) return NULL;
  int versioned = PyCapsule_IsValid(c, dl_names[1]);
  if (!versioned && !PyCapsule_IsValid(c, dl_names[0])) {
    PyErr_SetString(PyExc_BufferError, "a DLPack capsule that was not consumed before is needed");
    return NULL;
  }
  void *p = PyCapsule_GetPointer(c, dl_names[versioned]);
  if (versioned && ((dl_versioned *)p)->major > 1) {
    PyErr_Format(PyExc_BufferError, "the tensor is of DLPack version %u: 1 is known here", ((dl_versioned *)p)->major);
    return NULL;
  }
  PyObject *owner = PyCapsule_New(p, owner_names[versioned], owner_end);
  if (!owner) return NULL;
  if (PyCapsule_SetName(c, dl_used[versioned]) || PyCapsule_SetDestructor(c, NULL)) {
    PyCapsule_SetDestructor(owner, NULL);
    Py_DECREF(owner);
    return NULL;
  }
  PyObject *a = versioned ? array_of_tensor(&((dl_versioned *)p)->tensor, (((dl_versioned *)p)->flags & DL_READONLY) != 0, owner)
                          : array_of_tensor(&((dl_managed *)p)->tensor, 0, owner);
  Py_DECREF(owner);
  return a;
}

PyMethodDef kern_dlpack_functions[] = {
    FAST(py_dlpack, "dlpack"), {"from_dlpack", py_from_dlpack, METH_O, NULL}, {0},
};
