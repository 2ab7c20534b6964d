// The C half of the hot path: it turns Python objects into pointers and back.
// What it decides is only which interpreter lock to hold; all logic is in Go.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hot.h"
#include "_cgo_export.h"

#define SLICE_MS 100           // how long a wait may keep Ctrl-C waiting
#define BIG (64 << 10)         // bytes: above, the lock is released while copying
#define MANY 16                // arguments that need no malloc

static PyTypeObject *ref_type;      // eagleray.ObjectRef
static PyObject *hot_error;         // HotError(code, message)
static pthread_t main_thread;
static int have_main;
static int forked;                  // in a child that user code forked

// ---- errors -------------------------------------------------------------

static PyObject *raise_err(hot_err *e) {
  PyObject *type = hot_error ? hot_error : PyExc_RuntimeError;
  PyObject *args = hot_error ? Py_BuildValue("(ss)", e->code, e->message) : Py_BuildValue("(s)", e->message);
  free(e->code);
  free(e->message);
  if (args) {
    PyErr_SetObject(type, args);
    Py_DECREF(args);
  }
  return NULL;
}

static int usable(void) {
  if (!forked) return 1;
  PyErr_SetString(PyExc_RuntimeError,
                  "this process was forked from one that uses eagleray: its session does not reach here. "
                  "Call eagleray.init() before forking only in the parent, or use multiprocessing's spawn method");
  return 0;
}

static int arity(const char *name, Py_ssize_t n, Py_ssize_t want) {
  if (n == want) return 1;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, want, n);
  return 0;
}

// ---- what the program lets go of ------------------------------------------

static pthread_mutex_t drop_lock = PTHREAD_MUTEX_INITIALIZER;
static hot_drop *drops, *taken;
static int64_t drops_cap, taken_cap;
volatile int32_t hot_drop_count;

static void drop(const unsigned char *id, uint64_t view) {
  if (forked) return;
  pthread_mutex_lock(&drop_lock);
  int64_t n = hot_drop_count;
  if (n == drops_cap) {
    int64_t cap = drops_cap ? drops_cap * 2 : 256;
    hot_drop *p = realloc(drops, cap * sizeof *p);
    if (!p) { pthread_mutex_unlock(&drop_lock); return; }
    drops = p;
    drops_cap = cap;
  }
  if (id) memcpy(drops[n].id, id, HOT_OBJECT);
  drops[n].view = view;
  hot_drop_count = (int32_t)(n + 1);
  pthread_mutex_unlock(&drop_lock);
  if (n == 0 || n % 4096 == 4095) HotDropsWaiting();
}

int64_t hot_take_drops(hot_drop **out) {
  pthread_mutex_lock(&drop_lock);
  hot_drop *p = taken; taken = drops; drops = p;
  int64_t c = taken_cap; taken_cap = drops_cap; drops_cap = c;
  int64_t n = hot_drop_count;
  hot_drop_count = 0;
  pthread_mutex_unlock(&drop_lock);
  *out = taken;
  return n;
}

void hot_interrupt(void) {
  if (have_main) pthread_kill(main_thread, SIGUSR1);
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
  forked = 1;
  for (int i = 0; i < fds_n; i++) close(fds[i]);
  fds_n = 0;
  pthread_mutex_unlock(&fd_lock);
}

// ---- Ref: the base of ObjectRef -------------------------------------------

typedef struct {
  PyObject_HEAD
  PyObject *weak;
  unsigned char id[HOT_OBJECT];
  char counted; // the core counts this one
} Ref;

static void ref_dealloc(PyObject *self) {
  Ref *r = (Ref *)self;
  if (r->weak) PyObject_ClearWeakRefs(self);
  if (r->counted) drop(r->id, 0);
  Py_TYPE(self)->tp_free(self); // a subclass's own dealloc counts its type
}

static PyObject *ref_binary(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)((Ref *)self)->id, HOT_OBJECT);
}

static Py_hash_t ref_hash(PyObject *self) {
  uint64_t a, b;
  memcpy(&a, ((Ref *)self)->id, 8);
  memcpy(&b, ((Ref *)self)->id + 8, 8);
  a = __builtin_bswap64(a) * 0x9E3779B97F4A7C15ull ^ b;
  return (Py_hash_t)(a == (uint64_t)-1 ? 0 : a);
}

