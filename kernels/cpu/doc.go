// Package cpu is the back end of package kernels for the processor: C loops
// that the compiler turns into SIMD, built for several instruction sets, of
// which the best that the processor has is picked at start.
//
// Work is done in the calling thread and is complete when a call returns. So
// streams have nothing to order, and an event is just a point in time. Memory
// is aligned to 64 bytes; large blocks are kept for a while after they are
// freed (memory.go), because the kernel's clearing of fresh pages costs more
// than most operations.
//
// The C is layered: isa_*.c are the loops over contiguous blocks, once for each
// instruction set (block_*.h), behind one table; walk.c walks arrays with any
// strides block by block; map.c, reduce.c, softmax.c and matmul.c combine both.
package cpu
