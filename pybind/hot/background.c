// The background poller outside of Go: see core/internal/transport/background.go. While this
// thread waits, the Go runtime has nothing that waits, so a computing task pays nothing for it.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "background.h"
#include "_cgo_export.h"

enum { WAITS, NAPS, WATCHES, ENDS, RESTS };
enum { IDLE, WANTED, NOW };

#define MILLISECOND 1000000
#define STACK (256 << 10)

// A runtime that was entered lately looks after itself every 20 us, on the
// cores that compute. Its threads inherit from the one that starts it how late
// their timers may be: two milliseconds make that one look out of a hundred. With
// five a fresh worker takes a third longer: its runtime is late to see what blocks.
#define SLACK 2000000 // ns
static unsigned long slack;

void hot_slack_begin(void) {
  int now = prctl(PR_GET_TIMERSLACK);
  if (now > 0 && !prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK)) slack = (unsigned long)now;
}

void hot_slack_end(void) {
  if (slack) prctl(PR_SET_TIMERSLACK, slack);
  slack = 0;
}

typedef struct {
  uintptr_t handle;
  int epoll, bell;
  uint32_t *armed;
} background;

static uint32_t armed(background *b) { return __atomic_load_n(b->armed, __ATOMIC_ACQUIRE); }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void nap(int64_t ns) {
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  nanosleep(&t, NULL);
}

// ready waits until `fd` is readable; 1: it is.
static int ready(int fd, int ms) {
  struct pollfd f = {fd, POLLIN, 0};
  return poll(&f, 1, ms) > 0;
}

// silence takes the bell's ring; 1: the turn may wait for more to come.
static int silence(background *b) {
  uint64_t count;
  return read(b->bell, &count, sizeof count) > 0 && armed(b) != NOW;
}

// watch ends when a socket is readable, a while after the bell, or after `ns`.
static void watch(background *b, int64_t ns) {
  struct pollfd fds[2] = {{b->bell, POLLIN, 0}, {b->epoll, POLLIN, 0}};
  if (poll(fds, 2, (int)(ns / MILLISECOND)) > 0 && fds[0].revents && silence(b) && !fds[1].revents) ready(b->epoll, 1);
}

static void *run(void *p) {
  background *b = p;
  hot_pause next = {WAITS, 0, 0};
  prctl(PR_SET_TIMERSLACK, 50000UL);
  for (;;) {
    switch (next.mode) {
    case ENDS:
      free(b->armed);
      free(b);
      return NULL;
    case NAPS:
      for (int64_t until = now() + next.quiet;;) {
        nap(next.nap);
        if (armed(b) != IDLE || now() >= until) break;
      }
      break;
    case WATCHES:
      watch(b, next.quiet);
      break;
    case RESTS:
      if (ready(b->bell, (int)(next.quiet / MILLISECOND)) && silence(b)) nap(MILLISECOND);
      break;
    default:
      if (ready(b->bell, -1) && silence(b)) nap(MILLISECOND);
    }
    HotBackground(b->handle, &next);
  }
}

uint32_t *hot_background_start(uintptr_t handle, int epoll, int bell) {
  background *b = malloc(sizeof *b);
  uint32_t *word = calloc(1, sizeof *word);
  pthread_attr_t attr;
  pthread_t thread;
  sigset_t all, before;
  int rc = -1;
  if (b && word && !pthread_attr_init(&attr)) {
    *b = (background){handle, epoll, bell, word};
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    sigfillset(&all); // the program's handlers run on its own threads
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &attr, run, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
  }
  if (!rc) return word;
  free(b);
  free(word);
  return NULL;
}