static PyTypeObject RefType;

static PyObject *ref_compare(PyObject *a, PyObject *b, int op) {
  if (!PyObject_TypeCheck(b, &RefType) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  int same = memcmp(((Ref *)a)->id, ((Ref *)b)->id, HOT_OBJECT) == 0;
  return PyBool_FromLong(same == (op == Py_EQ));
}

static PyMethodDef ref_methods[] = {
    {"binary", ref_binary, METH_NOARGS, "The 28 bytes of the object's id."},
    {0},
};

static PyTypeObject RefType = {
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

static PyObject *new_ref(const unsigned char *id) {
  PyTypeObject *t = ref_type ? ref_type : &RefType;
  Ref *r = (Ref *)t->tp_alloc(t, 0);
  if (!r) { drop(id, 0); return NULL; }
  memcpy(r->id, id, HOT_OBJECT);
  r->counted = 1;
  return (PyObject *)r;
}

static unsigned char *ref_id(PyObject *o) {
  if (PyObject_TypeCheck(o, &RefType)) return ((Ref *)o)->id;
  PyErr_Format(PyExc_TypeError, "an ObjectRef is needed, not %.100s", Py_TYPE(o)->tp_name);
  return NULL;
}

// ---- Handle: one counted handle of an actor --------------------------------

typedef struct {
  PyObject_HEAD
  unsigned char actor[HOT_ACTOR];
  unsigned char token[HOT_OBJECT];
  char counted; // through the token; else by the actor's id
} Handle;

static void handle_dealloc(PyObject *self) {
  Handle *h = (Handle *)self;
  if (h->counted) drop(h->token, 0);
  else if (!forked) HotActorClose(h->actor);
  Py_TYPE(self)->tp_free(self);
}

static PyObject *handle_actor(PyObject *self, void *unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((char *)((Handle *)self)->actor, HOT_ACTOR);
}

static PyGetSetDef handle_attrs[] = {{"actor_id", handle_actor, NULL, "16 bytes", NULL}, {0}};

static PyTypeObject HandleType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Handle",
    .tp_doc = "One counted handle of an actor.",
    .tp_basicsize = sizeof(Handle),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = handle_dealloc,
    .tp_getset = handle_attrs,
};

static PyObject *new_handle(const unsigned char *actor, const unsigned char *token) {
  static const unsigned char none[HOT_OBJECT];
  Handle *h = PyObject_New(Handle, &HandleType);
  if (!h) return NULL;
  memcpy(h->actor, actor, HOT_ACTOR);
  memcpy(h->token, token, HOT_OBJECT);
  h->counted = memcmp(token, none, HOT_OBJECT) != 0;
  return (PyObject *)h;
}

// ---- Buffer: a read-only view of a value's buffer ---------------------------

typedef struct {
  PyObject_HEAD
  uint64_t view;
} Pin; // gives the view of an arena object back

static void pin_dealloc(PyObject *self) {
  drop(NULL, ((Pin *)self)->view);
  Py_TYPE(self)->tp_free(self);
}

static PyTypeObject PinType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Pin",
    .tp_basicsize = sizeof(Pin),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = pin_dealloc,
};

typedef struct {
  PyObject_HEAD
  PyObject *pin; // NULL: memory is ours
  void *p;
  Py_ssize_t n;
} Buffer;

static void buffer_dealloc(PyObject *self) {
  Buffer *b = (Buffer *)self;
  if (b->pin) Py_DECREF(b->pin);
  else free(b->p);
  Py_TYPE(self)->tp_free(self);
}

static int buffer_get(PyObject *self, Py_buffer *v, int flags) {
  Buffer *b = (Buffer *)self;
  return PyBuffer_FillInfo(v, self, b->p, b->n, 1, flags);
}

static Py_ssize_t buffer_len(PyObject *self) { return ((Buffer *)self)->n; }

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
};

