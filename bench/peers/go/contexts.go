package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A tree with eight children each, once bare, once with a goroutine waiting on each context. The gate is
// closed when cancel returns: every context's Err is set then. It has settled when every goroutine has ended.
func contexts(count int) {
	closeBare(count)
	settle(count)
}

func closeBare(count int) {
	nodes := make([]context.Context, count)
	root, cancel := context.WithCancel(context.Background())
	nodes[0] = root
	for i := 1; i < count; i++ {
		var stop context.CancelFunc
		nodes[i], stop = context.WithCancel(nodes[(i-1)/8])
		_ = stop
	}
	begin := time.Now()
	cancel()
	closed := time.Since(begin)
	if nodes[count-1].Err() == nil {
		fail("not cancelled")
	}
	report("stop_gate_1m", fmt.Sprintf("tree of 8, %d", count), float64(closed.Nanoseconds())/1e3, "us", "Go contexts")
}

func settle(count int) {
	nodes := make([]context.Context, count)
	runtime.GC()
	debug.FreeOSMemory()
	memory := resident()
	begin := time.Now()
	root, cancel := context.WithCancel(context.Background())
	nodes[0] = root
	var running, waiting sync.WaitGroup
	running.Add(count)
	waiting.Add(count)
	for i := 0; i < count; i++ {
		if i > 0 {
			var stop context.CancelFunc
			nodes[i], stop = context.WithCancel(nodes[(i-1)/8])
			_ = stop
		}
		node := nodes[i]
		go func() {
			waiting.Done()
			<-node.Done()
			running.Done()
		}()
	}
	created := time.Since(begin)
	waiting.Wait()
	runtime.GC()
	debug.FreeOSMemory()
	grown := resident() - memory

	begin = time.Now()
	cancel()
	running.Wait()
	settled := time.Since(begin)

	report("settle_1m", fmt.Sprintf("tree of 8, %d", count), perItem(settled, count), "ns/agent",
		"Go goroutine + context")
	report("idle_bytes", fmt.Sprint(count), float64(grown)/float64(count), "bytes", "Go goroutine + context")
	report("create", fmt.Sprint(count), perItem(created, count), "ns", "Go goroutine + context")
}
