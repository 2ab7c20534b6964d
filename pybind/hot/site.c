// The sites of references: lines of the user's program, which get their numbers when they are
// met first. To find a site takes a look at a few frames and at a hash table; memory is
// allocated only when a line is met for the first time.
#include "site.h"
#include <stdlib.h>
#include <string.h>
#include "hot.h"
#include "_cgo_export.h"

// The frames of this version are known from the inside; elsewhere the public functions are used, which make an object
// of each frame that is looked at.
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define FRAMES_INSIDE 1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h> // PyFrame_GetBack, which Python.h itself declares from 3.11 on
#endif

#define MAX_SITES 8192 // further ones have no number
#define SLOTS (4 * MAX_SITES)
#define DEPTH 64 // frames that are looked at

typedef struct {
  PyCodeObject *code; // held, so that no other gets its address
  int at;             // in it
  uint32_t number;
} site;

static site *sites;
static uint32_t known;
static char *own, *library;
static size_t own_n, library_n;

int hot_record_sites(const char *package, const char *lib) {
  if (package && !sites && !(sites = calloc(SLOTS, sizeof *sites))) return 0;
  free(own);
  free(library);
  own = package ? strdup(package) : NULL;
  library = package ? strdup(lib) : NULL;
  if (package && (!own || !library)) return 0;
  own_n = own ? strlen(own) : 0;
  library_n = library ? strlen(library) : 0;
  return 1;
}

static int begins(const char *p, const char *with, size_t n) { return strncmp(p, with, n) == 0; }

// is_ours reports whether the code is not the user's: this package's, or the standard library's.
static int is_ours(PyCodeObject *code) {
  PyObject *name = code->co_filename;
  const char *p = PyUnicode_IS_COMPACT_ASCII(name) ? (const char *)PyUnicode_1BYTE_DATA(name) : PyUnicode_AsUTF8(name);
  if (!p) {
    PyErr_Clear();
    return 0;
  }
  if (begins(p, own, own_n) || begins(p, "<frozen ", 8)) return 1;
  return begins(p, library, library_n) && !begins(p + library_n, "site-packages/", 14) && !begins(p + library_n, "dist-packages/", 14);
}

// describe tells the Go half what a new number means: file:function:line.
static void describe(uint32_t number, PyCodeObject *code, int line) {
#if PY_VERSION_HEX >= 0x030B0000
  PyObject *function = code->co_qualname;
#else
  PyObject *function = code->co_name;
#endif
  PyObject *text = PyUnicode_FromFormat("%U:%U:%d", code->co_filename, function, line);
  Py_ssize_t n = 0;
  const char *p = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
  if (p) HotSite(number, (char *)p, (int64_t)n);
  else PyErr_Clear();
  Py_XDECREF(text);
}

// number_of finds the number of a place in a code object, or makes it. line is asked for new ones only.
static uint32_t number_of(PyCodeObject *code, int at, int (*line)(PyCodeObject *, int)) {
  uint64_t h = ((uint64_t)(uintptr_t)code >> 4) * 0x9E3779B97F4A7C15ull + (uint64_t)(uint32_t)at * 0xC2B2AE3D27D4EB4Full;
  for (uint32_t i = (uint32_t)(h >> 40) % SLOTS;; i = (i + 1) % SLOTS) {
    site *s = &sites[i];
    if (s->code == code && s->at == at) return s->number;
    if (s->code) continue;
    if (known >= MAX_SITES) return 0;
    Py_INCREF(code);
    *s = (site){code, at, ++known};
    describe(s->number, code, line(code, at));
    return s->number;
  }
}

#ifdef FRAMES_INSIDE

static int line_at(PyCodeObject *code, int at) { return PyCode_Addr2Line(code, at * (int)sizeof(_Py_CODEUNIT)); }

uint32_t hot_site(void) {
  if (!own) return 0;
  int depth = DEPTH;
  _PyInterpreterFrame *f = PyThreadState_Get()->cframe->current_frame;
  for (; f && depth > 0; f = f->previous, depth--) {
    if (_PyFrame_IsIncomplete(f) || is_ours(f->f_code)) continue;
    return number_of(f->f_code, _PyInterpreterFrame_LASTI(f), line_at);
  }
  return 0;
}

#else

static int the_line(PyCodeObject *code, int at) {
  (void)code;
  return at;
}

uint32_t hot_site(void) {
  if (!own) return 0;
  uint32_t number = 0;
  int depth = DEPTH;
  PyFrameObject *f = PyThreadState_GetFrame(PyThreadState_Get());
  while (f && depth-- > 0) {
    PyCodeObject *code = PyFrame_GetCode(f);
    int ours = is_ours(code);
    if (!ours) number = number_of(code, PyFrame_GetLineNumber(f), the_line);
    Py_DECREF(code);
    PyFrameObject *back = ours ? PyFrame_GetBack(f) : NULL;
    Py_DECREF(f);
    f = back;
  }
  Py_XDECREF(f);
  return number;
}

#endif