// new_buffer views memory under a pin, or copies it when there is none.
static PyObject *new_buffer(PyObject *pin, const void *p, Py_ssize_t n) {
  Buffer *b = PyObject_New(Buffer, &BufferType);
  if (!b) return NULL;
  b->pin = pin;
  b->n = n;
  if (pin) {
    Py_INCREF(pin);
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

// ---- envelopes --------------------------------------------------------------

// A reader of the few msgpack forms that a header has; ok turns 0 on anything else.
typedef struct { const unsigned char *p, *end; int ok; } reader;

static uint64_t be(reader *r, int n) {
  uint64_t v = 0;
  if (r->end - r->p < n) { r->ok = 0; return 0; }
  while (n--) v = v << 8 | *r->p++;
  return v;
}

static uint64_t rd_len(reader *r, unsigned char fix, unsigned char mask, unsigned char first) {
  unsigned char t = (unsigned char)be(r, 1);
  if (fix && (t & ~mask) == fix) return t & mask;
  if (t >= first && t < first + 3) return be(r, 1 << (t - first));
  r->ok = 0;
  return 0;
}

static uint64_t rd_uint(reader *r) {
  unsigned char t = (unsigned char)be(r, 1);
  if (t < 128) return t;
  if (t >= 0xcc && t <= 0xcf) return be(r, 1 << (t - 0xcc));
  r->ok = 0;
  return 0;
}

static uint64_t rd_array(reader *r) {
  unsigned char t = (unsigned char)be(r, 1);
  if ((t & 0xf0) == 0x90) return t & 15;
  if (t == 0xdc) return be(r, 2);
  if (t == 0xdd) return be(r, 4);
  r->ok = 0;
  return 0;
}

// triple makes (fmt, meta, bufs or None) of a found value.
static PyObject *triple(hot_found *f) {
  PyObject *pin = NULL, *meta = NULL, *bufs = NULL, *out = NULL;
  if (f->view) {
    Pin *p = PyObject_New(Pin, &PinType);
    if (!p) { drop(NULL, f->view); return NULL; }
    p->view = f->view;
    pin = (PyObject *)p;
  }
  if (f->n == 0) { // no arguments, no value
    PyObject *none = PyBytes_FromStringAndSize(NULL, 0);
    if (none) out = Py_BuildValue("(iNO)", 0, none, Py_None);
    Py_XDECREF(pin);
    return out;
  }
  const unsigned char *base = (const unsigned char *)f->env;
  reader r = {base, base + f->n, 1};
  uint64_t fields = rd_array(&r), version = rd_uint(&r), fmt = rd_uint(&r);
  uint64_t n = rd_len(&r, 0, 0, 0xc4);
  if (!r.ok || fields != 4 || version != 1 || (uint64_t)(r.end - r.p) < n) goto bad;
  if (pin && n > BIG) meta = new_buffer(pin, r.p, (Py_ssize_t)n);
  else meta = PyBytes_FromStringAndSize((const char *)r.p, (Py_ssize_t)n);
  if (!meta) goto done;
  r.p += n;
  uint64_t count = rd_array(&r);
  if (!r.ok || count > (uint64_t)(r.end - r.p)) goto bad;
  if (count == 0) {
    bufs = Py_None;
    Py_INCREF(bufs);
  } else {
    bufs = PyTuple_New((Py_ssize_t)count);
    if (!bufs) goto done;
    reader lens = r;
    for (uint64_t i = 0; i < count; i++) rd_uint(&r);
    uint64_t at = (uint64_t)(r.p - base);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t size = rd_uint(&lens);
      at = (at + 63) & ~(uint64_t)63;
      if (!r.ok || at > (uint64_t)f->n || size > (uint64_t)f->n - at) goto bad;
      PyObject *b = new_buffer(pin, base + at, (Py_ssize_t)size);
      if (!b) goto done;
      PyTuple_SET_ITEM(bufs, (Py_ssize_t)i, b);
      at += size;
    }
  }
  out = PyTuple_New(3);
  if (out) {
    PyTuple_SET_ITEM(out, 0, PyLong_FromUnsignedLongLong(fmt));
    PyTuple_SET_ITEM(out, 1, meta);
    PyTuple_SET_ITEM(out, 2, bufs);
    meta = bufs = NULL;
  }
  goto done;
bad:
  PyErr_SetString(PyExc_RuntimeError, "malformed object envelope");
done:
  Py_XDECREF(pin);
  Py_XDECREF(meta);
  Py_XDECREF(bufs);
  return out;
}

// ---- values on their way in ----------------------------------------------------

typedef struct {
  hot_value v;
  Py_buffer meta;
  Py_buffer few[MANY], *views;
  hot_buf few_bufs[MANY];
  unsigned char few_ids[MANY * HOT_OBJECT], *idsp;
  int nviews;
  int64_t bytes;
} value_in;

// ids of a tuple of ObjectRefs and Handles (or None); few has room for MANY.
static int take_ids(PyObject *o, unsigned char *few, unsigned char **heap, int64_t *count) {
  *count = 0;
  *heap = NULL;
  if (o == Py_None) return 1;
  if (!PyTuple_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "references come as a tuple or None");
    return 0;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(o);
  unsigned char *p = few;
  if (n > MANY) {
    p = *heap = malloc((size_t)n * HOT_OBJECT);
    if (!p) { PyErr_NoMemory(); return 0; }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = PyTuple_GET_ITEM(o, i);
    const unsigned char *id;
    if (Py_TYPE(x) == &HandleType) {
      if (!((Handle *)x)->counted) continue;
      id = ((Handle *)x)->token;
    } else if (!(id = ref_id(x))) {
      free(*heap);
      *heap = NULL;
      return 0;
    }
    memcpy(p + *count * HOT_OBJECT, id, HOT_OBJECT);
    ++*count;
  }
  return 1;
}

static void release_value(value_in *in) {
  for (int i = 0; i < in->nviews; i++) PyBuffer_Release(&in->views[i]);
  if (in->views && in->views != in->few) free(in->views);
  if (in->v.bufs && in->v.bufs != in->few_bufs) free(in->v.bufs);
  if (in->meta.obj) PyBuffer_Release(&in->meta);
  free(in->idsp);
}

static int take_value(value_in *in, PyObject *fmt, PyObject *meta, PyObject *bufs, PyObject *nested) {
  memset(&in->v, 0, sizeof in->v);
  in->meta.obj = NULL;
  in->views = NULL;
  in->idsp = NULL;
  in->nviews = 0;
  long f = PyLong_AsLong(fmt);
  if (f == -1 && PyErr_Occurred()) return 0;
  in->v.fmt = (int32_t)f;
  if (PyObject_GetBuffer(meta, &in->meta, PyBUF_SIMPLE)) { in->meta.obj = NULL; return 0; }
  in->v.meta.p = in->meta.buf;
  in->v.meta.n = in->meta.len;
  in->bytes = in->meta.len;
  if (bufs != Py_None) {
    if (!PyTuple_Check(bufs)) {
      PyErr_SetString(PyExc_TypeError, "buffers come as a tuple or None");
      goto fail;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(bufs);
    in->views = in->few;
    in->v.bufs = in->few_bufs;
    if (n > MANY) {
      in->views = malloc((size_t)n * sizeof *in->views);
      in->v.bufs = malloc((size_t)n * sizeof *in->v.bufs);
      if (!in->views || !in->v.bufs) { PyErr_NoMemory(); goto fail; }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
      Py_buffer *b = &in->views[i];
      if (PyObject_GetBuffer(PyTuple_GET_ITEM(bufs, i), b, PyBUF_ANY_CONTIGUOUS)) goto fail;
      in->nviews++;
      in->v.bufs[i].p = b->buf;
      in->v.bufs[i].n = b->len;
      in->bytes += b->len;
    }
    in->v.nbufs = (int32_t)n;
  }
  if (!take_ids(nested, in->few_ids, &in->idsp, &in->v.nnested)) goto fail;
  in->v.nested = in->idsp ? in->idsp : in->few_ids;
  return 1;
fail:
  release_value(in);
  return 0;
}

static PyObject *refs_of(unsigned char *first, int n) {
  if (n == 0) Py_RETURN_NONE;
  if (n == 1) return new_ref(first);
  PyObject *out = PyTuple_New(n);
  uint64_t count;
  memcpy(&count, first, 8);
  count = __builtin_bswap64(count);
  for (int i = 0; i < n; i++) {
    unsigned char id[HOT_OBJECT];
    memcpy(id, first, HOT_OBJECT);
    uint64_t c = __builtin_bswap64(count + (uint64_t)i);
    uint32_t index = __builtin_bswap32((uint32_t)i + 1);
    memcpy(id, &c, 8);
    memcpy(id + 24, &index, 4);
    if (!out) { drop(id, 0); continue; }
    PyObject *r = new_ref(id);
    if (!r) Py_CLEAR(out);
    else PyTuple_SET_ITEM(out, i, r);
  }
  return out;
}

#define UNLOCKED(big, expr)                      \
  do {                                           \
    if (big) {                                   \
      Py_BEGIN_ALLOW_THREADS expr;               \
      Py_END_ALLOW_THREADS                       \
    } else {                                     \
      expr;                                      \
    }                                            \
  } while (0)

static PyObject *start(PyObject *const *a, unsigned char *actor, PyObject *tmpl) {
  value_in in;
  hot_call k;
  hot_err e;
  unsigned char few[MANY * HOT_OBJECT], *heap, first[HOT_OBJECT];
  int32_t n = 0;
  int rc;
  if (!usable()) return NULL;
  k.tmpl = PyLong_AsLongLong(tmpl);
  if (k.tmpl == -1 && PyErr_Occurred()) return NULL;
  if (!take_value(&in, a[0], a[1], a[2], a[4])) return NULL;
  if (!take_ids(a[3], few, &heap, &k.ndeps)) { release_value(&in); return NULL; }
  k.deps = heap ? heap : few;
  k.args = in.v;
  UNLOCKED(in.bytes > BIG, rc = HotSubmit(&k, actor, first, &n, &e));
  free(heap);
  release_value(&in);
  if (rc < 0) return raise_err(&e);
  return refs_of(first, n);
}

static PyObject *submit(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!arity("submit", n, 6)) return NULL;
  return start(a + 1, NULL, a[0]);
}

static PyObject *call(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!arity("call", n, 7)) return NULL;
  if (Py_TYPE(a[0]) != &HandleType) {
    PyErr_SetString(PyExc_TypeError, "call() needs a Handle");
    return NULL;
  }
  return start(a + 2, ((Handle *)a[0])->actor, a[1]);
}

