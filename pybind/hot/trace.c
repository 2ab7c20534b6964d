// The C half's stamps, see core/internal/trace.
// Off, hot_trace is NULL and each stage costs a branch on it. On, Python's own stages are stamped by
// spans: callables that stand in for others and add no frame of Python.
#include "py.h"

hot_ring *hot_trace;

// A call as stamps name it, and what this thread has of one.
typedef struct {
  uint64_t key;
  uint32_t owner;
  int there;
} trace_call;

static __thread int64_t trace_called;    // when remote() was entered
static __thread trace_call trace_sent;   // submitted, and not yet given back to the program
static __thread trace_call trace_found_; // whose value is being made

int64_t trace_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void trace_put(hot_stamp s) {
  uint64_t n = __atomic_fetch_add(&hot_trace->next, 1, __ATOMIC_RELAXED);
  hot_trace->stamps[n & hot_trace->mask] = s;
}

// The call of an object's or a task's id.
static trace_call trace_of(const unsigned char *id) {
  trace_call c = {0, 0, 1};
  memcpy(&c.key, id, 8);
  memcpy(&c.owner, id + 12, 4); // behind the node's bytes, as OwnerOf of package trace
  c.key = __builtin_bswap64(c.key);
  c.owner = __builtin_bswap32(c.owner);
  return c;
}

static void trace_at(int stage, int64_t ns, trace_call c) {
  trace_put((hot_stamp){.ns = ns, .key = c.key, .owner = c.owner, .stage = (uint16_t)stage});
}

// Of the call that runs here, by its token.
void trace_running(int stage, uint64_t token) {
  trace_put((hot_stamp){.ns = trace_now(), .key = token, .stage = (uint16_t)stage});
}

void trace_taken(const hot_item *it) {
  trace_call c = trace_of(it->task);
  trace_put((hot_stamp){.ns = trace_now(), .key = c.key, .owner = c.owner, .aux = (uint32_t)it->token, .stage = TRACE_TAKEN});
}

// The call was submitted: its id is known now, so what went before can be stamped.
void trace_submitted(int64_t packed, const unsigned char *first) {
  trace_sent = trace_of(first);
  if (trace_called) trace_at(TRACE_CALLED, trace_called, trace_sent);
  trace_at(TRACE_PACKED, packed, trace_sent);
  trace_called = 0;
}

// The value that was found last has become an object: of a list's, when the next one is asked for.
void trace_given(void) {
  if (!trace_found_.there) return;
  trace_at(TRACE_GIVEN, trace_now(), trace_found_);
  trace_found_.there = 0;
}

void trace_found(const unsigned char *id) {
  trace_found_ = trace_of(id);
  trace_at(TRACE_FOUND, trace_now(), trace_found_);
}

static void trace_stage(int stage) {
  switch (stage) {
    case 0:
      break;
    case TRACE_CALLED:
      trace_called = trace_now();
      break;
    case TRACE_RETURNED:
      if (trace_sent.there) trace_at(TRACE_RETURNED, trace_now(), trace_sent);
      trace_sent.there = 0;
      break;
    case TRACE_GIVEN:
      trace_given();
      break;
    default:
      trace_running(stage, hot_parent_call());
  }
}

// ---- spans ------------------------------------------------------------------

typedef struct {
  PyObject_HEAD
  vectorcallfunc call;
  PyObject *target;
  int before, after;
} Span;

static PyObject *span_call(PyObject *self, PyObject *const *a, size_t n, PyObject *names) {
  Span *s = (Span *)self;
  if (hot_trace) trace_stage(s->before);
  PyObject *r = PyObject_Vectorcall(s->target, a, n, names);
  if (hot_trace) trace_stage(s->after);
  return r;
}

static void span_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  Py_CLEAR(((Span *)self)->target);
  Py_TYPE(self)->tp_free(self);
}

static int span_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(((Span *)self)->target);
  return 0;
}

static int span_clear(PyObject *self) {
  Py_CLEAR(((Span *)self)->target);
  return 0;
}

static PyObject *span_attr(PyObject *self, PyObject *name) { return PyObject_GetAttr(((Span *)self)->target, name); }

static PyTypeObject SpanType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "eagleray._hot.Span",
    .tp_doc = "A callable that stands in for another one and stamps a stage before and after it.",
    .tp_basicsize = sizeof(Span),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_dealloc = span_dealloc,
    .tp_traverse = span_traverse,
    .tp_clear = span_clear,
    .tp_getattro = span_attr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Span, call),
};

// span(callable, before, after): stages by number, 0 for none.
static PyObject *span(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *target;
  int before, after;
  if (!PyArg_ParseTuple(args, "Oii", &target, &before, &after)) return NULL;
  if (!PyCallable_Check(target)) return PyErr_Format(PyExc_TypeError, "a callable is needed, not %.100s", Py_TYPE(target)->tp_name);
  Span *s = PyObject_GC_New(Span, &SpanType);
  if (!s) return NULL;
  Py_INCREF(target);
  s->call = span_call;
  s->target = target;
  s->before = before;
  s->after = after;
  PyObject_GC_Track(s);
  return (PyObject *)s;
}

PyMethodDef hot_trace_functions[] = {{"span", span, METH_VARARGS, NULL}, {0}};

int hot_trace_types(void) { return PyType_Ready(&SpanType); }
