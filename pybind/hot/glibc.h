// Included in front of every C file of the wheel's binaries. glibc 2.32 and 2.34 moved functions of threads and of
// dynamic loading from libraries of their own into libc and gave them new versions there; a binary linked on such a
// machine does not load on an older one. The old versions are still there and do the same, so they are asked for.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__ASSEMBLER__)
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
OLD(dlclose);
OLD(dlerror);
OLD(dlopen);
OLD(dlsym);
OLD(pthread_attr_getstack);
OLD(pthread_attr_getstacksize);
OLD(pthread_attr_setstack);
OLD(pthread_attr_setstacksize);
OLD(pthread_create);
OLD(pthread_detach);
OLD(pthread_key_create);
OLD(pthread_kill);
OLD(pthread_once);
OLD(pthread_setspecific);
OLD(pthread_sigmask);
#ifdef EAGLERAY_WRAPS // the linker knows a wrapped function by its bare name only, see late.c
__asm__(".symver __real_pthread_getattr_np,pthread_getattr_np@GLIBC_2.2.5");
#else
OLD(pthread_getattr_np);
#endif
#undef OLD
#endif
