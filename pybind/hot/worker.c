// The functions of a worker: next_task, reply and others.
#include "py.h"

static PyObject *text_at(uintptr_t p, int64_t n) { return PyUnicode_DecodeUTF8(p ? (const char *)p : "", (Py_ssize_t)n, "replace"); }

void hot_free_item(hot_item *it) {
  free(it->deps);
  free(it->blob);
}

// deps_of makes a tuple of the triples of the dependencies, or None when there are none.
static PyObject *deps_of(hot_item *it) {
  if (it->ndeps == 0) Py_RETURN_NONE;
  PyObject *t = PyTuple_New((Py_ssize_t)it->ndeps);
  for (int64_t i = 0; i < it->ndeps; i++) {
    PyObject *x = t ? hot_triple(&it->deps[i]) : NULL;
    if (x) PyTuple_SET_ITEM(t, (Py_ssize_t)i, x);
    else Py_CLEAR(t);
  }
  return t;
}

// some returns p, or NULL when all its bytes are 0.
static const char *some(const unsigned char *p, int n) {
  for (int i = 0; i < n; i++)
    if (p[i]) return (const char *)p;
  return NULL;
}

// kind_text returns the interned name of a kind of call, so that comparing it with another one compares addresses.
static PyObject *kind_text(int kind) {
  static PyObject *task, *method;
  PyObject **text = kind == 1 ? &task : &method;
  if (!*text) *text = PyUnicode_InternFromString(kind == 1 ? "task" : "method");
  Py_XINCREF(*text);
  return *text;
}

static PyObject *bytes_or_none(const void *p, Py_ssize_t n) {
  if (!p) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(p, n);
}

