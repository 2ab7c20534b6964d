package resource

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The table is read by the Python package's test too: both parse alike.
func TestParseBytes_Table(t *testing.T) {
	text, err := os.ReadFile("testdata/sizes.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Good map[string]int64
		Bad  map[string]string
	}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Good) < 10 || len(table.Bad) < 10 {
		t.Fatalf("the table has %d and %d rows", len(table.Good), len(table.Bad))
	}
	for in, want := range table.Good {
		if got, err := ParseBytes(in); got != want || err != nil {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for in, want := range table.Bad {
		if got, err := ParseBytes(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBytes(%q) = %d, %v; want …%s…", in, got, err, want)
		}
	}
}

func TestFormatBytes_ShortestExactElseRounded(t *testing.T) {
	for n, want := range map[int64]string{
		8 << 30: "8 GiB", 16e9: "16 GB", 500 << 20: "500 MiB", 1: "1 B", 1025: "1025 B", 3 << 29: "1536 MiB",
		85899345921: "80 GiB", 1234567890: "1.1 GiB", 12345678: "11.8 MiB", 123457: "120.6 KiB", 1 << 40: "1 TiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
