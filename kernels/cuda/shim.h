// The driver's calls that cu does not have, and the launch, which is called
// most: one crossing into C selects the context, launches and restores.
#pragma once

#include <stddef.h>
#include <stdint.h>

int er_launch(uintptr_t context, uintptr_t function, const unsigned *geometry, uintptr_t stream, void **args);
int er_launch_one(uintptr_t context, uintptr_t function, unsigned blocks, unsigned threads, uintptr_t stream, void *params);

int er_device_uuid(int device, unsigned char *uuid, int *mig);
int er_host_alloc(void **memory, size_t bytes);
int er_host_free(void *memory);
int er_ipc_get(unsigned char *handle, uintptr_t memory);
int er_ipc_open(uintptr_t *memory, const unsigned char *handle);
int er_ipc_close(uintptr_t memory);

const char *er_result_name(int result);
const char *er_result_text(int result);
