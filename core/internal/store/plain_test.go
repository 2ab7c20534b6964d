package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
)

func TestDecodePlain_HostileMsgpack_ErrorNotCrash(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, 1<<20)
	for name, meta := range map[string]string{
		"nothing":             "",
		"two values":          "\x01\x01",
		"never used byte":     "\xc1",
		"deep nesting":        string(append(deep, 1)),
		"map of 2^32":         "\xdf\xff\xff\xff\xff\x01",
		"array of 2^32":       "\xdd\xff\xff\xff\xff",
		"string of 2^32":      "\xdb\xff\xff\xff\xff",
		"ext of 2^32":         "\xc9\xff\xff\xff\xff\x01",
		"float cut off":       "\xcb\x00",
		"missing value":       "\x81\x01",
		"key that is a list":  "\x81\x90\x01",
		"key that is a map":   "\x82\xa1a\x01\x80\x01",
		"extension type":      "\xd4\x05\x01",
		"extension in a list": "\x91\xc7\x01\x05\x01",
	} {
		if v, err := DecodePlain([]byte(meta)); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestDecodeFault_CodeAndMessage_OrAnError(t *testing.T) {
	err := DecodeFault([]byte("\x93\xaastore_full\xa4text\xa1f"))
	var f *fault.Error
	if fault.CodeOf(err) != fault.StoreFull || !strings.Contains(err.Error(), "text") || !errors.As(err, &f) || f.Task != "f" {
		t.Errorf("fault: %v", err)
	}
	for _, body := range []string{"", "\x01", "\x90", "\x92\x01\x02"} {
		if err := DecodeFault([]byte(body)); err == nil || fault.CodeOf(err) != fault.Internal {
			t.Errorf("a fault with body %q: %v", body, err)
		}
	}
}

// The hand-written reader gives values or errors for all bytes.
func FuzzPlain(f *testing.F) {
	for _, b := range []string{"\xc0", "\x01", "\xff", "\xce\x00\x01\x11\x70", "\xa1a", "\x92\x01\xa1b", "\x81\xa1k\x80", "\xc4\x01x"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodePlain(b)
		if err == nil && scan(b) != nil {
			t.Fatalf("%v was read from bytes that are not one value", v)
		}
	})
}
