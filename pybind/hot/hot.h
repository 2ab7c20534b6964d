// What the Go half and the C half of the hot path tell each other.
// Memory: the C side frees the strings and arrays that Go hands out and that are marked
// "malloc". The others point into memory that Go keeps for as long as the call's object, or
// the running task, lives.
#ifndef EAGLERAY_HOT_H
#define EAGLERAY_HOT_H
#include <stdint.h>

enum { HOT_OBJECT = 28, HOT_ACTOR = 16, HOT_TASK = 24, HOT_FID = 16 };

// What a wait waits for: enough references that are ready; all, or one that failed; enough that are ready and not lost.
enum { HOT_WAIT_SOME, HOT_WAIT_ALL, HOT_WAIT_HERE };

// A drop with this in the place of a view says that the program does not read that generator any more.
#define HOT_DROP_STREAM UINT64_MAX
// A drop of a batch of references has the number of the batch in the place of an object's count. It says that some
// references of the batch are gone, or that the last one is.
#define HOT_DROP_SOME (UINT64_MAX - 1)
#define HOT_DROP_LAST (UINT64_MAX - 2)

// References that came together in one value.
struct ref_batch {
  uint64_t number; // the core's number of the batch
  int64_t alive;   // how many references the program has, or will still get
  uint32_t n;
  uint32_t told;
  uint64_t dead[]; // a bit for each reference that is gone
};

// Stages of core/internal/trace that C stamps.
enum {
  TRACE_CALLED = 1, TRACE_PACKED = 2, TRACE_RETURNED = 4, TRACE_TAKEN = 11, TRACE_ENCODED = 14, TRACE_FOUND = 17, TRACE_GIVEN = 18,
};

typedef struct { const void *p; int64_t n; } hot_buf;

// A serialised value on its way in.
typedef struct {
  int32_t fmt;
  int32_t nbufs;
  hot_buf meta;
  hot_buf *bufs;
  uint32_t site; // where in the user's program, see site.h
  int64_t nnested;
  const unsigned char *nested; // HOT_OBJECT bytes each
} hot_value;

typedef struct {
  int64_t tmpl;
  hot_value args;
  int64_t ndeps;
  const unsigned char *deps; // HOT_OBJECT bytes each
  uint64_t parent; // token of the call that submits it; 0: not known, -1: none
} hot_call;

// A value on its way out.
typedef struct {
  uintptr_t env;
  int64_t n;
  uint64_t view; // 0: not in the arena
} hot_found;

// Views with numbers from this one on are not parts of the arena, but memory that Go lends.
#define HOT_LOAN (1ull << 62)

typedef struct {
  char *code; // malloc
  char *message; // malloc
} hot_err;

// What next_task gives.
typedef struct {
  int32_t kind;
  int32_t returns;
  int64_t max_calls;
  uint64_t token;
  unsigned char fid[16];
  unsigned char task[24];
  uintptr_t name;
  int64_t name_n;
  uintptr_t method;
  int64_t method_n;
  hot_found args;
  int64_t ndeps;
  hot_found *deps; // malloc
  void *blob;      // malloc
  int64_t blob_n;
} hot_item;

// Something of which the program has let go.
typedef struct {
  unsigned char id[28];
  uint64_t view;
} hot_drop;

// The C half, called from Go. None of them needs the interpreter's lock; hot_signals takes it.
int64_t hot_take_drops(hot_drop **out); // the buffer is valid until the next call
int64_t hot_boot_ns(void);              // CLOCK_BOOTTIME; Go asks the kernel for it, which takes ten times as long
void hot_interrupt(void);               // SIGUSR1 to the main thread
int hot_signals(void);                  // on the main thread: 1 when a signal's handler has raised, and the exception is set
void hot_serve_group(void);             // begins a thread that runs what declare_groups was given
void hot_trim(void);                    // gives back memory that the process does not use, see trim.c
void hot_descriptor(int fd, int open);  // the descriptor is to be closed in a child that user code forks
extern volatile int32_t hot_drop_count;

#endif
