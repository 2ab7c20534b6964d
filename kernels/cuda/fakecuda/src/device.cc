// Initialisation, devices, contexts, errors, the report.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

std::recursive_mutex lock;
std::vector<Device> devices;
Faults faults;

namespace {
int owner;    // the process that called cuInit; a forked child must not go on
int lost = 0; // the result that every call gives after the context was lost
thread_local std::vector<Device *> contexts;

std::string text(const char *name, const char *otherwise = "") {
    const char *v = getenv(name);
    return v ? v : otherwise;
}

std::vector<std::string> split(const std::string &s) {
    std::vector<std::string> parts;
    for (size_t at = 0, end; at <= s.size(); at = end + 1) {
        end = std::min(s.find(',', at), s.size());
        parts.push_back(s.substr(at, end - at));
    }
    return parts;
}

// EAGLERAY_FAKE_CUDA_FAIL=cuMemAlloc_v2=2,… makes calls of those functions fail.
int injected(const char *function) {
    for (auto &one : split(text("EAGLERAY_FAKE_CUDA_FAIL"))) {
        size_t is = one.find('=');
        if (is != std::string::npos && one.substr(0, is) == function) return atoi(one.c_str() + is + 1);
    }
    return 0;
}

Device make(int index) {
    Device d;
    std::vector<std::string> uuids = split(text("EAGLERAY_FAKE_CUDA_UUIDS"));
    char uuid[64];
    snprintf(uuid, sizeof uuid, "GPU-fa4e0000-0000-0000-0000-%012d", index);
    d.uuid = index < (int)uuids.size() && !uuids[index].empty() ? uuids[index] : uuid;
    d.total = setting("EAGLERAY_FAKE_CUDA_MEMORY", 256 << 20);
    return d;
}

// CUDA_VISIBLE_DEVICES as the driver reads it: indices or the beginnings of
// UUIDs, up to the first that names no device.
void choose() {
    std::vector<Device> all;
    for (size_t i = 0, n = setting("EAGLERAY_FAKE_CUDA_DEVICES", 1); i < n; i++) all.push_back(make((int)i));
    if (!getenv("CUDA_VISIBLE_DEVICES")) {
        devices = all;
        return;
    }
    for (auto &want : split(text("CUDA_VISIBLE_DEVICES"))) {
        size_t found = all.size();
        char *end;
        long index = strtol(want.c_str(), &end, 10);
        if (!want.empty() && !*end && index >= 0) found = (size_t)index;
        else
            for (size_t i = 0; i < all.size() && !want.empty(); i++)
                if (all[i].uuid.compare(0, want.size(), want) == 0) found = i;
        if (found >= all.size()) return;
        devices.push_back(all[found]);
    }
}

} // namespace

// The report is written anew at each change: a process may end without notice.
void changed() {
    std::string path = text("EAGLERAY_FAKE_CUDA_REPORT");
    if (path.empty()) return;
    FILE *f = fopen((path + "." + std::to_string(getpid())).c_str(), "w");
    if (!f) return;
    size_t leaks = 0, bytes = 0, streams = 0, events = 0, modules = 0;
    for (auto &d : devices) {
        for (auto &a : d.allocations) leaks++, bytes += a.second;
        streams += d.streams.size(), events += d.events.size(), modules += d.modules.size();
    }
    fprintf(f, "leaks=%zu bytes=%zu streams=%zu events=%zu modules=%zu double_frees=%d overruns=%d bad_handles=%d\n",
            leaks, bytes, streams, events, modules, faults.double_frees, faults.overruns, faults.bad_handles);
    fclose(f);
}

size_t setting(const char *name, size_t otherwise) {
    std::string v = text(name);
    return v.empty() ? otherwise : strtoull(v.c_str(), nullptr, 0);
}

int begin(const char *function, Device **device) {
    if (!owner || owner != getpid()) return NOT_INITIALIZED;
    if (lost) return lost;
    if (device) {
        if (contexts.empty() || !contexts.back()) return INVALID_CONTEXT;
        *device = contexts.back();
    }
    int code = injected(function);
    if (code >= ILLEGAL_ADDRESS && code < 720) lost = code;
    return code;
}

