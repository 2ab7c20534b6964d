// An idle process gives memory back that it does not use: memory that malloc has free, and
// the code and constants of libraries, which are in the libraries' files. Most code runs only
// at an import, or when a session begins. Code that is used again comes back, with a fault for
// every 64 KiB.
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "hot.h"
#include "trim.h"

#define SMALL_KIB (256 << 10) // in a larger process malloc_trim takes long

enum { CHUNK = 512 };

// The bits of a page in pagemap.
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

// trim_library gives back the pages of a library's segments that are never written to. It asks the loader, which lists a
// library when all of it is in its place. (In /proc/self/maps a library that another thread is loading looks constant
// where its data will be.)
static int trim_library(struct dl_phdr_info *library, size_t known, void *pagemap) {
  (void)known;
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (*library->dlpi_name && !strchr(library->dlpi_name, '/')) return 0; // the kernel's library, which has no file
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *s = &library->dlpi_phdr[i];
    if (s->p_type != PT_LOAD || s->p_flags & PF_W) continue;
    // Only whole pages, because the first and the last page may belong to a neighbour in part.
    uintptr_t at = library->dlpi_addr + s->p_vaddr, from = (at + size - 1) & -size, to = (at + s->p_filesz) & -size;
    if (from < to && all_of_file(*(int *)pagemap, from, to, size)) madvise((void *)from, to - from, MADV_DONTNEED);
  }
  return 0;
}

// Forks wait until trim_code has ended: a child that was forked meanwhile would hold the loader's lock for ever.
static pthread_mutex_t trimming = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void wait_for_trim(void) { pthread_mutex_lock(&trimming); }
static void go_on(void) { pthread_mutex_unlock(&trimming); }
static void watch_forks(void) { pthread_atfork(wait_for_trim, go_on, go_on); }

void trim_code(void) {
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&trimming);
  dl_iterate_phdr(trim_library, &pagemap);
  pthread_mutex_unlock(&trimming);
  close(pagemap);
}

void hot_trim(void) {
#ifdef __GLIBC__
  struct rusage u;
  if (!getrusage(RUSAGE_SELF, &u) && u.ru_maxrss < SMALL_KIB) malloc_trim(0);
#endif
  trim_code();
}
