package linkmsg

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPart_ComesBack_UnlessTooLarge(t *testing.T) {
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
	for what, body := range map[string][]byte{"nested without end": bytes.Repeat([]byte{0x91}, 1000), "a text": {0xa1, 'x'}, "cut off": {0x82, 0xc0}} {
		if err := DecodePart(body, &back); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := DecodePart(make([]byte, MaxPart+2<<10), &back); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("too large: %v", err)
	}
}

// A node reads what a later release tells, as far as it knows the fields, and what an earlier one does not tell is empty.
func TestPart_OfAnotherRelease_IsReadAsFarAsItIsKnown(t *testing.T) {
	type later struct {
		Mood      string
		Available map[string]int64
		Workers   int
	}
	b, _, err := EncodePart(&later{"good", map[string]int64{"CPU": 3}, 7}, MaxPart)
	if err != nil {
		t.Fatal(err)
	}
	var use wire.NodeUse
	if err := DecodePart(b, &use); err != nil || use.Available["CPU"] != 3 || use.Workers != 7 || use.Actors != 0 {
		t.Errorf("got %+v, %v", use, err)
	}
}

// Fields that are empty take no room: rows are not much larger than arrays would be.
func TestPart_EmptyFields_TakeNoRoom(t *testing.T) {
	var census wire.NodeCensus
	var p wire.ProcessCensus
	for i := range 1000 {
		p.Objects = append(p.Objects, wire.Held{ObjectID: make([]byte, 28), Owned: true, State: "stored", Size: int64(i), Local: 1, Site: "(put object) | program.py:main:12"})
	}
	census.Processes = append(census.Processes, p)
	b, _, err := EncodePart(&census, MaxPart)
	if err != nil || len(b) > 1000*150 {
		t.Errorf("1,000 objects take %d bytes, %v", len(b), err)
	}
	var back wire.NodeCensus
	if err := DecodePart(b, &back); err != nil || !reflect.DeepEqual(back, census) {
		t.Errorf("back comes %+v, %v", back, err)
	}
}
