//go:build cuda && cgo

#include "shim.h"

#include <cuda.h>
#include <string.h>

// enter makes the context current and says through pushed whether leave has to
// take it off again.
static CUresult enter(uintptr_t context, int *pushed) {
    CUcontext now = NULL;
    CUresult r = cuCtxGetCurrent(&now);
    *pushed = r == CUDA_SUCCESS && now != (CUcontext)context;
    return *pushed ? cuCtxPushCurrent((CUcontext)context) : r;
}

static int leave(CUresult r, int pushed) {
    CUcontext was;
    if (pushed) cuCtxPopCurrent(&was);
    return (int)r;
}

int er_launch(uintptr_t context, uintptr_t function, const unsigned *g, uintptr_t stream, void **args) {
    int pushed;
    CUresult r = enter(context, &pushed);
    if (r != CUDA_SUCCESS) return (int)r;
    r = cuLaunchKernel((CUfunction)function, g[0], g[1], g[2], g[3], g[4], g[5], g[6], (CUstream)stream, args, NULL);
    return leave(r, pushed);
}

int er_launch_one(uintptr_t context, uintptr_t function, unsigned blocks, unsigned threads, uintptr_t stream, void *params) {
    const unsigned geometry[7] = {blocks, 1, 1, threads, 1, 1, 0};
    void *args[1] = {params};
    return er_launch(context, function, geometry, stream, args);
}

// A MIG instance has a UUID of its own, which only the newer call gives.
int er_device_uuid(int device, unsigned char *uuid, int *mig) {
    CUuuid whole, own;
    CUresult r = cuDeviceGetUuid(&whole, device);
    if (r != CUDA_SUCCESS) return (int)r;
    if (cuDeviceGetUuid_v2(&own, device) != CUDA_SUCCESS) own = whole;
    *mig = memcmp(&whole, &own, sizeof own) != 0;
    memcpy(uuid, &own, sizeof own);
    return 0;
}

int er_host_alloc(void **memory, size_t bytes) { return (int)cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE); }
int er_host_free(void *memory) { return (int)cuMemFreeHost(memory); }

int er_ipc_get(unsigned char *handle, uintptr_t memory) {
    CUipcMemHandle h;
    CUresult r = cuIpcGetMemHandle(&h, (CUdeviceptr)memory);
    if (r == CUDA_SUCCESS) memcpy(handle, &h, sizeof h);
    return (int)r;
}

int er_ipc_open(uintptr_t *memory, const unsigned char *handle) {
    CUipcMemHandle h;
    CUdeviceptr p = 0;
    memcpy(&h, handle, sizeof h);
    CUresult r = cuIpcOpenMemHandle(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    *memory = (uintptr_t)p;
    return (int)r;
}

int er_ipc_close(uintptr_t memory) { return (int)cuIpcCloseMemHandle((CUdeviceptr)memory); }

const char *er_result_name(int result) {
    const char *name = NULL;
    cuGetErrorName((CUresult)result, &name);
    return name ? name : "CUDA error";
}

const char *er_result_text(int result) {
    const char *text = NULL;
    cuGetErrorString((CUresult)result, &text);
    return text ? text : "unknown";
}
