// A libnvidia-ml.so.1 without a driver: it tells what the file named by
// FAKE_NVML says, line by line: "device BYTES UUID" and "use DEVICE PID BYTES";
// "crash" and "hang" are what it does when it is asked for processes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_info;
typedef struct { unsigned long long total, free, used; } memory_info;

static FILE *state(void) {
  const char *path = getenv("FAKE_NVML");
  return path ? fopen(path, "r") : NULL;
}

static int device(unsigned wanted, unsigned long long *bytes, char *uuid) {
  FILE *f = state();
  char line[256], id[96];
  unsigned n = 0;
  unsigned long long b;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "device %llu %95s", &b, id) == 2 && n++ == wanted) {
      if (bytes) *bytes = b;
      if (uuid) strcpy(uuid, id);
    }
  if (f) fclose(f);
  return n;
}

int nvmlInit_v2(void) { FILE *f = state(); if (!f) return 9; fclose(f); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = device(-1, NULL, NULL); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(uintptr_t)(i + 1); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory_info *m) {
  device((uintptr_t)h - 1, &m->total, NULL);
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **h) {
  char id[96];
  for (unsigned i = 0; i < (unsigned)device(-1, NULL, NULL); i++)
    if (device(i, NULL, id), !strcmp(id, uuid)) return *h = (void *)(uintptr_t)(i + 1), 0;
  return 6;
}
int nvmlDeviceGetUUID(void *h, char *uuid, unsigned size) {
  (void)size;
  device((uintptr_t)h - 1, NULL, uuid);
  return 0;
}

static int processes(const char *kind, void *h, unsigned *count, process_info *infos) {
  FILE *f = state();
  char line[256], word[32];
  unsigned n = 0, d, pid;
  long long bytes;
  while (f && fgets(line, sizeof line, f)) {
    if (!strcmp(line, "crash\n")) _exit(3);
    if (!strcmp(line, "hang\n")) for (;;) pause();
    if (sscanf(line, "%31s %u %u %lld", word, &d, &pid, &bytes) == 4 && !strcmp(word, kind) && d == (uintptr_t)h - 1) {
      if (n < *count) infos[n] = (process_info){pid, bytes < 0 ? ~0ULL : (unsigned long long)bytes, 0, 0};
      n++;
    }
  }
  if (f) fclose(f);
  int few = n > *count;
  *count = n;
  return few ? 7 : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, process_info *infos) { return processes("use", h, n, infos); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *h, unsigned *n, process_info *infos) { return processes("draw", h, n, infos); }
