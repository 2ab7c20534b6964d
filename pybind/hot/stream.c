// Generators: who calls one, and who runs it.
#include "py.h"

enum { STREAM_WAITS, STREAM_ITEM, STREAM_FAILED, STREAM_END }; // client.StreamState
enum { FEED_FULL = 1 };                                        // client.FeedState

// stream_next(generator's ref, timeout_ms) -> ref | None (timed out) | False (no more)
static PyObject *stream_next(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("stream_next", n, 2) || !hot_usable()) return NULL;
  unsigned char *gen = hot_ref_id(a[0]), id[HOT_OBJECT];
  if (!gen) return NULL;
  int64_t timeout = PyLong_AsLongLong(a[1]);
  if (timeout == -1 && PyErr_Occurred()) return NULL;
  hot_err e;
  int rc = HotStreamNext(gen, 0, id, &e), last = timeout == 0;
  int64_t end = timeout > 0 ? hot_now_ms() + timeout : 0;
  while (rc == STREAM_WAITS) {
    if (last) Py_RETURN_NONE;
    int64_t ms = hot_slice_of(timeout, end, &last);
    Py_BEGIN_ALLOW_THREADS rc = HotStreamNext(gen, ms, id, &e);
    Py_END_ALLOW_THREADS
    if (rc == STREAM_WAITS && PyErr_CheckSignals()) return NULL;
  }
  if (rc < 0) return hot_raise(&e);
  if (rc == STREAM_END) Py_RETURN_FALSE;
  return hot_new_ref(id);
}

// stream_peek(generator's ref) -> a ref that is ready when stream_next would not wait
static PyObject *stream_peek(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *gen = hot_ref_id(o), id[HOT_OBJECT];
  hot_err e;
  if (!gen || !hot_usable()) return NULL;
  return HotStreamPeek(gen, id, &e) < 0 ? hot_raise(&e) : hot_new_ref(id);
}

// stream_ahead(generator's ref, n) -> a ref to the item that is n items after the next one; nothing is taken
static PyObject *stream_ahead(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("stream_ahead", n, 2) || !hot_usable()) return NULL;
  unsigned char *gen = hot_ref_id(a[0]), id[HOT_OBJECT];
  if (!gen) return NULL;
  int64_t ahead = PyLong_AsLongLong(a[1]);
  if (ahead == -1 && PyErr_Occurred()) return NULL;
  hot_err e;
  return HotStreamAhead(gen, ahead, id, &e) < 0 ? hot_raise(&e) : hot_new_ref(id);
}

static PyObject *stream_state(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *gen = hot_ref_id(o);
  hot_err e;
  if (!gen || !hot_usable()) return NULL;
  int rc = HotStreamState(gen, &e);
  return rc < 0 ? hot_raise(&e) : PyLong_FromLong(rc);
}

// stream_drop(generator's ref): called by a destructor, so it only notes it
static PyObject *stream_drop(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *gen = hot_ref_id(o);
  if (!gen) return NULL;
  if (((Ref *)o)->batch) hot_let_go(gen, HOT_DROP_STREAM);
  Py_RETURN_NONE;
}

// feed_item(token, fmt, meta, bufs, nested, flags) -> state
static PyObject *feed_item(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  value_in in;
  hot_err e;
  int rc;
  if (!hot_arity("feed_item", n, 6) || !hot_usable()) return NULL;
  unsigned long long token = PyLong_AsUnsignedLongLong(a[0]);
  long flags = PyLong_AsLong(a[5]);
  if (PyErr_Occurred() || !hot_take_value(&in, a[1], a[2], a[3], a[4])) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = HotFeedItem(token, &in.v, (int)flags, &e);
  Py_END_ALLOW_THREADS
  hot_release_value(&in);
  return rc < 0 ? hot_raise(&e) : PyLong_FromLong(rc);
}

// feed_room(token) -> state, when it is not full any more
static PyObject *feed_room(PyObject *m, PyObject *o) {
  (void)m;
  unsigned long long token = PyLong_AsUnsignedLongLong(o);
  hot_err e;
  int rc = FEED_FULL;
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  while (rc == FEED_FULL) {
    Py_BEGIN_ALLOW_THREADS rc = HotFeedRoom(token, SLICE_MS, &e);
    Py_END_ALLOW_THREADS
    if (rc >= 0 && PyErr_CheckSignals()) return NULL;
  }
  return rc < 0 ? hot_raise(&e) : PyLong_FromLong(rc);
}

// feed_watch(token, notify) -> state; if that is full, async_drain gives notify when it is worth to look again
static PyObject *feed_watch(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  hot_err e;
  if (!hot_arity("feed_watch", n, 2) || !hot_usable()) return NULL;
  unsigned long long token = PyLong_AsUnsignedLongLong(a[0]), notify = PyLong_AsUnsignedLongLong(a[1]);
  if (PyErr_Occurred()) return NULL;
  int rc = HotFeedWatch(token, notify, &e);
  return rc < 0 ? hot_raise(&e) : PyLong_FromLong(rc);
}

static PyObject *feed_owner(PyObject *m, PyObject *o) {
  (void)m;
  unsigned long long token = PyLong_AsUnsignedLongLong(o);
  char *addr;
  hot_err e;
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  if (HotFeedOwner(token, &addr, &e) < 0) return hot_raise(&e);
  PyObject *s = PyUnicode_FromString(addr);
  free(addr);
  return s;
}

static PyObject *feed_raises(PyObject *m, PyObject *o) {
  (void)m;
  unsigned long long token = PyLong_AsUnsignedLongLong(o);
  uint64_t item;
  hot_err e;
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  if (HotFeedRaises(token, &item, &e) < 0) return hot_raise(&e);
  return PyLong_FromUnsignedLongLong(item);
}

static PyObject *feed_limit(PyObject *m, PyObject *o) {
  (void)m;
  unsigned long long limit = PyLong_AsUnsignedLongLong(o);
  hot_err e;
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  if (HotFeedLimit(limit, &e) < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

PyMethodDef hot_stream_functions[] = {
    FAST(stream_next, "stream_next"), FAST(stream_ahead, "stream_ahead"),
    {"stream_peek", stream_peek, METH_O, NULL},
    {"stream_state", stream_state, METH_O, NULL}, {"stream_drop", stream_drop, METH_O, NULL},
    FAST(feed_item, "feed_item"), {"feed_room", feed_room, METH_O, NULL}, FAST(feed_watch, "feed_watch"),
    {"feed_limit", feed_limit, METH_O, NULL}, {"feed_owner", feed_owner, METH_O, NULL},
    {"feed_raises", feed_raises, METH_O, NULL}, {0},
};
