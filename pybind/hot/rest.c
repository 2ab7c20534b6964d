// An idle process need not have in memory what it does not use: what malloc has
// free, and code and constants of libraries, which are in their files. Most of
// those only an import runs, or the beginning of a session. What is used after
// all comes back, a fault for every 64 KiB.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "hot.h"
#include "late.h"

#define SMALL_KIB (256 << 10) // in a larger process looking through malloc's heap takes time

enum { CHUNK = 512 };

// What pagemap says of a page.
#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_FILE (1ULL << 61)

// all_of_file reports whether no page of a mapping has been written to, by relocations or a debugger.
static int all_of_file(int pagemap, uintptr_t from, uintptr_t to, uintptr_t size) {
  uint64_t pages[CHUNK];
  while (from < to) {
    size_t want = (to - from) / size < CHUNK ? (to - from) / size : CHUNK;
    if (pread(pagemap, pages, want * sizeof *pages, (off_t)(from / size * sizeof *pages)) != (ssize_t)(want * sizeof *pages)) return 0;
    for (size_t k = 0; k < want; k++) {
      if (pages[k] & SWAPPED || (pages[k] & (PRESENT | OF_FILE)) == PRESENT) return 0;
    }
    from += want * size;
  }
  return 1;
}

void rest_code(void) {
  FILE *maps = fopen("/proc/self/maps", "re");
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (maps && pagemap >= 0) {
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, maps) > 0) {
      char *p, *path = strchr(line, '/');
      uintptr_t from = strtoull(line, &p, 16), to = *p == '-' ? strtoull(p + 1, &p, 16) : 0;
      int code = path && to > from && (!strncmp(p, " r-xp", 5) || (!strncmp(p, " r--p", 5) && strstr(path, ".so")));
      if (code && all_of_file(pagemap, from, to, size)) madvise((void *)from, to - from, MADV_DONTNEED);
    }
    free(line);
  }
  if (maps) fclose(maps);
  if (pagemap >= 0) close(pagemap);
}

void hot_rest(void) {
#ifdef __GLIBC__
  struct rusage u;
  if (!getrusage(RUSAGE_SELF, &u) && u.ru_maxrss < SMALL_KIB) malloc_trim(0);
#endif
  rest_code();
}
