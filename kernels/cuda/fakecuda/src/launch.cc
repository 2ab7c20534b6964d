// Modules, launches, streams and events. Everything is done when a call returns.
#include "fake.h"

#include <chrono>
#include <dlfcn.h>
#include <memory>
#include <string.h>

namespace {
typedef std::chrono::steady_clock Clock;

struct Function {
    void *kernel;
    void (*launch)(void *, const unsigned *, const unsigned *, size_t, void **);
};

// A kernel is looked up in a shared object: the one that the comment "// host:"
// of its PTX names, else the project's own kernels, beside this library.
struct Module {
    std::string ptx;
    void *object;
    std::vector<std::unique_ptr<Function>> functions;
};

struct Event {
    bool recorded;
    Clock::time_point at;
};

std::string object_of(const std::string &ptx) {
    size_t at = ptx.find("// host: ");
    if (at != std::string::npos) return ptx.substr(at + 9, ptx.find('\n', at) - at - 9);
    Dl_info here;
    dladdr((void *)object_of, &here);
    std::string path = here.dli_fname;
    return path.substr(0, path.rfind('/') + 1) + "kernels.so";
}

int known(const char *function, std::set<void *> Device::*handles, void *handle) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin(function, &d)) return code;
    if (!handle || (d->*handles).count(handle)) return OK;
    faults.bad_handles++;
    changed();
    return INVALID_HANDLE;
}

template <class T> int create(const char *function, std::set<void *> Device::*handles, void **handle) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin(function, &d)) return code;
    (d->*handles).insert(*handle = new T());
    changed();
    return OK;
}

template <class T> int destroy(const char *function, std::set<void *> Device::*handles, void *handle) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (int code = known(function, handles, handle)) return code;
    Device *d;
    begin("", &d);
    (d->*handles).erase(handle);
    delete (T *)handle;
    changed();
    return OK;
}
} // namespace

EXPORT int cuModuleLoadData(void **module, const void *image) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    Device *d;
    if (int code = begin("cuModuleLoadData", &d)) return code;
    std::string ptx = (const char *)image;
    if (ptx.find(".visible .entry") == std::string::npos) return INVALID_IMAGE;
    void *object = dlopen(object_of(ptx).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object) return INVALID_IMAGE;
    d->modules.insert(*module = new Module{ptx, object, {}});
    return OK;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned, void *, void *) {
    return cuModuleLoadData(module, image);
}

EXPORT int cuModuleUnload(void *module) { return destroy<Module>("cuModuleUnload", &Device::modules, module); }

EXPORT int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (int code = known("cuModuleGetFunction", &Device::modules, module)) return code;
    if (module->ptx.find(".entry " + std::string(name) + "(") == std::string::npos) return NOT_FOUND;
    auto find = (void *(*)(const char *))dlsym(module->object, "fake_find");
    auto launch = (void (*)(void *, const unsigned *, const unsigned *, size_t, void **))dlsym(module->object, "fake_launch");
    if (!find || !launch || !find(name)) return NOT_FOUND;
    module->functions.emplace_back(new Function{find(name), launch});
    *function = module->functions.back().get();
    return OK;
}

EXPORT int cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **args, void **) {
    {
        std::lock_guard<std::recursive_mutex> hold(lock);
        if (int code = known("cuLaunchKernel", &Device::streams, stream)) return code;
    }
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || gx > 0x7fffffff) return INVALID_VALUE;
    if (!bx || !by || !bz || (size_t)bx * by * bz > 1024 || bz > 64 || shared > 48 << 10) return INVALID_VALUE;
    f->launch(f->kernel, grid, block, shared, args);
    return OK;
}

EXPORT int cuStreamCreate(void **stream, unsigned) { return create<int>("cuStreamCreate", &Device::streams, stream); }
EXPORT int cuStreamDestroy_v2(void *stream) { return destroy<int>("cuStreamDestroy_v2", &Device::streams, stream); }
EXPORT int cuStreamSynchronize(void *stream) { return known("cuStreamSynchronize", &Device::streams, stream); }
EXPORT int cuStreamQuery(void *stream) { return known("cuStreamQuery", &Device::streams, stream); }

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned) {
    if (int code = known("cuStreamWaitEvent", &Device::streams, stream)) return code;
    std::lock_guard<std::recursive_mutex> hold(lock);
    for (auto &d : devices) { // the event may be another device's
        if (d.events.count(event)) return OK;
    }
    return known("cuStreamWaitEvent", &Device::events, event);
}

EXPORT int cuEventCreate(void **event, unsigned) { return create<Event>("cuEventCreate", &Device::events, event); }
EXPORT int cuEventDestroy_v2(void *event) { return destroy<Event>("cuEventDestroy_v2", &Device::events, event); }
EXPORT int cuEventQuery(void *event) { return known("cuEventQuery", &Device::events, event); }
EXPORT int cuEventSynchronize(void *event) { return known("cuEventSynchronize", &Device::events, event); }

EXPORT int cuEventRecord(Event *event, void *stream) {
    if (int code = known("cuEventRecord", &Device::streams, stream)) return code;
    if (int code = known("cuEventRecord", &Device::events, event)) return code;
    *event = {true, Clock::now()};
    return OK;
}

EXPORT int cuEventElapsedTime(float *ms, Event *from, Event *to) {
    if (int code = known("cuEventElapsedTime", &Device::events, from)) return code;
    if (int code = known("cuEventElapsedTime", &Device::events, to)) return code;
    if (!from->recorded || !to->recorded) return INVALID_HANDLE;
    *ms = std::chrono::duration<float, std::milli>(to->at - from->at).count();
    return OK;
}