// call_tuple makes the tuple of a task or a method. Every call comes here, so it is built without a format string.
static PyObject *call_tuple(hot_item *it, PyObject *args, PyObject *deps) {
  enum { KIND, TOKEN, KEY, NAME, FMT, META, BUFFERS, DEPS, RETURNS, TASK, EXTRA, FIELDS };
  PyObject *out = PyTuple_New(FIELDS);
  if (!out) return NULL;
  int task = it->kind == 1;
  PyTuple_SET_ITEM(out, KIND, kind_text(it->kind));
  PyTuple_SET_ITEM(out, TOKEN, PyLong_FromUnsignedLongLong(it->token));
  PyTuple_SET_ITEM(out, KEY, task ? PyBytes_FromStringAndSize((const char *)it->fid, HOT_FID) : text_at(it->method, it->method_n));
  PyTuple_SET_ITEM(out, NAME, text_at(it->name, it->name_n));
  for (int i = 0; i < 3; i++) PyTuple_SET_ITEM(out, FMT + i, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  PyTuple_SET_ITEM(out, DEPS, Py_NewRef(deps));
  PyTuple_SET_ITEM(out, RETURNS, PyLong_FromLong((long)it->returns));
  PyTuple_SET_ITEM(out, TASK, PyBytes_FromStringAndSize((const char *)it->task, HOT_TASK));
  PyTuple_SET_ITEM(out, EXTRA, task ? PyLong_FromLongLong(it->max_calls) : bytes_or_none(some(it->fid, HOT_FID), HOT_FID));
  for (int i = 0; i < FIELDS; i++)
    if (!PyTuple_GET_ITEM(out, i)) { // no memory
      Py_DECREF(out);
      return NULL;
    }
  return out;
}

PyObject *hot_item_tuple(hot_item *it) {
  PyObject *out = NULL, *args = NULL, *deps = NULL;
  if (it->kind == 3) return Py_BuildValue("(sy#)", "assign", it->blob, (Py_ssize_t)it->blob_n);
  if (it->kind == 6) return Py_BuildValue("(sy#)", "forget", it->blob, (Py_ssize_t)it->blob_n);
  if (it->kind == 5) return Py_BuildValue("(ss#)", "exit", it->blob, (Py_ssize_t)it->blob_n);
  args = hot_triple(&it->args);
  deps = args ? deps_of(it) : NULL;
  if (!deps) goto done;
  switch (it->kind) {
    case 1:
    case 2:
      out = call_tuple(it, args, deps);
      break;
    case 4:
      out = Py_BuildValue("(sKy#OOOO)", "actor", (unsigned long long)it->token, it->blob, (Py_ssize_t)it->blob_n, PyTuple_GET_ITEM(args, 0),
                          PyTuple_GET_ITEM(args, 1), PyTuple_GET_ITEM(args, 2), deps);
      break;
    default:
      PyErr_Format(PyExc_RuntimeError, "unknown item %d", it->kind);
  }
done:
  Py_XDECREF(args);
  Py_XDECREF(deps);
  if (TRACING && (it->kind == 1 || it->kind == 2)) trace_taken(it);
  return out;
}

// next_task(timeout_ms[, concurrency group])
static PyObject *next_task(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (n < 1 || n > 2) {
    PyErr_SetString(PyExc_TypeError, "next_task takes a timeout and the name of a concurrency group");
    return NULL;
  }
  int64_t timeout = PyLong_AsLongLong(a[0]);
  Py_ssize_t group_n = 0;
  const char *group = n < 2 ? NULL : PyUnicode_AsUTF8AndSize(a[1], &group_n); // as long as the caller holds the text
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  int64_t ms = timeout < 0 ? 1000 : timeout < SLICE_MS ? timeout : SLICE_MS, end = -1;
  int last = timeout >= 0 && timeout <= SLICE_MS;
  title_waits();
  for (;;) {
    hot_item it;
    hot_err e;
    int rc;
    memset(&it, 0, sizeof it);
    Py_BEGIN_ALLOW_THREADS rc = HotNextTask(ms, (char *)group, group_n, &it, &e);
    Py_END_ALLOW_THREADS
    if (rc < 0) return hot_raise(&e);
    if (rc == 0) {
      hot_running_call = it.kind == 1 || it.kind == 2 ? it.token : 0;
      title_runs(&it);
      PyObject *t = hot_item_tuple(&it);
      hot_free_item(&it);
      return t;
    }
    if (PyErr_CheckSignals()) return NULL;
    if (last) Py_RETURN_NONE;
    if (timeout < 0) continue;
    if (end < 0) end = hot_now_ms() + timeout - ms; // the clock is read by a wait only: a call that is there already costs none
    ms = hot_slice_of(timeout, end, &last);
  }
}

static PyObject *function(PyObject *m, PyObject *o) {
  (void)m;
  char *fid;
  Py_ssize_t n;
  uintptr_t p = 0;
  int64_t size = 0;
  hot_err e;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &fid, &n)) return NULL;
  if (n != HOT_FID) {
    PyErr_SetString(PyExc_ValueError, "a function id has 16 bytes");
    return NULL;
  }
  if (HotFunction((unsigned char *)fid, &p, &size, &e) < 0) return hot_raise(&e);
  return PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)size);
}

// reply(token, results, flags): results is a tuple of (fmt, meta, bufs, nested).
static PyObject *reply(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!hot_arity("reply", n, 3) || !hot_usable()) return NULL;
  unsigned long long token = PyLong_AsUnsignedLongLong(a[0]);
  long flags = PyLong_AsLong(a[2]);
  if (PyErr_Occurred()) return NULL;
  if (TRACING) trace_running(TRACE_ENCODED, token);
  if (!PyTuple_Check(a[1])) {
    PyErr_SetString(PyExc_TypeError, "results come as a tuple");
    return NULL;
  }
  Py_ssize_t count = PyTuple_GET_SIZE(a[1]), got = 0;
  value_in one, *in = count > 1 ? malloc((size_t)count * sizeof *in) : &one;
  hot_value few, *v = count > 1 ? malloc((size_t)count * sizeof *v) : &few;
  PyObject *out = NULL;
  if (!in || !v) {
    PyErr_NoMemory();
    goto done;
  }
  for (; got < count; got++) {
    PyObject *r = PyTuple_GET_ITEM(a[1], got);
    if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) != 4) {
      PyErr_SetString(PyExc_TypeError, "a result is (fmt, meta, bufs, nested)");
      goto done;
    }
    if (!hot_take_value(&in[got], PyTuple_GET_ITEM(r, 0), PyTuple_GET_ITEM(r, 1), PyTuple_GET_ITEM(r, 2), PyTuple_GET_ITEM(r, 3))) goto done;
    v[got] = in[got].v;
  }
  hot_err e;
  int rc;
  if (hot_running_call == token) hot_running_call = 0;
  title_answered();
  Py_BEGIN_ALLOW_THREADS rc = HotReply(token, v, count, (int)flags, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) hot_raise(&e);
  else {
    out = Py_None;
    Py_INCREF(out);
  }
