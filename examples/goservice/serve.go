package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core"
)

// requestTime bounds a request. It is longer than the cluster needs to go on after the death of a head.
const requestTime = time.Minute

// answer is what a model says.
type answer struct {
	Score float64  `msgpack:"score" json:"score"`
	GPUs  []string `msgpack:"gpus" json:"gpus"`
}

// service answers HTTP requests with actors that have a GPU each.
type service struct {
	s      *core.Session
	models []*core.Actor
	next   atomic.Uint64
}

// newService connects to the cluster with a node on this machine, and creates the actors. The address is as in core.Connect.
func newService(ctx context.Context, address, modules string, gpus int) (*service, error) {
	modules, err := filepath.Abs(modules)
	if err != nil {
		return nil, err
	}
	s, err := core.Connect(ctx, core.Options{Address: address, PythonPath: []string{modules}})
	if err != nil {
		return nil, err
	}
	v := &service{s: s}
	for range gpus {
		// Its node may be lost. Then the actor restarts elsewhere, and calls that had begun are repeated.
		m, err := s.NewActor(ctx, "model:Model", core.Call{NumGPUs: 1, MaxRestarts: -1, MaxTaskRetries: -1})
		if err != nil {
			s.Close()
			return nil, err
		}
		v.models = append(v.models, m)
	}
	return v, nil
}

// handler returns the service's pages: /score?x=3 asks an actor that is there, /once?x=3 one that is made for the request.
func (v *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /score", v.serve(func(ctx context.Context, x float64) (answer, error) {
		return score(ctx, v.models[v.next.Add(1)%uint64(len(v.models))], x)
	}))
	mux.HandleFunc("GET /once", v.serve(func(ctx context.Context, x float64) (answer, error) {
		m, err := v.s.NewActor(ctx, "model:Model", core.Call{NumGPUs: 0.125})
		if err != nil {
			return answer{}, err
		}
		return score(ctx, m, x) // the actor ends when nobody can call it any more
	}))
	return mux
}

func score(ctx context.Context, m *core.Actor, x float64) (answer, error) {
	r, err := core.Invoke[answer](ctx, m, "score", x)
	if err != nil {
		return answer{}, err
	}
	return core.Get(ctx, r)
}

func (v *service) serve(ask func(context.Context, float64) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		x, err := strconv.ParseFloat(q.FormValue("x"), 64)
		if err != nil {
			http.Error(w, "x must be a number, as in /score?x=3", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(q.Context(), requestTime)
		defer cancel()
		a, err := ask(ctx, x)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // an error means that whoever asked has gone
	}
}

func listenAndServe(listen, modules string, gpus int) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	v, err := newService(ctx, "", modules, gpus)
	if err != nil {
		return err
	}
	defer v.s.Close()
	fmt.Println("listening at", listen)
	server := &http.Server{Addr: listen, Handler: v.handler(), ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}
