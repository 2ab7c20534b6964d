// Runs the kernels of the shared object that it is linked into.
#include "host.h"

#include <dlfcn.h>
#include <mutex>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

static fake_kernel *kernels;

fake_kernel::fake_kernel(void (*f)(), void (*c)(void (*)(), void **)) : call(c), function(f), name(""), next(kernels) {
    Dl_info info;
    if (dladdr((void *)f, &info) && info.dli_sname) name = info.dli_sname;
    kernels = this;
}

namespace {

// A fiber lives on: after a thread it waits for the next one to run.
struct Fiber {
    jmp_buf at;
    ucontext_t start;
    bool started = false, done = true;
};

const size_t STACK = 256 << 10;
std::vector<Fiber *> fibers;
Fiber *current;
jmp_buf scheduler;
std::mutex one_launch;
fake_kernel *kernel;
void **arguments;
std::vector<char> shared;

void leave() {
    if (!_setjmp(current->at)) _longjmp(scheduler, 1);
}

void fiber_main() {
    for (;;) {
        kernel->call(kernel->function, arguments);
        current->done = true;
        leave();
    }
}

void enter(Fiber *f) {
    current = f;
    if (_setjmp(scheduler)) return;
    if (f->started) _longjmp(f->at, 1);
    f->started = true;
    setcontext(&f->start);
}

void prepare(ucontext_t *c) { getcontext(c); }

void grow(size_t n) {
    while (fibers.size() < n) {
        Fiber *f = new Fiber;
        prepare(&f->start);
        f->start.uc_stack.ss_sp = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        f->start.uc_stack.ss_size = STACK - fibers.size() % 64 * 1088; // else all stacks fight for the same cache lines
        f->start.uc_link = nullptr;
        makecontext(&f->start, fiber_main, 0);
        fibers.push_back(f);
    }
}

void run_block() {
    size_t n = (size_t)blockDim.x * blockDim.y * blockDim.z, done = 0;
    for (size_t i = 0; i < n; i++) fibers[i]->done = false;
    while (done < n) {
        for (size_t i = 0; i < n; i++) {
            if (fibers[i]->done) continue;
            threadIdx = {(unsigned)(i % blockDim.x), (unsigned)(i / blockDim.x % blockDim.y),
                         (unsigned)(i / blockDim.x / blockDim.y)};
            enter(fibers[i]);
            done += fibers[i]->done;
        }
    }
}

} // namespace

void __syncthreads() { leave(); }
void *fake_shared() { return shared.data(); }

EXPORT fake_kernel *fake_find(const char *name) {
    for (fake_kernel *k = kernels; k; k = k->next)
        if (!strcmp(k->name, name)) return k;
    return nullptr;
}

EXPORT void fake_launch(fake_kernel *k, const unsigned *grid, const unsigned *block, size_t bytes, void **args) {
    std::lock_guard<std::mutex> hold(one_launch);
    kernel = k;
    arguments = args;
    shared.assign(bytes, (char)0xA5);
    gridDim = dim3(grid[0], grid[1], grid[2]);
    blockDim = dim3(block[0], block[1], block[2]);
    grow((size_t)block[0] * block[1] * block[2]);
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                run_block();
            }
}
