// The thread that looks after a session's sockets while the program computes.
#ifndef EAGLERAY_BACKGROUND_H
#define EAGLERAY_BACKGROUND_H
#include <stdint.h>

// What comes between two turns; core/internal/transport/background.go says what the modes mean. Times in nanoseconds.
typedef struct {
  int32_t mode;
  int64_t nap, quiet;
} hot_pause;

// hot_background_start begins a thread for the background poller `handle` and
// returns the word in which Go says that it wants a turn; NULL: there is no thread to be had.
uint32_t *hot_background_start(uintptr_t handle, int epoll, int bell);

// Go is started between the two: its threads begin with timers that may be late, the thread that starts it keeps its own.
void hot_slack_begin(void);
void hot_slack_end(void);
#endif
