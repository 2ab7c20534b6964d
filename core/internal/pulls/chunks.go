package pulls

// chunks are the parts of an object that is being pulled.
type chunks struct {
	here    []bool
	missing int
	next    int   // from here on nobody has asked for a chunk
	back    []int // those before next that have to be asked for again
	came    int   // so many have come in this attempt
}

func newChunks(size uint64) chunks {
	n := int((size + chunkSize - 1) / chunkSize)
	return chunks{here: make([]bool, n), missing: n}
}

// take returns a chunk that is to be asked for.
func (c *chunks) take() (i int, ok bool) {
	if n := len(c.back); n > 0 {
		i, c.back = c.back[n-1], c.back[:n-1]
		return i, true
	}
	if c.next == len(c.here) {
		return 0, false
	}
	c.next++
	return c.next - 1, true
}

// waits reports whether there is a chunk that is to be asked for.
func (c *chunks) waits() bool { return len(c.back) > 0 || c.next < len(c.here) }

func (c *chunks) giveBack(i int) { c.back = append(c.back, i) }

func (c *chunks) arrived(i int) {
	c.here[i] = true
	c.missing--
	c.came++
}

// have reports whether a part of the object is here.
func (c *chunks) have(off, n uint64) bool {
	for i := off / chunkSize; i*chunkSize < off+n; i++ {
		if !c.here[i] {
			return false
		}
	}
	return true
}
