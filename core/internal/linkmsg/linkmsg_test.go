package linkmsg

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// sent returns an error as the other side gets it.
func sent(t *testing.T, err error) error {
	t.Helper()
	b, failed := Encode("an answer", &Answer{Err: FromError(err), Body: Nothing})
	if failed != nil {
		t.Fatal(failed)
	}
	var a Answer
	if failed := Decode("an answer", b, MaxBody, &a); failed != nil {
		t.Fatal(failed)
	}
	return a.Err.Err()
}

// An error is the same one on the other side, for whoever asks what it is.
func TestError_Sent_IsTheSame(t *testing.T) {
	if sent(t, nil) != nil {
		t.Error("no error became one")
	}
	for name, sentinel := range sentinels {
		err := fmt.Errorf("actor x: %w", sentinel)
		got := sent(t, err)
		if !errors.Is(got, sentinel) || got.Error() != err.Error() || fault.CodeOf(got) != fault.CodeOf(err) {
			t.Errorf("%s arrives as %v with code %s", name, got, fault.CodeOf(got))
		}
		for other, s := range sentinels {
			if other != name && errors.Is(got, s) {
				t.Errorf("%s arrives as %s, too", name, other)
			}
		}
	}
	var taken *record.NameTakenError
	want := &record.NameTakenError{Namespace: "ns", Name: "n", Existing: ids.Actor{1}}
	if got := sent(t, fmt.Errorf("create: %w", want)); !errors.As(got, &taken) || *taken != *want || !errors.Is(got, record.ErrNameTaken) || fault.CodeOf(got) != fault.AlreadyExists {
		t.Errorf("a taken name arrives as %v", got)
	}
	both := fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, record.ErrClosed)
	if got := sent(t, both); !errors.Is(got, record.ErrMayHaveBeenApplied) || !errors.Is(got, record.ErrClosed) || fault.CodeOf(got) != fault.MayHaveBeenApplied {
		t.Errorf("two errors arrive as %v", got)
	}
	if got := sent(t, errors.New("plain")); fault.CodeOf(got) != fault.Internal || got.Error() != "plain" {
		t.Errorf("a plain error arrives as %v", got)
	}
	if got := sent(t, fmt.Errorf("read: %w", context.DeadlineExceeded)); fault.CodeOf(got) != fault.DeadlineExceeded {
		t.Errorf("a late answer arrives with code %s", fault.CodeOf(got))
	}
	if got := sent(t, errors.New("x"+strings.Repeat("é", 1<<20))); len(got.Error()) > maxMessage+10 || !utf8.ValidString(got.Error()) {
		t.Errorf("a text of %d bytes arrives", len(got.Error()))
	}
}

// Each sentinel of package record that a request can meet has a name on the way.
func TestSentinels_OfRecord_AllTravel(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../record/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") {
			found++
		}
		return true
	})
	if found < 5 || found != len(sentinels) {
		t.Errorf("record has %d sentinels, and %d of them travel", found, len(sentinels))
	}
}

// Two messages with one number would be taken for each other, and package wire must not use these numbers.
func TestNumbers_AreInTheirRange(t *testing.T) {
	seen := map[wire.Type]bool{}
	for _, n := range []wire.Type{THello, TAsk, TDrop, TReport, TReported, TOrder, TOrderTaken, TNews, TStock, TWant, TOffer, TSettled, TInfeasible} {
		if n < 240 || n > 255 || seen[n] {
			t.Errorf("number %d", n)
		}
		seen[n] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../wire/types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.BasicLit); ok && len(v.Value) == 3 && v.Value >= "240" && v.Value <= "255" {
			t.Errorf("package wire uses number %s", v.Value)
		}
		return true
	})
}

// Bodies are maps: a reader skips what it does not know, and finds empty what is missing.
func TestBodies_OfAnotherVersion_AreRead(t *testing.T) {
	b, err := Encode("a hello", &Hello{Version: 3, MinVersion: 1, Node: 9})
	if err != nil || b[0]&0xf0 != 0x80 {
		t.Fatalf("a hello begins with %x, %v", b[0], err)
	}
	later, err := msgpack.Marshal(map[string]any{"node": 9, "later": map[string]any{"x": []int{1}}, "min": 1})
	if err != nil {
		t.Fatal(err)
	}
	var h Hello
	if err := Decode("a hello", later, MaxHello, &h); err != nil || !reflect.DeepEqual(h, Hello{Node: 9, MinVersion: 1}) {
		t.Errorf("got %+v, %v", h, err)
	}
}

func TestCheckVersion_NamesBoth(t *testing.T) {
	if err := CheckVersion("node 3", Version, MinVersion); err != nil {
		t.Error(err)
	}
	if err := CheckVersion("node 3", Version+1, Version); err != nil {
		t.Errorf("the next version understands this one: %v", err)
	}
	for _, v := range [][2]int{{MinVersion - 1, 0}, {Version + 1, Version + 1}} {
		err := CheckVersion("node 3", v[0], v[1])
		if fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), fmt.Sprintf("node 3 speaks version %d", v[0])) || !strings.Contains(err.Error(), fmt.Sprintf("this process speaks version %d", Version)) {
			t.Errorf("version %d: %v", v[0], err)
		}
	}
}

