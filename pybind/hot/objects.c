// The types that Python sees (references, handles, views), and what becomes of them at a fork.
#include "py.h"
#include "warm.h"

// ---- signals ----------------------------------------------------------------

void hot_interrupt(void) {
  if (hot_have_main) pthread_kill(hot_main_thread, SIGUSR1);
}

// hot_signals runs the handlers of signals. A call that waits in Go on the main thread, without the interpreter's lock, calls it.
int hot_signals(void) {
  if (hot_forked || syscall(SYS_gettid) != getpid()) return 0;
  PyGILState_STATE s = PyGILState_Ensure();
  int raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(s);
  return raised;
}

// ---- descriptors that a forked child must not keep ---------------------------

static pthread_mutex_t fd_lock = PTHREAD_MUTEX_INITIALIZER;
static int *fds, fds_n, fds_cap;

void hot_descriptor(int fd, int open) {
  pthread_mutex_lock(&fd_lock);
  if (open) {
    if (fds_n == fds_cap) {
      int cap = fds_cap ? fds_cap * 2 : 64;
      int *p = realloc(fds, (size_t)cap * sizeof *p);
      if (p) { fds = p; fds_cap = cap; }
    }
    if (fds_n < fds_cap) fds[fds_n++] = fd;
  } else {
    for (int i = 0; i < fds_n; i++) {
      if (fds[i] == fd) { fds[i] = fds[--fds_n]; break; }
    }
  }
  pthread_mutex_unlock(&fd_lock);
}

static void before_fork(void) { pthread_mutex_lock(&fd_lock); }

static void after_fork_parent(void) { pthread_mutex_unlock(&fd_lock); }

static void after_fork_child(void) {
  hot_forked = late_started(); // what a zygote forks begins with Go
  if (!hot_forked) warm_up();
  for (int i = 0; i < fds_n; i++) close(fds[i]);
  fds_n = 0;
  pthread_mutex_unlock(&fd_lock);
}

struct ref_batch hot_single; // that of references which the core counts one by one

// hot_session is the number of the process's session. References and handles of an ended session are counted by nobody: when the
// program lets go of them in a later session, which may have the same object or actor, that one's count stays as it is.
uint32_t hot_session;

// ---- Ref: the base of ObjectRef -------------------------------------------

static void ref_dealloc(PyObject *self) {
  Ref *r = (Ref *)self;
  if (r->weak) PyObject_ClearWeakRefs(self);
  if (r->batch == &hot_single) {
    if (r->place == hot_session) hot_let_go(r->id, 0);
  } else if (r->batch) hot_ref_gone(r->batch, r->place);
  Py_TYPE(self)->tp_free(self); // a subclass's own dealloc counts its type
}

static PyObject *ref_binary(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)((Ref *)self)->id, HOT_OBJECT);
}

// ref_hash mixes the object's count with the random part of its owner's id, which follows the number of the owner's node.
static Py_hash_t ref_hash(PyObject *self) {
  uint64_t a, b;
  memcpy(&a, ((Ref *)self)->id, 8);
  memcpy(&b, ((Ref *)self)->id + 12, 8);
  a = __builtin_bswap64(a) * 0x9E3779B97F4A7C15ull ^ b;
  return (Py_hash_t)(a == (uint64_t)-1 ? 0 : a);
}

static PyObject *ref_compare(PyObject *a, PyObject *b, int op) {
  if (!PyObject_TypeCheck(b, &RefType) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  int same = memcmp(((Ref *)a)->id, ((Ref *)b)->id, HOT_OBJECT) == 0;
  return PyBool_FromLong(same == (op == Py_EQ));
}

static PyMethodDef ref_methods[] = {
    {"binary", ref_binary, METH_NOARGS, "The 28 bytes of the object's id."},
    {0},
};

PyTypeObject RefType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Ref",
    .tp_doc = "Base of ObjectRef: one counted reference to an object.",
    .tp_basicsize = sizeof(Ref),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_dealloc = ref_dealloc,
    .tp_hash = ref_hash,
    .tp_richcompare = ref_compare,
    .tp_methods = ref_methods,
    .tp_weaklistoffset = offsetof(Ref, weak),
};

// An ObjectRef refers to no other Python object, but Python gives every class that is made by a class statement to its
// garbage collector: each reference would be 16 bytes larger, and a collection would look at a million of them.
// Its destructor is Ref's then, without Python's search for it.

static void object_ref_dealloc(PyObject *self) {
  PyTypeObject *t = Py_TYPE(self);
  ref_dealloc(self);
  Py_DECREF(t); // in Python's own destructor of subclasses it is the nearest class's of this kind that does it
}

// hot_no_garbage takes the class away from the garbage collector. No object of the class may exist yet.
void hot_no_garbage(PyTypeObject *t) {
  if (!(t->tp_flags & Py_TPFLAGS_HAVE_GC) || t->tp_base != &RefType || t->tp_basicsize != sizeof(Ref) || t->tp_dictoffset) return;
  t->tp_flags &= ~(unsigned long)Py_TPFLAGS_HAVE_GC;
  t->tp_free = PyObject_Free;
  t->tp_traverse = NULL;
  t->tp_clear = NULL;
  t->tp_dealloc = object_ref_dealloc;
  PyType_Modified(t);
}

PyObject *hot_new_ref(const unsigned char *id) {
  PyTypeObject *t = hot_ref_type ? hot_ref_type : &RefType;
  Ref *r = (Ref *)t->tp_alloc(t, 0);
  if (!r) { hot_let_go(id, 0); return NULL; }
  memcpy(r->id, id, HOT_OBJECT);
  r->batch = &hot_single;
  r->place = hot_session;
  return (PyObject *)r;
}

