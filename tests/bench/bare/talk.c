// A call between two Python processes with nothing around it: the calling thread writes a frame to a socket and reads
// the answer itself. What a runtime costs beyond this is its own. One connection for each process.
//
// A frame: u32 length of what follows it, u64 id, payload. In the loops that stay in C every frame has FRAME bytes.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 100
#define HEAD 12
#define BATCH 4096        // frames are coalesced up to this
#define ROOM (256 << 10)  // the largest frame, and the least that is read for

static int fd = -1;
static char out[BATCH + ROOM];
static size_t filled;    // of out
static char *in;         // grows: a peer that waits for us to read must never wait for ever
static size_t in_room;
static size_t at, end;   // what is unread of in
static uint64_t last_id, last_read;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// fill reads what there is, once; 0 at the end of the stream or on an error, also EAGAIN.
static int fill(int flags) {
  if (at) memmove(in, in + at, end - at);
  end -= at;
  at = 0;
  if (in_room - end < ROOM) {
    char *larger = realloc(in, in_room + in_room / 2 + 2 * ROOM);
    if (!larger) return 0;
    in = larger;
    in_room += in_room / 2 + 2 * ROOM;
  }
  ssize_t n = recv(fd, in + end, in_room - end, flags);
  if (n <= 0) return 0;
  end += (size_t)n;
  return 1;
}

// frame is the next whole frame that was read, or NULL.
static char *frame(uint32_t *size) {
  if (end - at < HEAD) return NULL;
  memcpy(size, in + at, 4);
  *size += 4;
  if (*size < HEAD || *size > ROOM || end - at < *size) return NULL;
  char *found = in + at;
  at += *size;
  return found;
}

// flush writes all that was coalesced. A full socket means that the peer waits for us: its answers are read meanwhile.
static int flush(void) {
  size_t done = 0;
  while (done < filled) {
    ssize_t n = send(fd, out + done, filled - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      done += (size_t)n;
    } else if (errno == EAGAIN) {
      struct pollfd ready = {fd, POLLIN | POLLOUT, 0};
      poll(&ready, 1, -1);
      if (ready.revents & POLLIN) fill(MSG_DONTWAIT);
    } else if (errno != EINTR) {
      return 0;
    }
  }
  filled = 0;
  return 1;
}

static int push(uint64_t id, const char *payload, size_t size) {
  uint32_t rest = (uint32_t)(size + HEAD - 4);
  memcpy(out + filled, &rest, 4);
  memcpy(out + filled + 4, &id, 8);
  memcpy(out + filled + HEAD, payload, size);
  filled += HEAD + size;
  return filled < BATCH || flush();
}

static PyObject *broken(void) {
  PyErr_SetString(PyExc_ConnectionError, "the other process is gone");
  return NULL;
}

