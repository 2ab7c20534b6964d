// Copies of memory, by as many threads as told; each function returns the seconds that it took, or -1 with errno set.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST 16

// A part of a copy: to memory, or to a file when dst is NULL.
typedef struct {
  char *dst;
  const char *src;
  size_t size;
  int fd;
  off_t off;
  int error;
} part;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work(void *arg) {
  part *p = arg;
  if (p->dst) {
    memcpy(p->dst, p->src, p->size);
    return NULL;
  }
  while (p->size) {
    ssize_t n = pwrite(p->fd, p->src, p->size, p->off);
    if (n < 0) {
      p->error = errno;
      return NULL;
    }
    p->src += n, p->size -= (size_t)n, p->off += n;
  }
  return NULL;
}

static int split(part whole, int threads) {
  pthread_t running[MOST];
  part parts[MOST];
  if (threads < 1) threads = 1;
  if (threads > MOST) threads = MOST;
  size_t each = (whole.size / (size_t)threads + 4095) & ~(size_t)4095, done = 0;
  int count = 0, error = 0;
  for (; count < threads && done < whole.size; count++, done += each) {
    part *p = &parts[count];
    *p = whole;
    p->src += done, p->off += (off_t)done;
    if (p->dst) p->dst += done;
    p->size = whole.size - done < each ? whole.size - done : each;
    if (count && pthread_create(&running[count], NULL, work, p)) return EAGAIN;
  }
  work(&parts[0]);
  for (int i = 1; i < count; i++) pthread_join(running[i], NULL);
  for (int i = 0; i < count; i++) error = parts[i].error ? parts[i].error : error;
  return error;
}

static double since(double start, int error) {
  double took = now() - start;
  errno = error;
  return error ? -1 : took;
}

double copy(char *dst, const char *src, size_t size, int threads) {
  double start = now();
  return since(start, split((part){.dst = dst, .src = src, .size = size, .fd = -1}, threads));
}

double write_at(int fd, size_t off, const char *src, size_t size, int threads) {
  double start = now();
  return since(start, split((part){.src = src, .size = size, .fd = fd, .off = (off_t)off}, threads));
}

// map_copy copies into a new mapping of an empty file; flags are added to mmap's. Huge: asks for huge pages. The
// mapping is left to the caller in *mapped: taking it away is no part of a put.
double map_copy(int fd, const char *src, size_t size, int flags, int huge, int threads, char **mapped) {
  double start = now();
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
  if (p == MAP_FAILED) return -1;
  *mapped = p;
  if (huge && madvise(p, size, MADV_HUGEPAGE)) return since(start, errno);
  return since(start, split((part){.dst = p, .src = src, .size = size, .fd = -1}, threads));
}

// reserve_copy has the file's pages made before it copies to them.
double reserve_copy(int fd, const char *src, size_t size, int threads, char **mapped) {
  double start = now();
  int error = posix_fallocate(fd, 0, (off_t)size);
  if (error) return since(start, error);
  double rest = map_copy(fd, src, size, 0, 0, threads, mapped);
  return rest < 0 ? -1 : now() - start;
}

int unmap(char *p, size_t size) { return munmap(p, size); }
