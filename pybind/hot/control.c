// Session, control calls, actors, asynchronous waits.
#include "py.h"

static PyObject *bytes_of(void *p, int64_t n) {
  PyObject *b = PyBytes_FromStringAndSize(p, (Py_ssize_t)n);
  free(p);
  return b;
}

// set_types(ObjectRef, HotError, package, library): the folders of the package and of the standard library; None: sites
// are not recorded.
static PyObject *set_types(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *ref, *error;
  const char *package, *library;
  if (!PyArg_ParseTuple(args, "O!Ozz", &PyType_Type, &ref, &error, &package, &library)) return NULL;
  if (!hot_record_sites(library ? package : NULL, library)) return PyErr_NoMemory();
  if (!PyType_IsSubtype((PyTypeObject *)ref, &RefType)) {
    PyErr_SetString(PyExc_TypeError, "ObjectRef must derive from Ref");
    return NULL;
  }
  Py_INCREF(ref);
  Py_INCREF(error);
  Py_XDECREF((PyObject *)hot_ref_type);
  Py_XDECREF(hot_error);
  hot_ref_type = (PyTypeObject *)ref;
  hot_no_garbage(hot_ref_type);
  hot_error = error;
  Py_RETURN_NONE;
}

static PyObject *connect_(PyObject *m, PyObject *o) {
  (void)m;
  char *p;
  Py_ssize_t n;
  void *out;
  int64_t size;
  hot_err e;
  int rc;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &p, &n)) return NULL;
  hot_main_thread = pthread_self();
  hot_have_main = 1;
  Py_BEGIN_ALLOW_THREADS rc = HotConnect(p, n, &out, &size, &e);
  Py_END_ALLOW_THREADS
  hot_trace = (hot_ring *)HotTrace();
  return rc < 0 ? hot_raise(&e) : bytes_of(out, size);
}

static PyObject *disconnect(PyObject *m, PyObject *o) {
  (void)m;
  int64_t ms = PyLong_AsLongLong(o);
  if (ms == -1 && PyErr_Occurred()) return NULL;
  if (hot_forked) Py_RETURN_NONE;
  Py_BEGIN_ALLOW_THREADS HotDisconnect(ms);
  Py_END_ALLOW_THREADS
  hot_session++;
  if (hot_drop_count) HotDropsWaiting(); // the next session must not take them for its own
  Py_RETURN_NONE;
}

static PyObject *connected(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  return PyBool_FromLong(!hot_forked && HotConnected());
}

// A control call runs to its end: Ctrl-C is seen when the daemon has answered.
static PyObject *rpc(PyObject *m, PyObject *args) {
  (void)m;
  const char *method, *body;
  Py_ssize_t n;
  long long ms;
  void *out;
  int64_t size;
  hot_err e;
  int rc;
  if (!hot_usable() || !PyArg_ParseTuple(args, "sy#L", &method, &body, &n, &ms)) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = HotRPC((char *)method, (void *)body, n, ms, &out, &size, &e);
  Py_END_ALLOW_THREADS
  return rc < 0 ? hot_raise(&e) : bytes_of(out, size);
}

static PyObject *template_(PyObject *m, PyObject *o) {
  (void)m;
  char *p;
  Py_ssize_t n;
  int64_t id;
  hot_err e;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &p, &n)) return NULL;
  if (HotTemplate(p, n, &id, &e) < 0) return hot_raise(&e);
  return PyLong_FromLongLong(id);
}

static PyObject *actor_create(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  value_in in;
  hot_call k = {0};
  hot_err e;
  unsigned char few[MANY * HOT_OBJECT], *heap, actor[HOT_ACTOR], token[HOT_OBJECT] = {0};
  char *spec;
  Py_ssize_t spec_n;
  void *meta = NULL;
  int64_t meta_n = 0;
  int rc;
  if (!hot_arity("actor_create", n, 6) || !hot_usable() || PyBytes_AsStringAndSize(a[0], &spec, &spec_n)) return NULL;
  if (!hot_take_value(&in, a[1], a[2], a[3], a[5])) return NULL;
  if (!hot_take_ids(a[4], few, MANY, &heap, &k.ndeps)) { hot_release_value(&in); return NULL; }
  k.deps = heap ? heap : few;
  k.args = in.v;
  k.args.site = hot_site();
  Py_BEGIN_ALLOW_THREADS rc = HotActorCreate(spec, spec_n, &k, actor, token, &meta, &meta_n, &e);
  Py_END_ALLOW_THREADS
  free(heap);
  hot_release_value(&in);
  if (rc < 0) return hot_raise(&e);
  if (rc == 1) return Py_BuildValue("(y#N)", actor, (Py_ssize_t)HOT_ACTOR, bytes_of(meta, meta_n));
  PyObject *h = hot_new_handle(actor, token);
  return h ? Py_BuildValue("(NO)", h, Py_None) : NULL;
}

