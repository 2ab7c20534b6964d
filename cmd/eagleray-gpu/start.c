// The program's entry calls __libc_start_main, which has had a new version since glibc 2.34, so that the program would not
// start with an older one. The linker sends that call here (setup.py: --wrap), and the old version is called. It leaves
// the program's own initialisers to its caller.
#if defined(__x86_64__) && defined(__gnu_linux__)
#include <stddef.h>

typedef void (*initialiser)(int, char **, char **);
typedef int (*program)(int, char **, char **);

int old_start(program, int, char **, initialiser, void (*)(void), void (*)(void), void *);
__asm__(".symver old_start,__libc_start_main@GLIBC_2.2.5");

extern initialiser __preinit_array_start[] __attribute__((weak, visibility("hidden")));
extern initialiser __preinit_array_end[] __attribute__((weak, visibility("hidden")));
extern initialiser __init_array_start[] __attribute__((weak, visibility("hidden")));
extern initialiser __init_array_end[] __attribute__((weak, visibility("hidden")));
extern void _init(void);

static void initialise(int argc, char **argv, char **envp) {
  for (initialiser *f = __preinit_array_start; f < __preinit_array_end; f++) (*f)(argc, argv, envp);
  _init();
  for (initialiser *f = __init_array_start; f < __init_array_end; f++) (*f)(argc, argv, envp);
}

int __wrap___libc_start_main(program run, int argc, char **argv, initialiser init, void (*fini)(void),
                             void (*loader_fini)(void), void *stack) {
  (void)init;
  return old_start(run, argc, argv, initialise, fini, loader_fini, stack);
}

// Go code calls these without a C compiler in between, which could name the old versions.
void *old_open(const char *, int);
void *old_sym(void *, const char *);
char *old_error(void);
int old_close(void *);
__asm__(".symver old_open,dlopen@GLIBC_2.2.5");
__asm__(".symver old_sym,dlsym@GLIBC_2.2.5");
__asm__(".symver old_error,dlerror@GLIBC_2.2.5");
__asm__(".symver old_close,dlclose@GLIBC_2.2.5");

void *__wrap_dlopen(const char *name, int flags) { return old_open(name, flags); }
void *__wrap_dlsym(void *library, const char *name) { return old_sym(library, name); }
char *__wrap_dlerror(void) { return old_error(); }
int __wrap_dlclose(void *library) { return old_close(library); }
#endif
