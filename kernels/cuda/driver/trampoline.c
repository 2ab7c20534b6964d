//go:build cuda && cgo

// A trampoline keeps every argument where it is, whatever their number and types,
// and jumps to the driver's function.

#define FUNCTION(name) ".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ",%function\n" #name ":\n"
#define END(name) ".size " #name ",.-" #name "\n.popsection\n"

#if defined(__x86_64__)

#define SYMBOL(name)                                                                                                  \
    __asm__(FUNCTION(name) "endbr64\n movq er_symbol_" #name "(%rip),%r11\n testq %r11,%r11\n je 1f\n jmp *%r11\n"    \
                           "1: leaq er_symbol_" #name "(%rip),%r11\n jmp er_driver_slow\n" END(name));

// r11 is the symbol. The return address and six pushes leave the stack off by
// eight bytes from what a call wants; rbp makes it even.
__asm__(FUNCTION(er_driver_slow) "pushq %rbp\n movq %rsp,%rbp\n"
        "pushq %rdi\n pushq %rsi\n pushq %rdx\n pushq %rcx\n pushq %r8\n pushq %r9\n subq $128,%rsp\n"
        "movups %xmm0,0(%rsp)\n movups %xmm1,16(%rsp)\n movups %xmm2,32(%rsp)\n movups %xmm3,48(%rsp)\n"
        "movups %xmm4,64(%rsp)\n movups %xmm5,80(%rsp)\n movups %xmm6,96(%rsp)\n movups %xmm7,112(%rsp)\n"
        "movq %r11,%rdi\n call er_driver_resolve\n movq %rax,%r11\n"
        "movups 0(%rsp),%xmm0\n movups 16(%rsp),%xmm1\n movups 32(%rsp),%xmm2\n movups 48(%rsp),%xmm3\n"
        "movups 64(%rsp),%xmm4\n movups 80(%rsp),%xmm5\n movups 96(%rsp),%xmm6\n movups 112(%rsp),%xmm7\n"
        "addq $128,%rsp\n popq %r9\n popq %r8\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n"
        "jmp *%r11\n" END(er_driver_slow));

#elif defined(__aarch64__)

#define SYMBOL(name)                                                                                                  \
    __asm__(FUNCTION(name) "hint #34\n adrp x17,er_symbol_" #name "\n add x17,x17,:lo12:er_symbol_" #name "\n"           \
                           "ldr x16,[x17]\n cbz x16,1f\n br x16\n1: b er_driver_slow\n" END(name));

__asm__(FUNCTION(er_driver_slow) "stp x29,x30,[sp,#-208]!\n mov x29,sp\n"
        "stp x0,x1,[sp,#16]\n stp x2,x3,[sp,#32]\n stp x4,x5,[sp,#48]\n stp x6,x7,[sp,#64]\n"
        "stp q0,q1,[sp,#80]\n stp q2,q3,[sp,#112]\n stp q4,q5,[sp,#144]\n stp q6,q7,[sp,#176]\n"
        "mov x0,x17\n bl er_driver_resolve\n mov x16,x0\n"
        "ldp q0,q1,[sp,#80]\n ldp q2,q3,[sp,#112]\n ldp q4,q5,[sp,#144]\n ldp q6,q7,[sp,#176]\n"
        "ldp x0,x1,[sp,#16]\n ldp x2,x3,[sp,#32]\n ldp x4,x5,[sp,#48]\n ldp x6,x7,[sp,#64]\n"
        "ldp x29,x30,[sp],#208\n br x16\n" END(er_driver_slow));

#else
#error "no trampolines for this processor; build without the tag cuda"
#endif

#include "symbols.h"