// actor_handle(actor_id, token, name, max_pending_calls) -> Handle
static PyObject *actor_handle(PyObject *m, PyObject *args) {
  (void)m;
  const char *id, *tok, *name = "";
  Py_ssize_t n;
  long long limit = 0;
  unsigned char token[HOT_OBJECT];
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "y#s|sL", &id, &n, &tok, &name, &limit)) return NULL;
  if (n != HOT_ACTOR) {
    PyErr_SetString(PyExc_ValueError, "an actor id has 16 bytes");
    return NULL;
  }
  if (HotActorOpen((unsigned char *)id, (char *)tok, (char *)name, limit, hot_site(), token, &e) < 0) return hot_raise(&e);
  return hot_new_handle((const unsigned char *)id, token);
}

static PyObject *handle_export(PyObject *m, PyObject *o) {
  (void)m;
  if (Py_TYPE(o) != &HandleType) {
    PyErr_SetString(PyExc_TypeError, "a Handle is needed");
    return NULL;
  }
  if (!hot_usable()) return NULL;
  char *tok = HotActorToken(((Handle *)o)->actor);
  PyObject *r = Py_BuildValue("(y#s)", ((Handle *)o)->actor, (Py_ssize_t)HOT_ACTOR, tok);
  free(tok);
  return r;
}

static PyObject *actor_kill(PyObject *m, PyObject *args) {
  (void)m;
  const char *id;
  Py_ssize_t n;
  int no_restart, rc;
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "y#p", &id, &n, &no_restart)) return NULL;
  if (n != HOT_ACTOR) {
    PyErr_SetString(PyExc_ValueError, "an actor id has 16 bytes");
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS rc = HotActorKill((unsigned char *)id, no_restart, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

static PyObject *ref_export(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *id = hot_ref_id(o);
  char *addr;
  hot_err e;
  if (!id || !hot_usable()) return NULL;
  if (HotExport(id, &addr, &e) < 0) return hot_raise(&e);
  PyObject *r = Py_BuildValue("(y#s)", id, (Py_ssize_t)HOT_OBJECT, addr);
  free(addr);
  return r;
}

// ref_site(ref) -> where it was made, "" when that is not known
static PyObject *ref_site(PyObject *m, PyObject *o) {
  (void)m;
  unsigned char *id = hot_ref_id(o);
  if (!id || !hot_usable()) return NULL;
  char *text = HotSiteOf(id);
  PyObject *r = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  free(text);
  return r;
}

static PyObject *ref_import(PyObject *m, PyObject *args) {
  (void)m;
  const char *id, *addr;
  Py_ssize_t n;
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "y#s", &id, &n, &addr)) return NULL;
  if (n != HOT_OBJECT) {
    PyErr_SetString(PyExc_ValueError, "an object id has 28 bytes");
    return NULL;
  }
  if (HotImport((unsigned char *)id, (char *)addr, hot_site(), &e) < 0) return hot_raise(&e);
  return hot_new_ref((const unsigned char *)id);
}

// ref_bare(id28) -> ObjectRef that nobody counts: for ids that users make up.
static PyObject *ref_bare(PyObject *m, PyObject *args) {
  (void)m;
  const char *id;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "y#", &id, &n)) return NULL;
  if (n != HOT_OBJECT) {
    PyErr_SetString(PyExc_ValueError, "an object id has 28 bytes");
    return NULL;
  }
  PyTypeObject *t = hot_ref_type ? hot_ref_type : &RefType;
  Ref *r = (Ref *)t->tp_alloc(t, 0);
  if (r) memcpy(r->id, id, HOT_OBJECT);
  return (PyObject *)r;
}

