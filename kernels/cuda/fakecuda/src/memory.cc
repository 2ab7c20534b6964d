// Memory: host memory that only allocated ranges of may be copied to and from.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {
const size_t ALIGN = 512, GUARD = 256;
const int PATTERN = 0xA5;

std::map<Ptr, size_t> imported; // mappings of other processes' memory
std::set<void *> pinned;

struct Handle { // the 64 bytes that travel to another process
    char magic[8];
    int process, file;
    uint64_t offset, size, total;
    char rest[24];
};
static_assert(sizeof(Handle) == 64, "CUipcMemHandle has 64 bytes");

size_t footprint(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN + GUARD * 2; }

bool intact(Ptr p, size_t n) {
    for (size_t i = 0; i < GUARD; i++)
        if (((unsigned char *)p)[n + i] != PATTERN) return false;
    return true;
}

int move(const char *function, void *to, const void *from, size_t n, Ptr a, Ptr b) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin(function, &d)) return code;
    if ((a && !inside(d, a, n)) || (b && !inside(d, b, n))) return INVALID_VALUE;
    memmove(to, from, n);
    return OK;
}
} // namespace

bool inside(Device *d, Ptr p, size_t n) {
    for (auto *known : {&d->allocations, &imported}) {
        auto it = known->upper_bound(p);
        if (it == known->begin()) continue;
        --it;
        if (p + n <= it->first + it->second) return true;
    }
    return false;
}

EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) {
    Device *d;
    if (int code = begin("cuMemGetInfo_v2", &d)) return code;
    *free = d->total - d->used;
    *total = d->total;
    return OK;
}

EXPORT int cuMemAlloc_v2(Ptr *p, size_t n) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuMemAlloc_v2", &d)) return code;
    if (!n) return INVALID_VALUE;
    Ptr base = (Ptr)d->memory, at = base;
    for (auto &a : d->allocations) { // first fit
        if (a.first - at >= footprint(n)) break;
        at = a.first + footprint(a.second);
    }
    if (n > d->total || at + footprint(n) > base + d->total) return OUT_OF_MEMORY;
    memset((void *)at, 0xFF, n); // what an array that nobody filled holds: NaN
    memset((void *)(at + n), PATTERN, GUARD);
    d->allocations[at] = n;
    d->used += footprint(n);
    *p = at;
    changed();
    return OK;
}

EXPORT int cuMemFree_v2(Ptr p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuMemFree_v2", &d)) return code;
    auto it = d->allocations.find(p);
    if (it == d->allocations.end()) {
        faults.double_frees++;
        changed();
        return INVALID_VALUE;
    }
    if (!intact(p, it->second)) faults.overruns++;
    memset((void *)p, 0xFE, it->second);
    d->used -= footprint(it->second);
    d->allocations.erase(it);
    changed();
    return OK;
}

EXPORT int cuMemGetAddressRange_v2(Ptr *base, size_t *size, Ptr p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuMemGetAddressRange_v2", &d)) return code;
    auto it = d->allocations.upper_bound(p);
    if (it == d->allocations.begin()) return NOT_FOUND;
    --it;
    if (p >= it->first + it->second) return NOT_FOUND;
    *base = it->first;
    *size = it->second;
    return OK;
}

EXPORT int cuMemcpyHtoD_v2(Ptr to, const void *from, size_t n) {
    return move("cuMemcpyHtoD_v2", (void *)to, from, n, to, 0);
}
EXPORT int cuMemcpyDtoH_v2(void *to, Ptr from, size_t n) {
    return move("cuMemcpyDtoH_v2", to, (void *)from, n, 0, from);
}
EXPORT int cuMemcpyHtoDAsync_v2(Ptr to, const void *from, size_t n, void *) {
    return move("cuMemcpyHtoDAsync_v2", (void *)to, from, n, to, 0);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, Ptr from, size_t n, void *) {
    return move("cuMemcpyDtoHAsync_v2", to, (void *)from, n, 0, from);
}
EXPORT int cuMemcpyDtoDAsync_v2(Ptr to, Ptr from, size_t n, void *) {
    return move("cuMemcpyDtoDAsync_v2", (void *)to, (void *)from, n, to, from);
}

EXPORT int cuMemHostAlloc(void **p, size_t n, unsigned) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuMemHostAlloc", &d)) return code;
    pinned.insert(*p = malloc(n));
    return OK;
}

EXPORT int cuMemFreeHost(void *p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (!pinned.erase(p)) {
        faults.double_frees++;
        changed();
        return INVALID_VALUE;
    }
    free(p);
    return OK;
}

EXPORT int cuIpcGetMemHandle(Handle *handle, Ptr p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuIpcGetMemHandle", &d)) return code;
    auto it = d->allocations.find(p);
    if (it == d->allocations.end()) return INVALID_VALUE;
    *handle = {"fakeIPC", getpid(), d->file, p - (Ptr)d->memory, it->second, d->total, {}};
    return OK;
}

// As in the driver, a process cannot open a handle of its own.
EXPORT int cuIpcOpenMemHandle_v2(Ptr *p, Handle handle, unsigned) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuIpcOpenMemHandle_v2", &d)) return code;
    if (memcmp(handle.magic, "fakeIPC", 8)) return INVALID_VALUE;
    if (handle.process == getpid()) return INVALID_CONTEXT;
    std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    FILE *f = fopen(path.c_str(), "r+");
    if (!f) return INVALID_HANDLE;
    size_t page = handle.offset & 4095;
    void *at = mmap(nullptr, handle.size + page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f),
                    (off_t)(handle.offset - page));
    fclose(f);
    if (at == MAP_FAILED) return INVALID_VALUE;
    *p = (Ptr)at + page;
    imported[*p] = handle.size;
    return OK;
}

EXPORT int cuIpcCloseMemHandle(Ptr p) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto it = imported.find(p);
    if (it == imported.end()) {
        faults.double_frees++;
        changed();
        return INVALID_VALUE;
    }
    munmap((void *)(p & ~4095ull), it->second + (p & 4095));
    imported.erase(it);
    return OK;
}