static PyObject *put(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  value_in in;
  hot_err e;
  unsigned char id[HOT_OBJECT];
  int rc;
  if (!arity("put", n, 4) || !usable() || !take_value(&in, a[0], a[1], a[2], a[3])) return NULL;
  UNLOCKED(in.bytes > BIG, rc = HotPut(&in.v, id, &e));
  release_value(&in);
  if (rc < 0) return raise_err(&e);
  return new_ref(id);
}

// left is what remains of a timeout, at most one slice; -1: for ever.
static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t slice_of(int64_t timeout, int64_t end, int *last) {
  *last = 0;
  if (timeout < 0) return SLICE_MS;
  int64_t left = end - now_ms();
  if (left <= SLICE_MS) *last = 1;
  if (left < 0) left = 0;
  return left < SLICE_MS ? left : SLICE_MS;
}

static PyObject *get(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!arity("get", n, 2) || !usable()) return NULL;
  unsigned char *id = ref_id(a[0]);
  if (!id) return NULL;
  int64_t timeout = PyLong_AsLongLong(a[1]);
  if (timeout == -1 && PyErr_Occurred()) return NULL;
  hot_found f = {0};
  hot_err e;
  int rc = HotTryGet(id, &f, &e), last;
  int64_t end = timeout > 0 ? now_ms() + timeout : 0;
  while (rc == 1) {
    int64_t ms = slice_of(timeout, timeout == 0 ? now_ms() : end, &last);
    Py_BEGIN_ALLOW_THREADS rc = HotGet(id, ms, &f, &e);
    Py_END_ALLOW_THREADS
    if (rc == 1) {
      if (PyErr_CheckSignals()) return NULL;
      if (last) Py_RETURN_NONE;
    }
  }
  if (rc < 0) return raise_err(&e);
  return triple(&f);
}