done:
  for (Py_ssize_t i = 0; in && i < got; i++) hot_release_value(&in[i]);
  if (in != &one) free(in);
  if (v != &few) free(v);
  return out;
}

// actor_ready(token, ok, message, pickled exception, what it is in short: empty if it is not large)
static PyObject *actor_ready(PyObject *m, PyObject *args) {
  (void)m;
  unsigned long long token;
  int good, rc;
  const char *message, *p, *brief;
  Py_ssize_t n, brief_n;
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "Kpsy#y#", &token, &good, &message, &p, &n, &brief, &brief_n)) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = HotActorReady(token, good, (char *)message, (void *)p, n, (void *)brief, brief_n, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

static PyObject *exiting(PyObject *m, PyObject *o) {
  (void)m;
  const char *reason = PyUnicode_AsUTF8(o);
  if (!reason || !hot_usable()) return NULL;
  Py_BEGIN_ALLOW_THREADS HotExiting((char *)reason);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

// last_calls(token): ends that call without an answer, lets no other call begin, and waits until the running calls have ended
static PyObject *last_calls(PyObject *m, PyObject *o) {
  (void)m;
  unsigned long long token = PyLong_AsUnsignedLongLong(o);
  if (PyErr_Occurred() || !hot_usable()) return NULL;
  for (;;) {
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = HotLastCalls(token, 1000);
    Py_END_ALLOW_THREADS
    if (rc == 0) Py_RETURN_NONE;
    if (PyErr_CheckSignals()) return NULL;
  }
}

// flush_on_exit(): the program is about to end the process; everything that it has said leaves the process first.
static PyObject *flush_on_exit(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  if (!hot_usable()) return NULL;
  Py_BEGIN_ALLOW_THREADS HotFlushOnExit();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyObject *current_cancelled(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  unsigned char task[HOT_TASK];
  if (!hot_usable()) return NULL;
  if (!HotCancelled(task)) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize((char *)task, HOT_TASK);
}

// is_cancelled(task): whether somebody cancelled the running call
static PyObject *is_cancelled(PyObject *m, PyObject *o) {
  (void)m;
  char *task;
  Py_ssize_t n;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &task, &n)) return NULL;
  if (n != HOT_TASK) {
    PyErr_SetString(PyExc_ValueError, "a task id has 24 bytes");
    return NULL;
  }
  return PyBool_FromLong(HotIsCancelled((unsigned char *)task));
}

// may_begin(): whether a call of an exclusive actor may begin now
static PyObject *may_begin(PyObject *m, PyObject *none) {
  (void)m, (void)none;
  return PyBool_FromLong(HotMayBegin());
}

// calls_in(variable): the context variable in which calls keep their token
static PyObject *calls_in(PyObject *m, PyObject *o) {
  (void)m;
  Py_INCREF(o);
  Py_XSETREF(hot_running_var, o);
  Py_RETURN_NONE;
}

PyMethodDef hot_worker_functions[] = {
    FAST(next_task, "next_task"), {"function", function, METH_O, NULL}, FAST(reply, "reply"),
    {"actor_ready", actor_ready, METH_VARARGS, NULL}, {"exiting", exiting, METH_O, NULL},
    {"flush_on_exit", flush_on_exit, METH_NOARGS, NULL}, {"last_calls", last_calls, METH_O, NULL},
    {"current_cancelled", current_cancelled, METH_NOARGS, NULL}, {"is_cancelled", is_cancelled, METH_O, NULL},
    {"may_begin", may_begin, METH_NOARGS, NULL}, {"calls_in", calls_in, METH_O, NULL}, {0},
};
