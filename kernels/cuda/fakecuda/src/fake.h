// What the parts of the stand-in driver share. It is C++ without NVIDIA's
// header: handles are pointers, results are ints.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

enum {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
    ILLEGAL_ADDRESS = 700
};

typedef uint64_t Ptr;

// A device's memory is one file without a name, which another process can map
// through /proc. An allocation is followed by a guard that is checked when it
// is freed.
struct Device {
    std::string uuid;
    int file = -1;
    char *memory = nullptr;
    size_t total = 0, used = 0;
    std::map<Ptr, size_t> allocations;
    std::set<void *> streams, events, modules;
    int retained = 0;
};

// Faults are counted and written to the report.
struct Faults {
    int double_frees = 0, overruns = 0, bad_handles = 0;
};

extern std::recursive_mutex lock;
extern std::vector<Device> devices;
extern Faults faults;

// changed is called with the lock held after allocations, handles or faults have changed.
void changed();

size_t setting(const char *name, size_t otherwise);

// begin is the first thing in every function: 0, or what it must answer. With a
// device it wants a current context and gives its device.
int begin(const char *function, Device **device = nullptr);

// inside says whether n bytes from p on lie in one allocation.
bool inside(Device *d, Ptr p, size_t n);
