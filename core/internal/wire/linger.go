package wire

import "time"

// Linger is how long a process of another node counts as a holder of references after its end is known. Whoever had got a reference from it
// registers with the owner meanwhile. The pipes of control connections stay open for that time (package pipes), and what is held for the
// process, because it may have passed it on, is held for that time (package borrows).
const Linger = 2 * time.Second
