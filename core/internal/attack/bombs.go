package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/relay"
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

// encoded returns a body with bombs.
func (a *attacker) encoded(t reflect.Type, kind int) msgpack.RawMessage {
	b, err := linkmsg.Encode("a bomb", a.armed(t, kind, 0).Addr().Interface())
	if err != nil {
		return linkmsg.Nothing
	}
	return b
}

// kindsOfReports are those of a node to the head.
var kindsOfReports = []linkmsg.Kind{
	linkmsg.ActorPlaced, linkmsg.ActorRefused, linkmsg.ActorStarted, linkmsg.ActorKept, linkmsg.ActorStartFailed, linkmsg.ActorWorkerDied, linkmsg.ActorExited,
	linkmsg.ActorInfeasible, linkmsg.ActorReleased, linkmsg.ClassDropped, linkmsg.OwnerDied, linkmsg.JobEnded, "",
}

// armedTalk says bombs to the head that leads, on a conversation on which it has welcomed this node: all requests, then all reports, then all other messages.
func (a *attacker) armedTalk(p port, m join.Membership, kind int) error {
	t, err := a.talk(p, m)
	if err != nil {
		return err
	}
	defer t.Close()
	n := uint64(1)
	for op, body := range asked {
		if op == "" {
			op = linkmsg.Op(a.bomb(kind))
		}
		if _, err := t.ask(n, op, a.encoded(body, kind)); err != nil {
			return fmt.Errorf("%w: the head's answer to a request %q: %w", errNotNow, op, err)
		}
		n++
	}
	reports := uint64(0)
	report := func(k linkmsg.Kind, body msgpack.RawMessage) {
		reports++
		_ = t.Push(linkmsg.TReport, told(reports, k, body))
	}
	for _, k := range kindsOfReports {
		report(k, linkmsg.Nothing) // about nobody
		body := reflect.TypeFor[linkmsg.InstanceTold]()
		switch k {
		case linkmsg.ActorReleased, linkmsg.ClassDropped:
			body = reflect.TypeFor[linkmsg.ActorRef]()
		case linkmsg.OwnerDied:
			body = reflect.TypeFor[linkmsg.Owner]()
		case linkmsg.JobEnded:
			body = reflect.TypeFor[linkmsg.JobEnd]()
		case "":
			k = linkmsg.Kind(a.bomb(kind))
		}
		report(k, a.encoded(body, kind))
	}
	a.count("bombs", len(kindsOfReports)+len(asked))
	// The head has read all that came before an answer. It may close the conversation at each of what follows.
	if _, err := t.ask(n, linkmsg.OpNodes, linkmsg.Nothing); err != nil {
		return fmt.Errorf("%w: the head's answer behind reports: %w", errNotNow, err)
	}
	for kind, list := range bodies {
		for _, body := range list {
			a.count("bombs", 1)
			_ = t.Push(kind, a.encoded(body, 0))
		}
	}
	return nil
}

// armedNode registers a member with a bomb in every text, and then with a path as its address, at which other nodes would dial a socket of their own machine.
func (a *attacker) armedNode(p port, kind int) error {
	m, err := a.joined()
	if err != nil {
		return err
	}
	t, err := a.talk(p, m)
	if err != nil {
		return err
	}
	defer t.Close()
	n := a.armed(reflect.TypeFor[record.Node](), kind, 0).Addr().Interface().(*record.Node)
	n.ID, n.Number, n.Resources = t.id, m.Identity.Number, nil
	for i, links := range [][]string{n.Links, {a.canary + ":1"}} { // the last one is a path, and must be refused
		n.Links = links
		body, err := linkmsg.Encode("a bomb", n)
		if err != nil {
			return err
		}
		a.count("nodes with bombs", 1)
		refused, err := t.ask(uint64(i+1), linkmsg.OpRegister, body)
		if err != nil {
			return fmt.Errorf("register a node with bombs: %w", err)
		}
		if i == 1 && refused == nil {
			a.breach("a node registers with the path %s as its address", links[0])
		}
	}
	return nil
}

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
	encoded := func(t reflect.Type) msgpack.RawMessage { return a.encoded(t, kind) }
	for t, list := range bodies {
		for _, body := range list {
			add(t, encoded(body))
		}
	}
	for op, body := range asked {
		if op == "" {
			op = linkmsg.Op(a.bomb(kind))
		}
		q, err := linkmsg.Encode("a bomb", &linkmsg.Ask{N: 1, Op: op, Body: encoded(body)})
		if err == nil {
			add(linkmsg.TAsk, q)
		}
	}
	for k, body := range reported {
		if k == "" {
			k = linkmsg.Kind(a.bomb(kind))
		}
		b := told(1, k, encoded(body))
		add(linkmsg.TReport, b)
		add(linkmsg.TOrder, b)
	}
	return all
}

