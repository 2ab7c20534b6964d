// Serialised values, on their way out and in.
#include "py.h"

// ---- envelopes --------------------------------------------------------------

static uint64_t rd_len(hot_reader *r, unsigned char fix, unsigned char mask, unsigned char first) {
  unsigned char t = (unsigned char)hot_big_endian(r, 1);
  if (fix && (t & ~mask) == fix) return t & mask;
  if (t >= first && t < first + 3) return hot_big_endian(r, 1 << (t - first));
  r->ok = 0;
  return 0;
}

static uint64_t rd_uint(hot_reader *r) {
  unsigned char t = (unsigned char)hot_big_endian(r, 1);
  if (t < 128) return t;
  if (t >= 0xcc && t <= 0xcf) return hot_big_endian(r, 1 << (t - 0xcc));
  r->ok = 0;
  return 0;
}

static uint64_t rd_array(hot_reader *r) {
  unsigned char t = (unsigned char)hot_big_endian(r, 1);
  if ((t & 0xf0) == 0x90) return t & 15;
  if (t == 0xdc) return hot_big_endian(r, 2);
  if (t == 0xdd) return hot_big_endian(r, 4);
  r->ok = 0;
  return 0;
}

// pin_of makes the pin of a view, which it takes over.
static PyObject *pin_of(uint64_t *view) {
  Pin *p = PyObject_New(Pin, &PinType);
  if (!p) return NULL;
  p->view = *view;
  *view = 0;
  return (PyObject *)p;
}

// small are the numbers of formats, made once.
static PyObject *format_of(uint64_t fmt) {
  static PyObject *small[16];
  if (fmt >= 16) return PyLong_FromUnsignedLongLong(fmt);
  if (!small[fmt] && !(small[fmt] = PyLong_FromUnsignedLongLong(fmt))) return NULL;
  Py_INCREF(small[fmt]);
  return small[fmt];
}

// hot_triple makes (fmt, meta, bufs or None) of a found value.
PyObject *hot_triple(hot_found *f) {
  PyObject *pin = NULL, *meta = NULL, *bufs = NULL, *out = NULL;
  uint64_t view = f->view; // ours until something of Python's has it
  if (f->n == 0) { // no arguments, no value
    PyObject *none = PyBytes_FromStringAndSize(NULL, 0);
    if (none) out = Py_BuildValue("(iNO)", 0, none, Py_None);
    if (view) hot_let_go(NULL, view);
    return out;
  }
  const unsigned char *base = (const unsigned char *)f->env;
  hot_reader r = {base, base + f->n, 1};
  uint64_t fields = rd_array(&r), version = rd_uint(&r), fmt = rd_uint(&r);
  uint64_t n = rd_len(&r, 0, 0, 0xc4);
  if (!r.ok || fields != 4 || version != 1 || (uint64_t)(r.end - r.p) < n) goto bad;
  const unsigned char *head = r.p;
  r.p += n;
  uint64_t count = rd_array(&r);
  if (!r.ok || count > (uint64_t)(r.end - r.p)) goto bad;
  // What was lent and lies so that its buffers would not be aligned is copied.
  int stays = view && (view < HOT_LOAN || ((uintptr_t)base & 63) == 0);
  if (stays && (n > BIG || count > 1) && !(pin = pin_of(&view))) goto done;
  if (n > BIG && pin) meta = hot_new_buffer(pin, 0, head, (Py_ssize_t)n);
  else meta = PyBytes_FromStringAndSize((const char *)head, (Py_ssize_t)n);
  if (!meta) goto done;
  if (count == 0) {
    bufs = Py_None;
    Py_INCREF(bufs);
  } else {
    bufs = PyTuple_New((Py_ssize_t)count);
    if (!bufs) goto done;
    hot_reader lens = r;
    for (uint64_t i = 0; i < count; i++) rd_uint(&r);
    uint64_t at = (uint64_t)(r.p - base);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t size = rd_uint(&lens);
      at = (at + 63) & ~(uint64_t)63;
      if (!r.ok || at > (uint64_t)f->n || size > (uint64_t)f->n - at) goto bad;
      PyObject *b = hot_new_buffer(pin, stays && !pin ? view : 0, base + at, (Py_ssize_t)size);
      if (!b) goto done;
      if (stays && !pin) view = 0; // there is one buffer, and it has it
      PyTuple_SET_ITEM(bufs, (Py_ssize_t)i, b);
      at += size;
    }
  }
  PyObject *number = format_of(fmt);
  out = number ? PyTuple_New(3) : NULL;
  if (out) {
    PyTuple_SET_ITEM(out, 0, number);
    PyTuple_SET_ITEM(out, 1, meta);
    PyTuple_SET_ITEM(out, 2, bufs);
    meta = bufs = NULL;
  } else {
    Py_XDECREF(number);
  }
  goto done;
bad:
  PyErr_SetString(PyExc_RuntimeError, "the object is damaged: what is stored of it is no value, so some process has written over it");
done:
  if (view) hot_let_go(NULL, view);
  Py_XDECREF(pin);
  Py_XDECREF(meta);
  Py_XDECREF(bufs);
  return out;
}

// ---- values on their way in ----------------------------------------------------

// ids of a tuple of ObjectRefs and Handles (or None); few has room for some.
int hot_take_ids(PyObject *o, unsigned char *few, Py_ssize_t some, unsigned char **heap, int64_t *count) {
  *count = 0;
  *heap = NULL;
  if (o == Py_None) return 1;
  if (!PyTuple_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "references come as a tuple or None");
    return 0;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(o);
  unsigned char *p = few;
  if (n > some) {
    p = *heap = malloc((size_t)n * HOT_OBJECT);
    if (!p) { PyErr_NoMemory(); return 0; }
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = PyTuple_GET_ITEM(o, i);
    const unsigned char *id;
    if (Py_TYPE(x) == &HandleType) {
      if (!((Handle *)x)->counted) continue;
      id = ((Handle *)x)->token;
    } else if (!(id = hot_ref_id(x))) {
      free(*heap);
      *heap = NULL;
      return 0;
    }
    memcpy(p + *count * HOT_OBJECT, id, HOT_OBJECT);
    ++*count;
  }
  return 1;
}

void hot_release_value(value_in *in) {
  for (int i = 0; i < in->nviews; i++) PyBuffer_Release(&in->views[i]);
  if (in->views && in->views != in->few) free(in->views);
  if (in->v.bufs && in->v.bufs != in->few_bufs) free(in->v.bufs);
  if (in->meta.obj) PyBuffer_Release(&in->meta);
  free(in->idsp);
}

int hot_take_value(value_in *in, PyObject *fmt, PyObject *meta, PyObject *bufs, PyObject *nested) {
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
    if (n > FEW) {
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
  if (!hot_take_ids(nested, in->few_ids, FEW, &in->idsp, &in->v.nnested)) goto fail;
  in->v.nested = in->idsp ? in->idsp : in->few_ids;
  return 1;
fail:
  hot_release_value(in);
  return 0;
}
