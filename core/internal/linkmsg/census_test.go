package linkmsg

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPart_ComesBack_UnlessTooLargeOrOfAnotherRelease(t *testing.T) {
	use := wire.NodeUse{NodeID: []byte{1}, Available: map[string]int64{"CPU": 3}, Demands: []wire.Demand{{Name: "f", Count: 2}}}
	b, fits, err := EncodePart(&use, MaxPart)
	if err != nil || !fits {
		t.Fatal(fits, err)
	}
	var back wire.NodeUse
	if err := DecodePart(b, &back); err != nil || back.Available["CPU"] != 3 || back.Demands[0].Name != "f" {
		t.Errorf("back comes %+v, %v", back, err)
	}
	if _, fits, err := EncodePart(&use, 10); fits || err != nil {
		t.Errorf("more than 10 bytes fit: %v, %v", fits, err)
	}
	other, err := Encode("a part", &Part{Wire: wire.Version + 1, Body: []byte{0xc0}})
	if err != nil {
		t.Fatal(err)
	}
	if err := DecodePart(other, &back); fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), "another release") {
		t.Errorf("of another release: %v", err)
	}
	for what, body := range map[string][]byte{"nested without end": bytes.Repeat([]byte{0x91}, 1000), "a text": {0xa1, 'x'}, "cut off": {0x92, 0xc0}} {
		bad, err := Encode("a part", &Part{Wire: wire.Version, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if err := DecodePart(bad, &back); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := DecodePart(make([]byte, MaxPart+2<<10), &back); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("too large: %v", err)
	}
}
