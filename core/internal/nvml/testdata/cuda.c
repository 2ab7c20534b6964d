// A libcuda.so.1 without a driver. Opening a GPU lists this process in the file
// of the fake NVML (nvml.c), under another id where FAKE_CUDA_PID says so.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cuInit(unsigned flags) { (void)flags; return 0; }

int cuDevicePrimaryCtxRetain(void **context, int device) {
  const char *path = getenv("FAKE_NVML"), *pid = getenv("FAKE_CUDA_PID");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (!f) return 100;
  fprintf(f, "use %d %d 1000\n", device, pid ? atoi(pid) : (int)getpid());
  fclose(f);
  *context = (void *)1;
  return 0;
}
