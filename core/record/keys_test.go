package record

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
)

// What is just allowed is allowed, and one more is refused with what to do.
func TestKeyWrite_Check_AtItsBounds(t *testing.T) {
	longest, most := strings.Repeat("k", MaxKeyBytes), make([]byte, MaxValueBytes)
	for _, c := range []struct {
		w     KeyWrite
		words string // "": allowed
	}{
		{KeyWrite{Key: "k"}, ""},
		{KeyWrite{Key: longest, Value: most, If: true, Version: 1, Lease: 1}, ""},
		{KeyWrite{Key: "k", Delete: true, If: true, Version: 1}, ""},
		{KeyWrite{Key: "日本"}, ""},
		{KeyWrite{}, "the key is empty"},
		{KeyWrite{Key: longest + "k"}, "has 1025 bytes, at most 1024"},
		{KeyWrite{Key: "k\xff"}, "is not UTF-8"},
		{KeyWrite{Key: "k", Value: append(most, 0)}, "has 65537 bytes, at most 65536"},
		{KeyWrite{Key: "k", Delete: true, Value: []byte("v")}, "and has a value"},
		{KeyWrite{Key: "k", Delete: true, Lease: 1}, "and has a lease"},
	} {
		err := c.w.Check()
		if (err == nil) != (c.words == "") || err != nil && (!strings.Contains(err.Error(), c.words) || fault.CodeOf(err) != fault.BadRequest) {
			t.Errorf("%.60q, %d bytes: got %v, want %q", c.w.Key, len(c.w.Value), err, c.words)
		}
	}
	if err := CheckKeyPrefix(""); err != nil {
		t.Errorf("the prefix of all keys: %v", err)
	}
}

func TestCheckKeyLease_AtItsBounds(t *testing.T) {
	for ms, allowed := range map[int64]bool{999: false, 1000: true, 3_600_000: true, 3_600_001: false, 0: false, -1: false, 1 << 62: false} {
		if err := CheckKeyLease(ms); (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "from 1s to 1h") {
			t.Errorf("%d ms: %v", ms, err)
		}
	}
	if ttl := (KeyLease{TTLMs: 1500}).TTL(); ttl.Milliseconds() != 1500 {
		t.Errorf("got %v", ttl)
	}
}