// wait_on waits for a list; ready gets a byte per reference.
static int wait_on(PyObject *list, int64_t need, int64_t timeout, int all, char **ready, int64_t *hopeless, int *timed_out) {
  if (!PyList_Check(list)) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return 0;
  }
  Py_ssize_t n = PyList_GET_SIZE(list);
  unsigned char *p = malloc((size_t)n * HOT_OBJECT + 1);
  *ready = calloc((size_t)n + 1, 1);
  int good = p && *ready;
  if (!good) PyErr_NoMemory();
  for (Py_ssize_t i = 0; good && i < n; i++) {
    unsigned char *id = ref_id(PyList_GET_ITEM(list, i));
    if (id) memcpy(p + i * HOT_OBJECT, id, HOT_OBJECT);
    else good = 0;
  }
  int64_t end = timeout > 0 ? now_ms() + timeout : 0;
  while (good) {
    int last, rc;
    hot_err e;
    int64_t ms = slice_of(timeout, timeout == 0 ? now_ms() : end, &last);
    Py_BEGIN_ALLOW_THREADS rc = HotWait(p, n, need, ms, all, *ready, hopeless, &e);
    Py_END_ALLOW_THREADS
    if (rc < 0) {
      raise_err(&e);
      good = 0;
      break;
    }
    if (rc == 0 || last) {
      *timed_out = rc != 0;
      break;
    }
    if (PyErr_CheckSignals()) good = 0;
  }
  free(p);
  if (!good) { free(*ready); *ready = NULL; }
  return good;
}