// ---- Handle: one counted handle of an actor --------------------------------

static void handle_dealloc(PyObject *self) {
  Handle *h = (Handle *)self;
  if (h->session != hot_session) {
    // what counted it has ended
  } else if (h->counted) hot_let_go(h->token, 0);
  else if (!hot_forked) HotActorClose(h->actor);
  Py_TYPE(self)->tp_free(self);
}

static PyObject *handle_actor(PyObject *self, void *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)((Handle *)self)->actor, HOT_ACTOR);
}

static PyGetSetDef handle_attrs[] = {{"actor_id", handle_actor, NULL, "16 bytes", NULL}, {0}};

PyTypeObject HandleType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Handle",
    .tp_doc = "One counted handle of an actor.",
    .tp_basicsize = sizeof(Handle),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = handle_dealloc,
    .tp_getset = handle_attrs,
};

PyObject *hot_new_handle(const unsigned char *actor, const unsigned char *token) {
  static const unsigned char none[HOT_OBJECT];
  Handle *h = PyObject_New(Handle, &HandleType);
  if (!h) return NULL;
  memcpy(h->actor, actor, HOT_ACTOR);
  memcpy(h->token, token, HOT_OBJECT);
  h->counted = memcmp(token, none, HOT_OBJECT) != 0;
  h->session = hot_session;
  return (PyObject *)h;
}

// ---- Buffer: a read-only view of a value's buffer ---------------------------

static void pin_dealloc(PyObject *self) {
  hot_let_go(NULL, ((Pin *)self)->view);
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject PinType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Pin",
    .tp_basicsize = sizeof(Pin),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = pin_dealloc,
};

typedef struct {
  PyObject_HEAD
  PyObject *pin; // of several buffers' memory; NULL: there is none
  uint64_t view; // of a value with one buffer; 0: memory is ours
  void *p;
  Py_ssize_t n;
} Buffer;

static void buffer_dealloc(PyObject *self) {
  Buffer *b = (Buffer *)self;
  if (b->pin) Py_DECREF(b->pin);
  else if (b->view) hot_let_go(NULL, b->view);
  else free(b->p);
  Py_TYPE(self)->tp_free(self);
}

static int buffer_get(PyObject *self, Py_buffer *v, int flags) {
  Buffer *b = (Buffer *)self;
  return PyBuffer_FillInfo(v, self, b->p, b->n, 1, flags);
}

static Py_ssize_t buffer_len(PyObject *self) { return ((Buffer *)self)->n; }

static PyObject *buffer_bytes(PyObject *self, PyObject *Py_UNUSED(none)) {
  return PyBytes_FromStringAndSize(((Buffer *)self)->p, ((Buffer *)self)->n);
}

static PyMethodDef buffer_methods[] = {
    {"tobytes", buffer_bytes, METH_NOARGS, "Returns a copy of the memory."},
    {NULL, NULL, 0, NULL},
};

static PyObject *buffer_nbytes(PyObject *self, void *Py_UNUSED(closure)) { return PyLong_FromSsize_t(((Buffer *)self)->n); }

static PyObject *buffer_readonly(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure)) { Py_RETURN_TRUE; }

static PyGetSetDef buffer_fields[] = {
    {"nbytes", buffer_nbytes, NULL, "The length in bytes.", NULL},
    {"readonly", buffer_readonly, NULL, "Always True.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyBufferProcs buffer_procs = {.bf_getbuffer = buffer_get};
static PySequenceMethods buffer_seq = {.sq_length = buffer_len};

static PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Buffer",
    .tp_doc = "Read-only memory of a value; keeps it in the arena while it or a view of it lives.",
    .tp_basicsize = sizeof(Buffer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = buffer_dealloc,
    .tp_as_buffer = &buffer_procs,
    .tp_as_sequence = &buffer_seq,
    .tp_methods = buffer_methods,
    .tp_getset = buffer_fields,
};

// hot_new_buffer makes a view of memory under a pin or a view, which it takes over. Without either it copies the memory.
PyObject *hot_new_buffer(PyObject *pin, uint64_t view, const void *p, Py_ssize_t n) {
  Buffer *b = PyObject_New(Buffer, &BufferType);
  if (!b) return NULL;
  b->pin = pin;
  b->view = view;
  b->n = n;
  if (pin || view) {
    Py_XINCREF(pin);
    b->p = (void *)p;
    return (PyObject *)b;
  }
  b->p = aligned_alloc(64, ((size_t)n + 64) & ~(size_t)63);
  if (!b->p) {
    Py_DECREF(b);
    return PyErr_NoMemory();
  }
  memcpy(b->p, p, n);
  return (PyObject *)b;
}

// hot_arm arranges that children that user code forks are known as such. Both modules of this library call it.
int hot_arm(void) {
  static int armed;
  if (!armed && !pthread_atfork(before_fork, after_fork_parent, after_fork_child)) armed = 1;
  return armed;
}

// hot_add_types gives the module its classes. When it does not return 0, an exception is set.
int hot_add_types(PyObject *m) {
  static const struct { const char *name; PyTypeObject *type; } types[] = {
      {"Ref", &RefType}, {"Handle", &HandleType}, {"Buffer", &BufferType}, {NULL, &PinType}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (PyType_Ready(types[i].type)) return -1;
    if (types[i].name && PyModule_AddObjectRef(m, types[i].name, (PyObject *)types[i].type)) return -1;
  }
  return 0;
}
