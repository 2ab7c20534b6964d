package wire

import (
	"bytes"
	"reflect"
	"testing"
)

// bodies are what messages carry.
func bodies() []any {
	return []any{
		Hello{}, HelloReply{}, Totals{}, EnvSpec{}, JobStart{}, JobStarted{}, ClassDefine{}, Alternative{},
		LeaseWant{}, LeaseGrant{}, Assignment{}, LeaseReturn{}, LeaseRef{}, LeaseBroken{}, Running{},
		ClassTrouble{}, WorkerReady{}, WorkerExit{}, ExitAnswer{}, TakenOver{}, LogBatch{}, LogLine{}, ActorCreate{},
		ActorCreated{}, ActorRef{}, ActorResolve{}, ActorState{}, ActorKill{}, ActorByName{}, ActorNamed{},
		ActorNames{}, ActorName{}, ActorStart{}, ActorReady{}, KVPut{}, KVKey{}, ObjCreate{},
		ObjPlace{}, ObjRef{}, ObjPin{}, ObjRefs{}, ObjStats{}, RefWait{}, RefValue{}, FaultBody{}, Cancel{}, Received{},
		ClusterInfo{}, Demand{}, GPUUse{}, NodeInfo{}, Ending{}, HeadState{}, ActorLost{}, ActorDeath{}, CensusAsk{}, Census{}, NodeCensus{}, SilentNode{}, ClusterAsk{}, NodeUse{}, Silent{},
		ProcessCensus{}, Held{}, TaskRow{}, Run{}, Ends{}, Place{}, StoreSums{}, ActorRow{}, JobRow{}, WorkerRow{},
		FunctionRef{}, LeaseOffer{}, LeaseRefused{},
	}
}

// FuzzMessage reads a frame's payload as a message and its body as every kind
// of body: anything may be an error, nothing may panic or take memory that the
// bytes do not pay for.
func FuzzMessage(f *testing.F) {
	for i, body := range bodies() {
		b, err := AppendMessage(nil, Request, Type(i), 7, 0, body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(b)
		if err != nil {
			return
		}
		for _, body := range bodies() {
			_ = m.Decode(reflect.New(reflect.TypeOf(body)).Interface())
		}
	})
}

// FuzzFramer cuts a stream: the frames are those that were put in, whatever
// sizes it comes in, and what is too long or cut off is an error.
func FuzzFramer(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 9, 0, 0, 0, 0}, uint8(3))
	f.Add([]byte{255, 255, 255, 255}, uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		in := framer{r: &dribble{stream, int(step%16) + 1}}
		var again []byte
		for {
			b, err := in.next(1 << 16)
			if err != nil {
				break
			}
			again = AppendFrame(again, b)
		}
		if !bytes.HasPrefix(stream, again) {
			t.Fatalf("frames %x of the stream %x", again, stream)
		}
	})
}

// dribble gives a few bytes at a time.
type dribble struct {
	left []byte
	step int
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.left) == 0 {
		return 0, ErrPeerClosed
	}
	n := copy(p, d.left[:min(d.step, len(d.left))])
	d.left = d.left[n:]
	return n, nil
}
