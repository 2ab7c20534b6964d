package pace

import "testing"

// How many tasks a lease has follows how long they run, within bounds.
func TestPace_DepthFollowsTheMeasuredTime(t *testing.T) {
	for _, x := range []struct {
		us          float64
		depth, deep int
	}{{1, 512, 512}, {10, 200, 401}, {1999, 1, 4}, {2000, 1, 3}, {4000, 1, 2}, {19999, 1, 2}, {20000, 1, 0}, {1e9, 1, 0}} {
		var p Pace
		if p.Measure(x.us); p.Micros != x.us || p.Depth != x.depth || p.Deep != x.deep {
			t.Errorf("%g µs: %+v, want %d and %d", x.us, p, x.depth, x.deep)
		}
	}
	p := Pace{}
	p.set(100)
	if p.Measure(100_000); p.Micros != 100+300/8.0 {
		t.Errorf("one long call among short ones: %g µs", p.Micros)
	}
	if p.TooDeep(); p.Depth != 1 || p.Micros != pipelineFor {
		t.Errorf("after tasks came back: %+v", p)
	}
	p.set(50_000)
	if p.TooDeep(); p.Micros != 50_000 {
		t.Errorf("tasks that come back one at a time: %+v", p)
	}
	if smoothed(0.0, 5.0) != 5 || smoothed(8.0, 16.0) != 9 || typical(0.0, 5.0) != 5 || typical(8.0, 1000.0) != 11 {
		t.Error("the mean is wrong")
	}
}

// A worker far away has as many more tasks as it runs while an answer and the next task are on their way.
func TestAhead_AsManyAsRunDuringTheWay(t *testing.T) {
	for _, x := range []struct {
		micros, way float64
		want        int
	}{{0, 20_000, 0}, {1000, 0, 0}, {1000, 20_000, 20}, {1000, 20_001, 21}, {1e6, 20_000, 1}, {10, 1e6, maxDepth}, {1e-9, 1e6, maxDepth}} {
		p := Pace{Micros: x.micros}
		if got := p.Ahead(x.way); got != x.want {
			t.Errorf("tasks of %g µs and a way of %g µs: %d, want %d", x.micros, x.way, got, x.want)
		}
	}
}

func TestShare_TheChoiceThatTakesLeastAtATime(t *testing.T) {
	for _, x := range []struct {
		depths []int
		want   int
	}{{nil, 1}, {[]int{0}, 1}, {[]int{7}, 7}, {[]int{0, 7, 5, 9}, 5}, {[]int{1, 7}, 1}} {
		var paces []Pace
		for _, n := range x.depths {
			paces = append(paces, Pace{Depth: n})
		}
		if got := Share(paces); got != x.want {
			t.Errorf("%v at a time: %d, want %d", x.depths, got, x.want)
		}
	}
}

func TestPace_OneLongCallAmongShortOnes_DepthStays(t *testing.T) {
	var p Pace
	for range 100 {
		p.Measure(20)
	}
	deep := p.Depth
	p.Measure(500_000)
	if p.Depth < deep/2 {
		t.Errorf("after one long call a lease has %d tasks, before %d", p.Depth, deep)
	}
}

func TestPace_CallsBecomeLong_DepthFallsWithTheFew(t *testing.T) {
	var p Pace
	for range 100 {
		p.Measure(20)
	}
	n := 0
	for ; p.Depth > 1; n++ {
		p.Measure(500_000)
	}
	if n > 16 {
		t.Errorf("%d long calls in a row passed before a lease had one at a time", n)
	}
	// What comes back says so at once.
	var q Pace
	q.Measure(20)
	if q.TooDeep(); q.Depth != 1 {
		t.Errorf("after tasks came back a lease has %d at a time, want 1", q.Depth)
	}
}