static PyObject *cancel(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *o;
  int force, recursive;
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "Opp", &o, &force, &recursive)) return NULL;
  unsigned char *id = hot_ref_id(o);
  if (!id) return NULL;
  int rc;
  Py_BEGIN_ALLOW_THREADS rc = HotCancel(id, force, recursive, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return hot_raise(&e);
  Py_RETURN_NONE;
}

// forget(fid): nobody here can call the function any more; workers let go of it when its tasks have ended.
static PyObject *forget(PyObject *m, PyObject *o) {
  (void)m;
  char *fid;
  Py_ssize_t n;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &fid, &n)) return NULL;
  HotForget(fid, (int64_t)n);
  Py_RETURN_NONE;
}

// retire(template): nobody here can call the template any more.
static PyObject *retire(PyObject *m, PyObject *o) {
  (void)m;
  long long id = PyLong_AsLongLong(o);
  if ((id == -1 && PyErr_Occurred()) || !hot_usable()) return NULL;
  HotRetire(id);
  Py_RETURN_NONE;
}

// unload(fid): this worker keeps nothing any more that it made of the function.
static PyObject *unload(PyObject *m, PyObject *o) {
  (void)m;
  char *fid;
  Py_ssize_t n;
  if (!hot_usable() || PyBytes_AsStringAndSize(o, &fid, &n)) return NULL;
  if (n == HOT_FID) HotUnload((unsigned char *)fid);
  Py_RETURN_NONE;
}

static PyObject *next_event(PyObject *m, PyObject *o) {
  (void)m;
  int64_t ms = PyLong_AsLongLong(o), n = 0;
  void *p = NULL;
  hot_err e;
  int rc;
  if ((ms == -1 && PyErr_Occurred()) || !hot_usable()) return NULL;
  Py_BEGIN_ALLOW_THREADS rc = HotNextEvent(ms, &p, &n, &e);
  Py_END_ALLOW_THREADS
  if (rc < 0) return hot_raise(&e);
  if (rc == 1) Py_RETURN_NONE;
  return bytes_of(p, n);
}

static PyObject *async_fd(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  hot_err e;
  if (!hot_usable()) return NULL;
  int fd = HotAsyncFD(&e);
  return fd < 0 ? hot_raise(&e) : PyLong_FromLong(fd);
}

static PyObject *async_watch(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *o;
  unsigned long long token;
  hot_err e;
  if (!hot_usable() || !PyArg_ParseTuple(args, "OK", &o, &token)) return NULL;
  unsigned char *id = hot_ref_id(o);
  if (!id) return NULL;
  int rc = HotAsyncWatch(id, token, &e);
  return rc < 0 ? hot_raise(&e) : PyBool_FromLong(rc);
}

static PyObject *async_drain(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  void *p = NULL;
  int64_t n = 0;
  if (!hot_usable()) return NULL;
  HotAsyncDrain(&p, &n);
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (int64_t i = 0; list && i < n; i++) {
    PyObject *x = PyLong_FromUnsignedLongLong(((uint64_t *)p)[i]);
    if (!x) Py_CLEAR(list);
    else PyList_SET_ITEM(list, (Py_ssize_t)i, x);
  }
  free(p);
  return list;
}

PyMethodDef hot_control_functions[] = {
    {"set_types", set_types, METH_VARARGS, NULL}, {"connect", connect_, METH_O, NULL},
    {"disconnect", disconnect, METH_O, NULL}, {"connected", connected, METH_NOARGS, NULL},
    {"rpc", rpc, METH_VARARGS, NULL}, {"template", template_, METH_O, NULL}, FAST(actor_create, "actor_create"),
    {"actor_handle", actor_handle, METH_VARARGS, NULL}, {"handle_export", handle_export, METH_O, NULL},
    {"actor_kill", actor_kill, METH_VARARGS, NULL}, {"ref_export", ref_export, METH_O, NULL},
    {"ref_import", ref_import, METH_VARARGS, NULL}, {"ref_site", ref_site, METH_O, NULL},
    {"ref_bare", ref_bare, METH_VARARGS, NULL}, {"cancel", cancel, METH_VARARGS, NULL},
    {"forget", forget, METH_O, NULL}, {"retire", retire, METH_O, NULL}, {"unload", unload, METH_O, NULL},
    {"next_event", next_event, METH_O, NULL}, {"async_fd", async_fd, METH_NOARGS, NULL},
    {"async_watch", async_watch, METH_VARARGS, NULL}, {"async_drain", async_drain, METH_NOARGS, NULL}, {0},
};