EXPORT int cuInit(unsigned flags) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (flags) return INVALID_VALUE;
    if (owner) return owner == getpid() ? OK : NOT_INITIALIZED;
    owner = getpid();
    if (int code = injected("cuInit")) return code;
    choose();
    if (devices.empty()) return NO_DEVICE;
    return OK;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = (int)setting("EAGLERAY_FAKE_CUDA_DRIVER", 12080);
    return OK;
}

EXPORT int cuDeviceGetCount(int *count) {
    if (int code = begin("cuDeviceGetCount")) return code;
    *count = (int)devices.size();
    return OK;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    if (int code = begin("cuDeviceGet")) return code;
    if (ordinal < 0 || ordinal >= (int)devices.size()) return INVALID_DEVICE;
    *device = ordinal;
    return OK;
}

EXPORT int cuDeviceGetName(char *name, int size, int) {
    snprintf(name, size, "Fake GPU");
    return OK;
}

EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device) {
    int at = 0;
    for (char c : devices[device].uuid.substr(4)) {
        if (c == '-' || at == 32) continue;
        int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
        uuid[at / 2] = (unsigned char)(at % 2 ? uuid[at / 2] << 4 | digit : digit);
        at++;
    }
    return OK;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = devices[device].total;
    return OK;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
    switch (attribute) {
    case 16: *value = 4; return OK; // multiprocessors
    case 41: *value = 1; return OK; // unified addressing
    case 75: *value = (int)setting("EAGLERAY_FAKE_CUDA_CAPABILITY", 80) / 10; return OK;
    case 76: *value = (int)setting("EAGLERAY_FAKE_CUDA_CAPABILITY", 80) % 10; return OK;
    }
    *value = 0;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (int code = begin("cuDevicePrimaryCtxRetain")) return code;
    Device &d = devices[device];
    if (!d.memory) {
        d.file = memfd_create("fakecuda", MFD_CLOEXEC);
        if (d.file < 0 || ftruncate(d.file, (off_t)d.total)) return OUT_OF_MEMORY;
        void *at = mmap(nullptr, d.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, d.file, 0);
        if (at == MAP_FAILED) return OUT_OF_MEMORY;
        d.memory = (char *)at;
    }
    d.retained++;
    *context = &d;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    devices[device].retained--;
    return OK;
}

EXPORT int cuCtxSetCurrent(void *context) {
    if (int code = begin("cuCtxSetCurrent")) return code;
    if (!contexts.empty()) contexts.pop_back();
    if (context) contexts.push_back((Device *)context);
    return OK;
}

EXPORT int cuCtxGetCurrent(void **context) {
    if (int code = begin("cuCtxGetCurrent")) return code;
    *context = contexts.empty() ? nullptr : contexts.back();
    return OK;
}

EXPORT int cuCtxPushCurrent_v2(void *context) {
    if (int code = begin("cuCtxPushCurrent_v2")) return code;
    contexts.push_back((Device *)context);
    return OK;
}

EXPORT int cuCtxPopCurrent_v2(void **context) {
    if (contexts.empty()) return INVALID_CONTEXT;
    *context = contexts.back();
    contexts.pop_back();
    return OK;
}

EXPORT int cuCtxGetDevice(int *device) {
    Device *d;
    if (int code = begin("cuCtxGetDevice", &d)) return code;
    *device = (int)(d - devices.data());
    return OK;
}

EXPORT int cuCtxSynchronize(void) {
    Device *d;
    return begin("cuCtxSynchronize", &d);
}

EXPORT int cuGetErrorName(int code, const char **name) {
    static const std::map<int, const char *> names = {
        {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"}, {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"}, {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"}, {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"}, {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
    auto it = names.find(code);
    *name = it == names.end() ? "CUDA_ERROR_UNKNOWN" : it->second;
    return OK;
}

EXPORT int cuGetErrorString(int code, const char **text) { return cuGetErrorName(code, text); }
