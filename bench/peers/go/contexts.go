package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// A tree with eight children each. The gate is closed when cancel returns: every context's Err is set then.
// It has settled when every goroutine that waited for its context has ended.
func contexts(count int) {
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
	closed := time.Since(begin)
	running.Wait()
	settled := time.Since(begin)

	variant := fmt.Sprintf("tree of 8, %d", count)
	report("stop_gate_1m", variant, float64(closed.Nanoseconds())/1e3, "us", "Go contexts")
	report("settle_1m", variant, perItem(settled, count), "ns/agent", "Go contexts")
	report("idle_bytes", fmt.Sprint(count), float64(grown)/float64(count), "bytes", "Go goroutine + context")
	report("create", fmt.Sprint(count), perItem(created, count), "ns", "Go goroutine + context")
}
