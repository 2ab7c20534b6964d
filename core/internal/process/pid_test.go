package process

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

func TestWritePid_ReadMeanwhile_IsNeverEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WritePid(dir, HeadPid); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	over := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if b, err := os.ReadFile(filepath.Join(dir, HeadPid)); err != nil || string(b) != strconv.Itoa(os.Getpid())+"\n" {
					t.Errorf("%q, %v", b, err)
					return
				}
			}
		})
	}
	for range 500 {
		if err := WritePid(dir, HeadPid); err != nil {
			t.Error(err)
		}
	}
	close(over)
	readers.Wait()
}
