// Every worker writes to certain pages of the memory that it shares with its zygote. These
// pages are copied together when the worker is forked. Otherwise each of them would cost a
// fault, and, when Go's threads run on other processors, an interrupt there.
//
// The first worker of a zygote finds out which pages these are: when it has come up, they are
// the pages that it shares with nobody. It notes them on a page that all workers of the zygote
// share. Addresses are the same in all workers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "warm.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // since Linux 5.14; older ones refuse, and pages are copied one by one
#endif

enum { MOST = 4096, CHUNK = 512 };

// The bits of a page in pagemap.
#define PRESENT (1ULL << 63)
#define OF_FILE (1ULL << 61)
#define EXCLUSIVE (1ULL << 56)

typedef struct { uintptr_t from, to; } span;

enum { UNKNOWN, BEING_RECORDED, RECORDED };

typedef struct {
  int state;
  int areas_n, spans_n;
  span areas[MOST]; // where the zygote has memory of its own
  span spans[MOST]; // what of it a worker writes to
} board;

static board *shared;

// note_areas reads the private writable mappings of this process.
static int note_areas(board *b) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return 0;
  char *line = NULL;
  size_t room = 0;
  b->areas_n = 0;
  while (getline(&line, &room, maps) > 0 && b->areas_n < MOST) {
    char *p;
    uintptr_t from = strtoull(line, &p, 16), to = *p == '-' ? strtoull(p + 1, &p, 16) : 0;
    if (to > from && strlen(p) > 4 && p[2] == 'w' && p[4] == 'p') b->areas[b->areas_n++] = (span){from, to};
  }
  free(line);
  fclose(maps);
  return b->areas_n;
}

void warm_begin(void) {
  if (!shared) {
    void *p = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    shared = p;
  }
  // Workers that live know other areas: they must not write here any more.
  __atomic_store_n(&shared->state, BEING_RECORDED, __ATOMIC_SEQ_CST);
  shared->spans_n = 0;
  if (note_areas(shared)) __atomic_store_n(&shared->state, UNKNOWN, __ATOMIC_SEQ_CST);
}

static void note_span(board *b, uintptr_t from, uintptr_t to) {
  if (b->spans_n && b->spans[b->spans_n - 1].to == from) b->spans[b->spans_n - 1].to = to;
  else if (b->spans_n < MOST) b->spans[b->spans_n++] = (span){from, to};
}

void warm_record(void) {
  int unknown = UNKNOWN;
  if (!shared || !__atomic_compare_exchange_n(&shared->state, &unknown, BEING_RECORDED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < shared->areas_n; i++) {
    span a = shared->areas[i];
    uint64_t pages[CHUNK];
    while (a.from < a.to) {
      size_t want = (a.to - a.from) / size < CHUNK ? (a.to - a.from) / size : CHUNK;
      ssize_t got = pread(fd, pages, want * sizeof *pages, (off_t)(a.from / size * sizeof *pages));
      if (got <= 0) break;
      for (size_t k = 0; k < (size_t)got / sizeof *pages; k++) {
        if ((pages[k] & (PRESENT | OF_FILE | EXCLUSIVE)) == (PRESENT | EXCLUSIVE)) note_span(shared, a.from + k * size, a.from + (k + 1) * size);
      }
      a.from += (size_t)got / sizeof *pages * size;
    }
  }
  close(fd);
  __atomic_store_n(&shared->state, RECORDED, __ATOMIC_SEQ_CST);
}

void warm_up(void) {
  if (!shared || __atomic_load_n(&shared->state, __ATOMIC_SEQ_CST) != RECORDED) return;
  for (int i = 0; i < shared->spans_n; i++) {
    span s = shared->spans[i];
    if (madvise((void *)s.from, s.to - s.from, MADV_POPULATE_WRITE) && errno == EINVAL) return;
  }
}
