package resource

import (
	"encoding/json"
	"os"
	"strconv"
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

// A size that is written exactly is read back as the same number, and has the
// largest unit that gives a whole number below 10,000.
func TestFormatBytes_WholeUnits_ReadBackExactly(t *testing.T) {
	units := []string{"TiB", "GiB", "MiB", "KiB", "GB", "MB", "kB"}
	for i, unit := range units {
		scale, err := ParseBytes("1 " + unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int64{1, 2, 3, 7, 999, 1023, 9999} {
			want := strconv.FormatInt(k, 10) + " " + unit
			for _, larger := range units[:i] {
				if s, _ := ParseBytes("1 " + larger); k*scale%s == 0 && k*scale/s < 10_000 {
					want = strconv.FormatInt(k*scale/s, 10) + " " + larger
					break
				}
			}
			if got := FormatBytes(k * scale); got != want {
				t.Errorf("FormatBytes(%d) = %q, want %q", k*scale, got, want)
			}
		}
	}
}

// Other sizes have one decimal of KiB, MiB or GiB, whichever is the largest
// that is not above the size; below 10,000 they are bytes.
func TestFormatBytes_OtherSizes_OneDecimal(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 9_999: "9999 B", 10_001: "9.8 KiB", 1<<20 - 1: "1024 KiB", 1<<20 + 1: "1 MiB", 3<<19 + 1: "1.5 MiB",
		1<<30 - 1: "1024 MiB", 1<<30 + 1: "1 GiB", 3<<29 + 1: "1.5 GiB", 10_000 << 40: "10240000 GiB", 10_000_001: "9.5 MiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

// Memory of GPUs is written as bytes, rounded up; other amounts as numbers.
func TestText_MemoryAsBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		a    Amount
		want string
	}{
		{GPUMemory, FromInt(8 << 30), "8 GiB"}, {GPUMemory, FromInt(1500), "1500 B"}, {GPUMemory, 1, "1 B"}, {GPUMemory, Unit + 1, "2 B"},
		{GPUMemory, 0, "0 B"}, {GPU, FromInt(8), "8"}, {CPU, 5000, "0.5"},
	} {
		if got := Text(c.name, c.a); got != c.want {
			t.Errorf("%d of %s is %q, want %q", c.a, c.name, got, c.want)
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
