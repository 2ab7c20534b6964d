package client

import (
	"strings"
	"testing"
)

// A generator whose exceptions are tried again has failed as a whole with the last
// one: its own object holds the exception, and reading ends with the item.
func TestStream_ExceptionAfterAllRetries_TheGeneratorItselfFails(t *testing.T) {
	d := startDaemon(t)
	d.worker(generate(func(_ *Client, i int) *Value {
		if i == 2 {
			v := exception("oops")
			return &v
		}
		return numbers(5)(nil, i)
	}))
	c := d.driver()
	tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: "g", FID: []byte("the generator's."), Blob: []byte("g"), Returns: 1, RetryErrs: true, Flow: Flow{Mode: FlowStream}})
	if err != nil {
		t.Fatal(err)
	}
	gen, _, err := c.Submit(&Call{Template: tm})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0", "1", "error ", "end"} {
		if got := next(t, c, gen); !strings.HasPrefix(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if f, err := c.Get(gen, testLimit); err != nil || f == nil || !f.IsError || !strings.Contains(string(f.Envelope), "oops") {
		t.Fatalf("the generator's own object: %+v, %v", f, err)
	}
	leave(c, gen)
	d.nothingLeft(t, c)
}
