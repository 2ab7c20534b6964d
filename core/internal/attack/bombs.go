package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// armed returns a value of the type in which every field for bytes or text has a bomb.
func (a *attacker) armed(t reflect.Type, kind, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(string(a.bomb(kind)))
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.Uint8 && t == reflect.TypeFor[msgpack.RawMessage]():
			b, _ := msgpack.Marshal(a.bomb(kind)) // bytes can always be encoded
			v.SetBytes(b)
		case t.Elem().Kind() == reflect.Uint8:
			v.SetBytes(a.bomb(kind))
		case depth < 6:
			v.Set(reflect.Append(v, a.armed(t.Elem(), kind, depth+1)))
		}
	case reflect.Map:
		if depth < 6 {
			v.Set(reflect.MakeMap(t))
			v.SetMapIndex(a.armed(t.Key(), kind, depth+1), a.armed(t.Elem(), kind, depth+1))
		}
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(a.armed(t.Elem(), kind, depth+1))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(a.armed(t.Field(i).Type, kind, depth+1))
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			reflect.Copy(v, reflect.ValueOf(a.bomb(kind)))
		}
	}
	return v
}

// bodies are what messages between members carry.
var bodies = map[wire.Type][]reflect.Type{
	linkmsg.THello:      {reflect.TypeFor[linkmsg.Hello]()},
	linkmsg.TStock:      {reflect.TypeFor[linkmsg.Stock]()},
	linkmsg.TWant:       {reflect.TypeFor[linkmsg.Want]()},
	linkmsg.TOffer:      {reflect.TypeFor[linkmsg.Offer]()},
	linkmsg.TSettled:    {reflect.TypeFor[linkmsg.Settled]()},
	linkmsg.TInfeasible: {reflect.TypeFor[linkmsg.Infeasible]()},
	linkmsg.TNews:       {reflect.TypeFor[linkmsg.News]()},
	linkmsg.TObjectNews: {reflect.TypeFor[linkmsg.ObjectNews]()},
	linkmsg.TObjectAsk:  {reflect.TypeFor[linkmsg.ObjectAsk]()},
	linkmsg.TOutput:     {reflect.TypeFor[linkmsg.Output]()},
	linkmsg.TOutputEnd:  {reflect.TypeFor[linkmsg.OutputEnd]()},
	linkmsg.TJobAsk:     {reflect.TypeFor[linkmsg.JobAsk]()},
	linkmsg.TActorEnd:   {reflect.TypeFor[linkmsg.ActorEndAsk]()},
	linkmsg.TCensus:     {reflect.TypeFor[linkmsg.CensusAsk]()},
	linkmsg.TDrop:       {reflect.TypeFor[linkmsg.Number]()},
}

// asked are the requests to the head, and reported the reports, with their bodies. A request to create an actor is not among them: a member
// may have the cluster run code.
var (
	asked = map[linkmsg.Op]reflect.Type{
		linkmsg.OpActor: reflect.TypeFor[linkmsg.ActorRef](), linkmsg.OpActors: reflect.TypeFor[record.ActorFilter](), linkmsg.OpNamed: reflect.TypeFor[linkmsg.Key](),
		linkmsg.OpNames: reflect.TypeFor[linkmsg.Names](), linkmsg.OpValue: reflect.TypeFor[linkmsg.Key](), linkmsg.OpKeys: reflect.TypeFor[linkmsg.Key](),
		linkmsg.OpClass: reflect.TypeFor[linkmsg.ClassAt](), linkmsg.OpResolve: reflect.TypeFor[linkmsg.Resolve](), linkmsg.OpEnded: reflect.TypeFor[linkmsg.Resolve](),
		linkmsg.OpKill: reflect.TypeFor[linkmsg.Kill](), linkmsg.OpRegister: reflect.TypeFor[record.Node](), linkmsg.OpStartJob: reflect.TypeFor[record.Job](),
		linkmsg.OpPutValue: reflect.TypeFor[linkmsg.Value](), linkmsg.OpDelValues: reflect.TypeFor[linkmsg.Key](), linkmsg.OpPutClass: reflect.TypeFor[linkmsg.ClassPart](),
		"": reflect.TypeFor[linkmsg.Key](),
	}
	reported = map[linkmsg.Kind]reflect.Type{
		linkmsg.ActorStarted: reflect.TypeFor[linkmsg.InstanceTold](), linkmsg.ActorStartFailed: reflect.TypeFor[linkmsg.InstanceTold](),
		linkmsg.ActorWorkerDied: reflect.TypeFor[linkmsg.InstanceTold](), linkmsg.ActorReleased: reflect.TypeFor[linkmsg.ActorRef](),
		linkmsg.OwnerDied: reflect.TypeFor[linkmsg.Owner](), linkmsg.JobEnded: reflect.TypeFor[linkmsg.JobEnd](),
		linkmsg.StartActor: reflect.TypeFor[linkmsg.Start](), linkmsg.StopActor: reflect.TypeFor[linkmsg.Stop](), "": reflect.TypeFor[linkmsg.Stop](),
	}
)

