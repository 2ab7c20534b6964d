package notice

import (
	"os"
	"sync"
)

// maxLines bounds what waits for a standard error that nobody reads.
const maxLines = 100

// Stderr writes texts to this process's standard error, in order, without holding
// anybody up. Its zero value is ready.
type Stderr struct {
	mu   sync.Mutex
	list []string
	runs bool // a goroutine writes
}

// Add queues a text to be written. The text is dropped when too many texts wait.
func (s *Stderr) Add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= maxLines {
		return
	}
	s.list = append(s.list, text)
	if !s.runs {
		s.runs = true
		go s.run()
	}
}

func (s *Stderr) run() {
	for {
		list := s.take()
		if len(list) == 0 {
			return
		}
		for _, text := range list {
			_, _ = os.Stderr.WriteString(text) // there is nobody else to tell
		}
	}
}

// take returns what waits; when that is nothing, the goroutine has to end.
func (s *Stderr) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	s.runs = len(list) > 0
	return list
}
