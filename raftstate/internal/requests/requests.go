package requests

import "sync"

// Requests are those of one sender.
type Requests struct {
	most  uint64 // how many numbers one that never ends holds up
	mu    sync.Mutex
	last  uint64              // the newest request's number
	low   uint64              // the requests up to this number have ended
	ended map[uint64]struct{} // the requests above low that have ended
}

// New returns the requests of a sender. One that never ends holds up at most so many numbers: more are not kept by who answers
// them.
func New(most int) *Requests { return &Requests{most: uint64(most)} }

// Begin returns the number of a new request.
func (r *Requests) Begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	if r.last-r.low > r.most {
		r.end(r.low + 1)
	}
	return r.last
}

// end notes that nobody will send the request again; the lock is held.
func (r *Requests) end(seq uint64) {
	if seq <= r.low {
		return
	}
	if seq > r.low+1 {
		if r.ended == nil {
			r.ended = map[uint64]struct{}{}
		}
		r.ended[seq] = struct{}{}
		return
	}
	for r.low++; ; r.low++ {
		if _, ended := r.ended[r.low+1]; !ended {
			return
		}
		delete(r.ended, r.low+1)
	}
}

// Finished notes that nobody will send the request again.
func (r *Requests) Finished(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(seq)
}

// Answered returns a number below which all requests have ended, at most that of the request itself.
func (r *Requests) Answered(seq uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.low+1, seq)
}
