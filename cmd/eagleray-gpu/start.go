package main

// The file start.c lets the program start with versions of glibc that are older than the one it was built with.

import "C"
