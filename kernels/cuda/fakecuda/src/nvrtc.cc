// A stand-in for NVRTC: g++ compiles the source for the host. What it calls PTX
// names the shared object and the kernel, which launch.cc reads.
#include <dlfcn.h>
#include <map>
#include <regex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

enum { OK = 0, INVALID_INPUT = 3, INVALID_OPTION = 5, COMPILATION = 6, NAME_NOT_VALID = 10 };

namespace {
struct Program {
    std::string source, log, ptx;
    std::vector<std::string> names;
    std::map<std::string, std::string> lowered;
};

std::string text_of(const std::string &path) {
    std::string all;
    if (FILE *f = fopen(path.c_str(), "r")) {
        char buffer[4096];
        for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) all.append(buffer, n);
        fclose(f);
    }
    return all;
}

void put(const std::string &path, const std::string &text) {
    if (FILE *f = fopen(path.c_str(), "w")) {
        fwrite(text.data(), 1, text.size(), f);
        fclose(f);
    }
}

// The source with what host.h needs: dynamic shared memory becomes a pointer,
// and the kernels that were asked for are registered.
std::string prepared(const Program &p) {
    std::regex dynamic("extern\\s+__shared__\\s+([A-Za-z_][A-Za-z_0-9 ]*?)\\s+([A-Za-z_]\\w*)\\s*\\[\\s*\\]\\s*;");
    std::string all = "#include \"host.h\"\n#line 1 \"kernel.cu\"\n";
    all += std::regex_replace(p.source, dynamic, "$1 *$2 = ($1 *)fake_shared();") + "\n#line 1 \"names\"\n";
    for (size_t i = 0; i < p.names.size(); i++)
        all += "fake_kernel *fake_asked_" + std::to_string(i) + " __attribute__((visibility(\"default\"))) = fake_registered(&" +
               p.names[i] + ");\n";
    return all;
}

std::string definitions(int count, const char *const *options, bool &valid) {
    std::string all;
    for (int i = 0; i < count; i++) {
        std::string o = options[i];
        if (o.compare(0, 15, "--define-macro=") == 0) o = "-D" + o.substr(15);
        if (o.compare(0, 2, "-D") == 0) all += " '" + o + "'";
        else if (o.compare(0, 18, "--gpu-architecture") && o.compare(0, 5, "-arch") && o.compare(0, 6, "--std=") &&
                 o.compare(0, 6, "--fmad") && o != "--use_fast_math")
            valid = false;
    }
    return all;
}

// A file in the folder of this library.
std::string beside(const char *name) {
    Dl_info here;
    dladdr((void *)beside, &here);
    std::string path = here.dli_fname;
    return path.substr(0, path.rfind('/') + 1) + name;
}

// The file, kept open without a name: nothing stays behind when the process ends.
std::string keep(const std::string &path) {
    std::string bytes = text_of(path);
    int fd = memfd_create("kernel", 0);
    if (fd < 0 || write(fd, bytes.data(), bytes.size()) != (ssize_t)bytes.size()) return "";
    return "/proc/self/fd/" + std::to_string(fd);
}

int compile(Program *p, const std::string &folder, const std::string &defines) {
    std::string source = folder + "/kernel.cc", object = folder + "/kernel.so", log = folder + "/log", here = TEXT(HERE);
    put(source, prepared(*p));
    std::string command = "g++ -std=c++17 -O1 -fPIC -fvisibility=hidden -shared -w -I" + here + defines + " -o " + object + " " +
                          source + " " + beside("host.o") + " -ldl 2>" + log;
    int status = system(command.c_str());
    p->log = text_of(log);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) return COMPILATION;
    std::string kept = keep(object);
    void *library = dlopen(kept.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        p->log = dlerror();
        return COMPILATION;
    }
    struct Kernel { // as in host.h
        void *call, *function;
        const char *name;
    };
    p->ptx = "// host: " + kept + "\n";
    for (size_t i = 0; i < p->names.size(); i++) {
        auto *kernel = (Kernel **)dlsym(library, ("fake_asked_" + std::to_string(i)).c_str());
        if (!kernel) return NAME_NOT_VALID;
        p->lowered[p->names[i]] = (*kernel)->name;
        p->ptx += ".visible .entry " + std::string((*kernel)->name) + "(\n";
    }
    return OK;
}
} // namespace

EXPORT int nvrtcCreateProgram(Program **p, const char *source, const char *, int, const char *const *, const char *const *) {
    *p = new Program{source, "", "", {}, {}};
    return OK;
}

EXPORT int nvrtcDestroyProgram(Program **p) {
    delete *p;
    *p = nullptr;
    return OK;
}

EXPORT int nvrtcAddNameExpression(Program *p, const char *name) {
    p->names.push_back(name);
    return OK;
}

EXPORT int nvrtcCompileProgram(Program *p, int count, const char *const *options) {
    bool valid = true;
    std::string defines = definitions(count, options, valid);
    if (!valid) {
        p->log = "unrecognized option";
        return INVALID_OPTION;
    }
    const char *temporary = getenv("TMPDIR");
    std::string folder = std::string(temporary ? temporary : P_tmpdir) + "/fakecuda-XXXXXX";
    if (!mkdtemp(&folder[0])) return INVALID_INPUT;
    int result = compile(p, folder, defines);
    for (const char *name : {"/kernel.cc", "/kernel.so", "/log"}) unlink((folder + name).c_str());
    rmdir(folder.c_str());
    return result;
}

EXPORT int nvrtcGetLoweredName(Program *p, const char *name, const char **lowered) {
    auto it = p->lowered.find(name);
    if (it == p->lowered.end()) return NAME_NOT_VALID;
    *lowered = it->second.c_str();
    return OK;
}

static int size(const std::string &s, size_t *n) { return *n = s.size() + 1, OK; }
static int copy(const std::string &s, char *to) { return memcpy(to, s.c_str(), s.size() + 1), OK; }

EXPORT int nvrtcGetProgramLogSize(Program *p, size_t *n) { return size(p->log, n); }
EXPORT int nvrtcGetProgramLog(Program *p, char *to) { return copy(p->log, to); }
EXPORT int nvrtcGetPTXSize(Program *p, size_t *n) { return size(p->ptx, n); }
EXPORT int nvrtcGetPTX(Program *p, char *to) { return copy(p->ptx, to); }
EXPORT int nvrtcGetCUBINSize(Program *, size_t *n) { return *n = 0, OK; } // PTX only
EXPORT int nvrtcGetCUBIN(Program *, char *) { return INVALID_INPUT; }
EXPORT const char *nvrtcGetErrorString(int result) { return result == COMPILATION ? "compilation" : "NVRTC failed"; }
EXPORT int nvrtcGetNumSupportedArchs(int *n) { return *n = 2, OK; }
EXPORT int nvrtcGetSupportedArchs(int *archs) { return archs[0] = 75, archs[1] = 90, OK; }