static PyObject *wait_(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!arity("wait", n, 3) || !usable()) return NULL;
  int64_t need = PyLong_AsLongLong(a[1]), timeout = PyLong_AsLongLong(a[2]), hopeless = 0;
  if (PyErr_Occurred()) return NULL;
  char *ready;
  int late;
  if (!wait_on(a[0], need, timeout, 0, &ready, &hopeless, &late)) return NULL;
  PyObject *list = PyList_New(0);
  Py_ssize_t size = PyList_GET_SIZE(a[0]);
  for (Py_ssize_t i = 0; list && i < size && PyList_GET_SIZE(list) < need; i++) {
    if (!ready[i]) continue;
    PyObject *x = PyLong_FromSsize_t(i);
    if (!x || PyList_Append(list, x)) Py_CLEAR(list);
    Py_XDECREF(x);
  }
  free(ready);
  return list ? Py_BuildValue("(NL)", list, (long long)hopeless) : NULL;
}

static PyObject *wait_all(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!arity("wait_all", n, 2) || !usable()) return NULL;
  int64_t timeout = PyLong_AsLongLong(a[1]), hopeless = 0;
  if (PyErr_Occurred()) return NULL;
  char *ready;
  if (!PyList_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "a list of ObjectRefs is needed");
    return NULL;
  }
  int late;
  if (!wait_on(a[0], PyList_GET_SIZE(a[0]), timeout, 1, &ready, &hopeless, &late)) return NULL;
  free(ready);
  return PyBool_FromLong(!late);
}

static PyObject *ready_(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *id = ref_id(o);
  if (!id || !usable()) return NULL;
  char mark = 0;
  int64_t hopeless = 0;
  hot_err e;
  if (HotWait(id, 1, 1, 0, 0, &mark, &hopeless, &e) < 0) return raise_err(&e);
  return PyBool_FromLong(mark);
}

#include "control.h"
#include "worker.h"

#define FAST(f, name) {name, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {
    FAST(submit, "submit"), FAST(call, "call"), FAST(put, "put"), FAST(get, "get"), FAST(wait_, "wait"),
    FAST(wait_all, "wait_all"), {"ready", ready_, METH_O, NULL},
    CONTROL_FUNCTIONS WORKER_FUNCTIONS {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_hot", "The hot path; see docs/hot-api.md.", -1, functions, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit__hot(void) {
  static int armed;
  if (PyType_Ready(&RefType) || PyType_Ready(&HandleType) || PyType_Ready(&BufferType) || PyType_Ready(&PinType)) return NULL;
  PyObject *m = PyModule_Create(&module);
  if (!m) return NULL;
  Py_INCREF(&RefType);
  Py_INCREF(&HandleType);
  Py_INCREF(&BufferType);
  if (PyModule_AddObject(m, "Ref", (PyObject *)&RefType) || PyModule_AddObject(m, "Handle", (PyObject *)&HandleType) ||
      PyModule_AddObject(m, "Buffer", (PyObject *)&BufferType))
    return NULL;
  if (!armed && !pthread_atfork(before_fork, after_fork_parent, after_fork_child)) armed = 1;
  return m;
}