// bombs puts pickles and commands into all that is sent: the request to join, greetings, control messages and streams of sessions, what a node says to the head
// that leads, the registration of a node, and questions on bulk connections.
func (a *attacker) bombs() error {
	if a.canary == "" {
		return errors.New("-canary: no file is given")
	}
	members, err := a.members()
	if err != nil {
		return err
	}
	for _, p := range a.linked() {
		if p.kind == "head" {
			if err := a.armedNode(p, rand.IntN(4)); err != nil {
				return err
			}
		}
	}
	err = a.each(a.linked(), func(p port, chance *rand.Rand) (bool, error) {
		m := <-members
		defer func() { members <- m }()
		kind := chance.IntN(4)
		parts := []func() error{
			func() error { return a.armedGreetings(p, m, kind) },
			func() error { return a.armedBulk(p, m, a.bomb(kind)) },
		}
		if p.kind == "head" {
			parts = append(parts, func() error { return a.armedJoin(p, kind) }, func() error { return a.armedTalk(p, m, kind) })
		}
		for _, part := range parts {
			if err := part(); err != nil && !errors.Is(err, errNotNow) {
				return false, err
			}
		}
		for _, b := range a.loaded(kind) {
			if err := a.armedSession(p, m, kind, b, chance); err != nil && !errors.Is(err, errNotNow) {
				return false, err
			}
			if time.Now().After(a.end) {
				return false, nil
			}
		}
		return true, nil
	})
	for _, what := range []string{"conversations with the head", "answers of the head", "answers on bulk connections", "sessions with bombs"} {
		if err == nil && a.total(what) == 0 {
			err = fmt.Errorf("the attack has reached nothing: there were no %s", what)
		}
	}
	return err
}

// armedSession begins a session, sends one message with bombs on its control stream, and opens streams with bombs as targets and as content.
func (a *attacker) armedSession(p port, m join.Membership, kind int, message []byte, chance *rand.Rand) error {
	c, err := connect(p, m)
	if err != nil {
		return err
	}
	defer c.Close()
	go c.discard()
	a.count("sessions with bombs", 1)
	daemon := ids.DaemonOn(p.number)
	targets := [][]byte{a.bomb(kind), random(chance, ids.OwnerSize), daemon[:], []byte(linkmsg.Conversation)}
	for _, other := range a.linked() {
		if other.kind == "node" && other.number != p.number { // a head carries what follows to that node
			targets = append(targets, relay.Target(other.number, false), relay.Target(other.number, true))
		}
	}
	number := uint64(1)
	for i, target := range targets {
		stream := resume.StreamID(talkStream + 2*i)
		c.write(sessionFrame(kindOpen, number, stream, target))
		c.write(dataFrame(number+1, stream, a.bomb(kind)))
		number += 2
		a.count("bombs", 2)
	}
	c.write(dataFrame(number, resume.Control, message)) // the last one, because the other side may close the connection for it
	a.count("bombs", 1)
	_ = c.CloseWrite()
	return nil
}

// armedGreetings greets with bombs, for each purpose. What is no hello of a session is refused, and so is a node that wants to replicate the state.
func (a *attacker) armedGreetings(p port, m join.Membership, kind int) error {
	for _, purpose := range []byte{forLink, forRaft, 4} {
		c, status, text, err := meet(p, m, greetingOf(purpose, p.number, a.bomb(kind)))
		if err != nil {
			return err
		}
		c.NetConn().Close()
		a.count("greetings with bombs", 1)
		if status != greetingRefused {
			a.breach("a greeting for purpose %d with a bomb: the %s port answers %d %q", purpose, p.kind, status, text)
		}
	}
	return nil
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