// Two builds that follow each other settle on what both speak. The version is one of its own: that of package wire may differ.
func TestSettle_NeighboursSettleOnTheLower(t *testing.T) {
	if MinVersion != Version-1 || Version <= 207 {
		t.Errorf("versions %d to %d: a build speaks its own version and the one before, and versions up to 207 had another meaning", MinVersion, Version)
	}
	for _, c := range []struct{ version, oldest, want int }{
		{Version, MinVersion, Version}, {Version + 1, Version, Version}, {MinVersion, MinVersion, MinVersion}, {MinVersion, MinVersion - 1, MinVersion},
	} {
		if got, err := Settle("node 3", c.version, c.oldest); got != c.want || err != nil {
			t.Errorf("a peer that speaks %d to %d: %d, %v; want %d", c.oldest, c.version, got, err, c.want)
		}
	}
	for _, c := range []struct {
		version, oldest int
		first           string
	}{{Version + 2, Version + 1, "Upgrade this side first"}, {MinVersion - 1, MinVersion - 2, "Upgrade the other side first"}} {
		err := CheckRelease("the head", "2.0", "1.0", c.version, c.oldest)
		if fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), `is Eagle Ray "2.0" and this is Eagle Ray "1.0"`) || !strings.Contains(err.Error(), c.first) {
			t.Errorf("a peer that speaks %d to %d: %v", c.oldest, c.version, err)
		}
	}
}

// What a build before 208 did not say was 7 for all of them.
func TestHello_OfABuildBefore_ItsProcessesSpeakSeven(t *testing.T) {
	for _, c := range []struct{ version, wire, want int }{{207, 0, 7}, {207, 9, 7}, {208, 8, 8}, {209, 9, 9}} {
		if h := (Hello{Version: c.version, Wire: c.wire}); h.WireOf() != c.want {
			t.Errorf("version %d, wire %d: %d, want %d", c.version, c.wire, h.WireOf(), c.want)
		}
	}
}

// What a head says names its versions. Those of a build that did not say them are let pass.
func TestHeads_OfAnotherVersion_AreRefused(t *testing.T) {
	for _, c := range []struct {
		h    Heads
		says string
	}{{Heads{}, ""}, {Heads{Version: Version + 1, MinVersion: Version}, ""}, {Heads{From: 4, Version: Version + 2, MinVersion: Version + 1}, "head 4 speaks version"}} {
		if err := c.h.Check(); c.says == "" && err != nil || c.says != "" && (fault.CodeOf(err) != fault.VersionMismatch || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c.h, err)
		}
	}
}

func TestOtherRelease_OnlyOfDifferentReleases_NamesBoth(t *testing.T) {
	if text := OtherRelease("the head", "1.0", "1.0"); text != "" {
		t.Errorf("a warning of nothing: %q", text)
	}
	text := OtherRelease("the head", "2.0", "1.0")
	if !strings.Contains(text, `the head is Eagle Ray "2.0" and this is Eagle Ray "1.0"`) || !strings.Contains(text, "install the same release") {
		t.Errorf("got %q", text)
	}
}

func TestDecode_TooMuch_IsRefused(t *testing.T) {
	deep := append([]byte(strings.Repeat("\x91", 100)), 0xc0)
	for what, b := range map[string][]byte{
		"too long": make([]byte, MaxHello+1), "too deep": deep, "too wide": {0xdd, 0xff, 0xff, 0xff, 0xff}, "nothing": {}, "another type": {0x01},
	} {
		var h Hello
		if err := Decode("a hello", b, MaxHello, &h); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "a hello") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Encode("a value", &Value{Value: make([]byte, MaxBody+1)}); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "a value") {
		t.Errorf("a body that is too large: %v", err)
	}
}

// FuzzDecode reads any bytes as each body: that ends with a value or with an error.
func FuzzDecode(f *testing.F) {
	for _, v := range []any{&Hello{Version: 1}, &Ask{N: 1, Op: OpKill, Body: Nothing}, &Told{N: 1, Kind: ActorPlaced, Body: Nothing}, &InstanceTold{Message: "x"},
		&News{Nodes: []record.Node{{Address: "a", Resources: record.Resources{"CPU": 1}}}}, &Answer{Err: FromError(record.ErrDead), Body: Nothing}, &Value{Value: []byte("x")},
		&Settled{Ticket: 1, Stock: &Stock{Totals: map[string]int64{"CPU": 1}, Devices: map[string][]Device{"GPU": {{Bytes: 1}}}}}, &Want{N: 1, Needs: []map[string]int64{{"CPU": 1}}}, &Output{Lines: []OutputLine{{Pid: 1, Text: "x"}}}} {
		b, err := Encode("a seed", v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{new(Hello), new(Welcome), new(Ask), new(Answer), new(Told), new(InstanceTold), new(News), new(Stock), new(Want), new(Offer), new(Settled), new(Infeasible), new(Actors), new(Value), new(Resolve), new(Output), new(OutputTaken), new(OutputEnd), new(record.Actor)} {
			if err := Decode("a body", b, MaxBody, v); err != nil && fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("%T: %v", v, err)
			}
			if a, ok := v.(*Answer); ok {
				_ = FromError(a.Err.Err())
			}
		}
	})
}