static PyObject *py_connect(PyObject *self, PyObject *arg) {
  fd = (int)PyLong_AsLong(arg);
  filled = at = end = 0;
  last_id = last_read = 0;
  if (fd == -1 && PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

// roundtrips: one frame out, one back, `count` times; seconds.
static PyObject *py_roundtrips(PyObject *self, PyObject *arg) {
  long count = PyLong_AsLong(arg);
  if (count == -1 && PyErr_Occurred()) return NULL;
  char sent[FRAME] = {FRAME - 4}, got[FRAME];
  int right = 1;
  double start;
  Py_BEGIN_ALLOW_THREADS
  start = now();
  for (long i = 1; i <= count && right; i++) {
    uint64_t id = (uint64_t)i;
    memcpy(sent + 4, &id, 8);
    right = write(fd, sent, FRAME) == FRAME && recv(fd, got, FRAME, MSG_WAITALL) == FRAME && !memcmp(sent, got, FRAME);
  }
  start = now() - start;
  Py_END_ALLOW_THREADS
  return right ? PyFloat_FromDouble(start) : broken();
}

// batch: `count` frames out, coalesced, and as many back; seconds.
static PyObject *py_batch(PyObject *self, PyObject *arg) {
  long count = PyLong_AsLong(arg);
  if (count == -1 && PyErr_Occurred()) return NULL;
  char payload[FRAME - HEAD] = {0};
  uint64_t next = 1, size_sum = 0;
  int right = 1;
  double start;
  Py_BEGIN_ALLOW_THREADS
  start = now();
  for (long i = 1; i <= count && right; i++) right = push((uint64_t)i, payload, sizeof payload);
  right = right && flush();
  while (right && next <= (uint64_t)count) {
    uint32_t size;
    char *f = frame(&size);
    if (!f) {
      right = fill(0);
      continue;
    }
    uint64_t id;
    memcpy(&id, f + 4, 8);
    right = id == next++;
    size_sum += size;
  }
  start = now() - start;
  Py_END_ALLOW_THREADS
  return right && size_sum == (uint64_t)count * FRAME ? PyFloat_FromDouble(start) : broken();
}

// serve answers each frame with itself until the other side closes; answers are coalesced until nothing is left to read.
static PyObject *py_serve(PyObject *self, PyObject *none) {
  Py_BEGIN_ALLOW_THREADS
  for (;;) {
    uint32_t size;
    char *f = frame(&size);
    if (f) {
      uint64_t id;
      memcpy(&id, f + 4, 8);
      if (!push(id, f + HEAD, size - HEAD)) break;
    } else if (!flush() || !fill(0)) {
      break;
    }
  }
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

// post(bytes) queues a request; its id. wait() is the payload of the next answer; they come in order.
static PyObject *py_post(PyObject *self, PyObject *arg) {
  char *payload;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(arg, &payload, &size)) return NULL;
  if (size > ROOM - HEAD) return PyErr_Format(PyExc_ValueError, "%zd bytes are more than a frame holds", size);
  int right;
  if (filled + HEAD + (size_t)size < BATCH) {
    right = push(++last_id, payload, (size_t)size);
  } else {
    Py_BEGIN_ALLOW_THREADS
    right = push(++last_id, payload, (size_t)size);
    Py_END_ALLOW_THREADS
  }
  return right ? PyLong_FromUnsignedLongLong(last_id) : broken();
}

// next_frame flushes and waits for a frame with the interpreter released.
static char *next_frame(uint32_t *size) {
  char *f = frame(size);
  while (!f) {
    int right;
    Py_BEGIN_ALLOW_THREADS
    right = flush() && fill(0);
    Py_END_ALLOW_THREADS
    if (!right) return NULL;
    f = frame(size);
  }
  return f;
}

static PyObject *py_wait(PyObject *self, PyObject *none) {
  uint32_t size;
  char *f = next_frame(&size);
  uint64_t id;
  if (!f) return broken();
  memcpy(&id, f + 4, 8);
  if (id != ++last_read) return broken();
  return PyBytes_FromStringAndSize(f + HEAD, size - HEAD);
}

// next() is (id, payload) of the next request, None when there will be no more; answer(id, bytes) queues its answer.
static PyObject *py_next(PyObject *self, PyObject *none) {
  uint32_t size;
  char *f = next_frame(&size);
  if (!f) Py_RETURN_NONE;
  uint64_t id;
  memcpy(&id, f + 4, 8);
  return Py_BuildValue("Ky#", (unsigned long long)id, f + HEAD, (Py_ssize_t)(size - HEAD));
}

static PyObject *py_answer(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  char *payload;
  Py_ssize_t size;
  if (count != 2) return PyErr_Format(PyExc_TypeError, "answer takes an id and bytes");
  uint64_t id = PyLong_AsUnsignedLongLong(args[0]);
  if (PyErr_Occurred() || PyBytes_AsStringAndSize(args[1], &payload, &size)) return NULL;
  if (size > ROOM - HEAD) return PyErr_Format(PyExc_ValueError, "%zd bytes are more than a frame holds", size);
  int right;
  Py_BEGIN_ALLOW_THREADS
  right = push(id, payload, (size_t)size);
  Py_END_ALLOW_THREADS
  if (!right) return broken();
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"connect", py_connect, METH_O, "connect(fd)"},
    {"roundtrips", py_roundtrips, METH_O, "roundtrips(count) -> seconds"},
    {"batch", py_batch, METH_O, "batch(count) -> seconds"},
    {"serve", py_serve, METH_NOARGS, "serve()"},
    {"post", py_post, METH_O, "post(payload) -> id"},
    {"wait", py_wait, METH_NOARGS, "wait() -> payload"},
    {"next", py_next, METH_NOARGS, "next() -> (id, payload) or None"},
    {"answer", (PyCFunction)(void (*)(void))py_answer, METH_FASTCALL, "answer(id, payload)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "talk", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_talk(void) { return PyModule_Create(&module); }