// loaded returns one message with bombs, of each kind in turn.
func (a *attacker) loaded(kind int) [][]byte {
	var all [][]byte
	add := func(t wire.Type, body any) {
		for _, k := range []wire.Kind{wire.Request, wire.Push} {
			if b, err := wire.AppendMessage(nil, k, t, 1, 1000, body); err == nil {
				all = append(all, b)
			}
		}
	}
	encoded := func(t reflect.Type) msgpack.RawMessage {
		b, err := linkmsg.Encode("a bomb", a.armed(t, kind, 0).Addr().Interface())
		if err != nil {
			return linkmsg.Nothing
		}
		return b
	}
	for t, list := range bodies {
		for _, body := range list {
			add(t, encoded(body))
		}
	}
	for op, body := range asked {
		if op == "" {
			op = linkmsg.Op(a.bomb(kind))
		}
		add(linkmsg.TAsk, &linkmsg.Ask{N: 1, Op: op, Body: encoded(body)})
	}
	for k, body := range reported {
		if k == "" {
			k = linkmsg.Kind(a.bomb(kind))
		}
		told := &linkmsg.Told{N: 1, Kind: k, Body: encoded(body)}
		add(linkmsg.TReport, told)
		add(linkmsg.TOrder, told)
	}
	return all
}

// bombs puts pickles and commands into all that is sent: the request to join, greetings, streams, messages, bulk connections.
func (a *attacker) bombs() error {
	if a.canary == "" {
		return errors.New("-canary: no file is given")
	}
	members, err := a.members()
	if err != nil {
		return err
	}
	return a.each(a.linked(), func(p port, chance *rand.Rand) (bool, error) {
		m := <-members
		defer func() { members <- m }()
		kind := chance.IntN(4)
		if p.kind == "head" {
			if err := a.armedJoin(p, kind); err != nil {
				return false, err
			}
		}
		for _, b := range a.loaded(kind) {
			c, err := connect(p, m)
			if errors.Is(err, errNotNow) {
				continue
			}
			if err != nil {
				return false, err
			}
			hello, err := wire.AppendMessage(nil, wire.Request, linkmsg.THello, 1, 1000, &linkmsg.Hello{
				Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Node: m.Identity.Number, Connection: 1, First: 1, Wire: wire.Version,
			})
			if err != nil {
				return false, err
			}
			for i, part := range [][]byte{hello, b} { // what is no hello is refused before one
				c.write(dataFrame(uint64(i+1), resume.Control, part))
			}
			c.write(sessionFrame(kindOpen, 3, 1, a.bomb(kind)))
			c.write(sessionFrame(kindOpen, 4, 3, random(chance, 12)))
			c.write(dataFrame(5, 3, a.bomb(kind)))
			a.count("bombs", 4)
			_ = c.CloseWrite()
			c.Close()
			if time.Now().After(a.end) {
				return false, nil
			}
		}
		return true, nil
	})
}

// armedJoin asks the head with bombs, behind a proof.
func (a *attacker) armedJoin(p port, kind int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	q := a.armed(reflect.TypeFor[linkmsg.Join](), kind, 0).Addr().Interface().(*linkmsg.Join)
	q.Version, q.MinVersion = linkmsg.Version, linkmsg.MinVersion
	body, err := linkmsg.Encode("a bomb", q)
	if err != nil {
		return err
	}
	for _, ask := range []pki.Ask{{Body: body}, {Request: a.bomb(kind), Body: a.bomb(kind)}} {
		nc, channel, err := link.DialJoin(ctx, p.address, false)
		if err != nil {
			return err
		}
		_, err = pki.JoinClient(ctx, channel, a.token, ask)
		nc.Close()
		a.count("bombs", 1)
		var refused *pki.RefusedError
		if !errors.As(err, &refused) {
			a.breach("a request to join that makes no sense is not refused: %v", err)
		}
	}
	return nil
}
