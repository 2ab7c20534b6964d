// What the C files of eagleray._hot share. It declares and holds no code, but for functions of a few instructions that
// every call passes.
#ifndef EAGLERAY_PY_H
#define EAGLERAY_PY_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "hot.h"
#include "kern.h"
#include "late.h"
#include "site.h"
#include "_cgo_export.h"

#define SLICE_MS 100           // how long a wait may keep Ctrl-C waiting
#define BIG (64 << 10)         // bytes: above, the lock is released while copying
#define MANY 16                // arguments that need no malloc
#define FEW 2                  // buffers, and references, of a value that need none: a task may have thousands of results

#define UNLOCKED(big, expr)                      \
  do {                                           \
    if (big) {                                   \
      Py_BEGIN_ALLOW_THREADS expr;               \
      Py_END_ALLOW_THREADS                       \
    } else {                                     \
      expr;                                      \
    }                                            \
  } while (0)

// A row of a table of functions.
#define FAST(f, name) {name, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

// Nothing here is seen outside of the library, so that a call of it costs no look into a table.
#pragma GCC visibility push(hidden)

// ---- the process ----------------------------------------------------------

extern PyTypeObject *hot_ref_type;         // eagleray.ObjectRef
extern PyObject *hot_error;                // HotError(code, message)
extern pthread_t hot_main_thread;
extern int hot_have_main;
extern int hot_forked;                     // in a child that user code forked
extern __thread uint64_t hot_running_call; // that this thread took, and has not answered
extern PyObject *hot_running_var;          // a context variable with it, in actors with an event loop

// ---- types ------------------------------------------------------------------

typedef struct {
  PyObject_HEAD
  PyObject *weak;
  unsigned char id[HOT_OBJECT];
  uint32_t place;          // in its batch; if it is counted alone, the number of its session
  struct ref_batch *batch; // &hot_single: counted alone; NULL: nobody counts it
} Ref;

typedef struct {
  PyObject_HEAD
  unsigned char actor[HOT_ACTOR];
  unsigned char token[HOT_OBJECT];
  char counted; // through the token; else by the actor's id
  uint32_t session;
} Handle;

typedef struct {
  PyObject_HEAD
  uint64_t view;
} Pin; // gives the view of an arena object back

extern PyTypeObject RefType, HandleType, PinType;
extern struct ref_batch hot_single; // that of references which the core counts one by one
extern uint32_t hot_session;        // the number of the process's session

// A value that comes from Python.
typedef struct {
  hot_value v;
  Py_buffer meta;
  Py_buffer few[FEW], *views;
  hot_buf few_bufs[FEW];
  unsigned char few_ids[FEW * HOT_OBJECT], *idsp;
  int nviews;
  int64_t bytes;
} value_in;

// A reader of the few msgpack forms that a header has; ok turns 0 on anything else.
typedef struct { const unsigned char *p, *end; int ok; } hot_reader;

typedef struct {
  int64_t ns;
  uint64_t key;
  uint32_t owner, aux, bytes;
  uint16_t stage, kind;
} hot_stamp;

typedef struct {
  uint64_t next, mask;
  uint64_t rest[6];
  hot_stamp stamps[];
} hot_ring;

extern hot_ring *hot_trace; // NULL: stages are not stamped

#define TRACING __builtin_expect(hot_trace != NULL, 0)

// ---- functions --------------------------------------------------------------

// py.c
int hot_unusable(void); // raises
int hot_wrong_arity(const char *name, Py_ssize_t n, Py_ssize_t want); // raises
PyObject *hot_raise(hot_err *e);
uint64_t hot_parent_of_coroutine(void);
int64_t hot_now_ms(void);
int64_t hot_slice_of(int64_t timeout, int64_t end, int *last);

// lists.c
int hot_ids_of(PyObject **items, Py_ssize_t n, const unsigned char **p);

// drops.c
void hot_let_go(const unsigned char *id, uint64_t view);
void hot_ref_gone(struct ref_batch *s, uint32_t place);

// objects.c
void hot_no_garbage(PyTypeObject *t);
PyObject *hot_new_ref(const unsigned char *id);
PyObject *hot_new_handle(const unsigned char *actor, const unsigned char *token);
PyObject *hot_new_buffer(PyObject *pin, uint64_t view, const void *p, Py_ssize_t n);
int hot_add_types(PyObject *m);

// title.c
void title_runs(const hot_item *it);
void title_waits(void);
void title_answered(void);

// trace.c
int64_t trace_now(void);
void trace_running(int stage, uint64_t token);
void trace_taken(const hot_item *it);
void trace_submitted(int64_t packed, const unsigned char *first);
void trace_given(void);
void trace_found(const unsigned char *id);
int hot_trace_types(void);

// values.c
PyObject *hot_triple(hot_found *f);
int hot_take_ids(PyObject *o, unsigned char *few, Py_ssize_t some, unsigned char **heap, int64_t *count);
void hot_release_value(value_in *in);
int hot_take_value(value_in *in, PyObject *fmt, PyObject *meta, PyObject *bufs, PyObject *nested);

// worker.c
void hot_free_item(hot_item *it);
PyObject *hot_item_tuple(hot_item *it);

extern PyMethodDef hot_control_functions[], hot_group_functions[], hot_list_functions[], hot_loop_functions[], hot_refbatch_functions[],
    hot_stream_functions[], hot_title_functions[], hot_trace_functions[], hot_worker_functions[];

#pragma GCC visibility pop

// ---- what every call passes -------------------------------------------------

static inline int hot_usable(void) { return hot_forked ? hot_unusable() : 1; }

static inline int hot_arity(const char *name, Py_ssize_t n, Py_ssize_t want) { return n == want ? 1 : hot_wrong_arity(name, n, want); }

// hot_parent_call returns the token of the call that runs here, whose child is what it submits.
static inline uint64_t hot_parent_call(void) { return hot_running_var ? hot_parent_of_coroutine() : hot_running_call; }

static inline unsigned char *hot_ref_id(PyObject *o) {
  if (PyObject_TypeCheck(o, &RefType)) return ((Ref *)o)->id;
  PyErr_Format(PyExc_TypeError, "an ObjectRef is needed, not %.100s", Py_TYPE(o)->tp_name);
  return NULL;
}

static inline uint64_t hot_big_endian(hot_reader *r, int n) {
  uint64_t v = 0;
  if (r->end - r->p < n) { r->ok = 0; return 0; }
  while (n--) v = v << 8 | *r->p++;
  return v;
}

#endif
