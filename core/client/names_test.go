package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
)

func TestNewTemplate_LargerThanAFrame_Refused(t *testing.T) {
	d := startDaemon(t)
	d.worker(echo)
	c := d.driver()
	for _, x := range []*Template{
		{Kind: KindTask, Name: strings.Repeat("x", 70<<20), FID: make([]byte, 16), Returns: 1},
		{Kind: KindTask, Name: "f", FID: []byte("large-of-sixteen"), Blob: make([]byte, 70<<20), Returns: 1},
		{Kind: KindTask, Name: "f", FID: make([]byte, 16), Returns: 1, Fallback: []*Template{{Name: strings.Repeat("x", 70<<20)}}},
	} {
		if _, err := c.NewTemplate(x); fault.CodeOf(err) != fault.BadRequest || len(err.Error()) > 1000 {
			t.Errorf("%.200v", err)
		}
	}
	if got := get(t, c, submit(t, c, template(t, c, strings.Repeat("x", maxName)), "a")); got != "a" {
		t.Error(got)
	}
}
