package resource

import "testing"

func TestLedger_Weigh_BytesCountAsThePartOfTheLargestDevice(t *testing.T) {
	l := withMemory(t, 20*gib, 40*gib)
	for _, c := range []struct {
		need Set
		want Amount
	}{
		{bytesOf(10 * gib), Unit / 4},
		{bytesOf(40 * gib), Unit},
		{bytesOf(400 * gib), Unit},
		{bytesOf(1), 1}, // a part is never rounded down to none
		{Set{GPUMemory: FromInt(10 * gib), GPU: Unit / 2}, Unit / 2},
		{Set{GPUMemory: FromInt(30 * gib), GPU: Unit / 2}, 3 * Unit / 4},
	} {
		before := c.need.Clone()
		if got := l.Weigh(c.need)[GPU]; got != c.want {
			t.Errorf("%s weighs %d of a device, want %d", c.need, got, c.want)
		}
		if c.need[GPU] != before[GPU] {
			t.Errorf("what was asked is changed to %s", c.need)
		}
	}
	plain := Set{CPU: Unit, GPU: Unit / 2}
	if got := l.Weigh(plain); got[GPU] != Unit/2 || got[CPU] != Unit {
		t.Errorf("a need without bytes weighs %s", got)
	}
	none := newLedger(t, Set{CPU: Unit}, nil)
	if got := none.Weigh(bytesOf(gib)); got[GPU] != 0 {
		t.Errorf("where no device has memory it weighs %s", got)
	}
}
