// What the Go half and the C half of eagleray._kern tell each other.
// Numbers of data types and operations are those of package kernels/backend.
#ifndef EAGLERAY_KERN_H
#define EAGLERAY_KERN_H
#include <stdint.h>

enum { KERN_DIMS = 32, KERN_CPU = -1, KERN_DEVICE = 16 };

// An array: with a handle one of package kernels, without one memory of the
// host that the caller keeps for the length of the call, or a number.
typedef struct {
  uint64_t handle;
  int32_t scalar; // KERN_INT or KERN_FLOAT: a number, and the rest says nothing
  int32_t beyond; // an integer that int64 does not hold; f is near it
  int64_t i;
  double f;
  uintptr_t ptr;
  int32_t dtype, ndim;
  int32_t device; // KERN_CPU, or the index of a CUDA device
  int32_t readonly;
  int64_t shape[KERN_DIMS];
  int64_t strides[KERN_DIMS]; // bytes
} kern_view;

// One step of an elementwise program.
typedef struct {
  int32_t op, in;
  double s, t;
} kern_step;

typedef struct {
  char *code;    // malloc; a key of eagleray.kernels' table of errors
  char *message; // malloc
  char *detail;  // malloc or NULL: the compiler's log
  int64_t asked, free, total; // bytes
} kern_err;

enum { KERN_INT = 1, KERN_FLOAT };

// Operations of one or two arrays that are not elementwise.
enum { KERN_SUM = 1, KERN_MIN, KERN_MAX, KERN_MEAN, KERN_DOT, KERN_MATMUL, KERN_SOFTMAX, KERN_CAST, KERN_TO };
enum { KERN_ALL_AXES = 1 << 30 };

// What KernStream does.
enum {
  KERN_STREAM_NEW = 1, KERN_STREAM_SYNC, KERN_STREAM_CLOSE, KERN_STREAM_NATIVE, KERN_STREAM_WAIT,
  KERN_EVENT_RECORD, KERN_EVENT_SYNC, KERN_EVENT_DONE, KERN_EVENT_SINCE, KERN_EVENT_CLOSE,
  KERN_DEVICE_SYNC, KERN_KERNEL_CLOSE
};

// Called from Go, on any thread: gives up what kept foreign memory alive.
void kern_release(uintptr_t owner);

// Whether this is a child that user code forked from a process with a Go runtime.
int hot_is_forked(void);
int hot_arm(void); // from the module's start: makes the answer above right

#endif
