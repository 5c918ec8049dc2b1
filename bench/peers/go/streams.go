package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const peer = "Go net/http"

// The server's record; bench/stream_record.hpp has its layout.
type record struct{ bytes []byte }

func openRecord(path string) record {
	file, err := os.Open(path)
	if err != nil {
		fail(err)
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, (4+65536)*8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		fail(err)
	}
	return record{mapped}
}

func (r record) word(i int) uint64      { return binary.LittleEndian.Uint64(r.bytes[8*i:]) }
func (r record) opened() int            { return int(r.word(0)) }
func (r record) closed() int            { return int(r.word(1)) }
func (r record) seen(stream int) uint64 { return r.word(4 + stream) }

// Waits for the server's word. Looks at it seldom, so that looking costs nothing that is measured.
func (r record) await(what string, done func() bool) {
	for end := time.Now().Add(60 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			giveUp(what)
		}
	}
}

// The exit code says that the machine is slow, and not the program wrong.
func giveUp(what string) {
	fmt.Fprintln(os.Stderr, "gave up: "+what)
	os.Exit(4)
}

type client struct {
	url    string
	http   http.Client
	stop   []context.CancelFunc
	chunks atomic.Int64
}

// Opens a stream and counts its events in a goroutine.
func (c *client) open(parent context.Context, stream int) {
	ctx, cancel := context.WithCancel(parent)
	c.stop[stream] = cancel
	body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"stream %d"}]}`, stream)
	go func() {
		request, _ := http.NewRequestWithContext(ctx, "POST", c.url, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response, err := c.http.Do(request)
		if err != nil {
			return
		}
		defer response.Body.Close()
		for reader := bufio.NewReader(response.Body); ; {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return
			}
			if bytes.HasPrefix(line, []byte("data:")) {
				c.chunks.Add(1)
			}
		}
	}()
}

func (c *client) openAll(ctx context.Context, server record) {
	asked, count := 0, len(c.stop)
	server.await("opening streams", func() bool {
		for ; asked < count && asked-server.opened() < 400; asked++ {
			c.open(ctx, asked)
		}
		return server.opened() == count
	})
}

func (c *client) receive(seconds float64) {
	chunks, cpu := c.chunks.Load(), processCPU()
	time.Sleep(time.Duration(seconds * 1e9))
	spent := float64(processCPU() - cpu)
	report("chunk_cpu", fmt.Sprint(len(c.stop)), spent/float64(c.chunks.Load()-chunks)/1e3, "us", peer)
}

// One stream after the other, from this goroutine.
func (c *client) stopSome(server record, order []int) {
	called := make([]uint64, len(order))
	for i, stream := range order {
		time.Sleep(3 * time.Millisecond)
		called[i] = now()
		c.stop[stream]()
	}
	server.await("single stops", func() bool { return server.closed() >= len(order) })
	samples := make([]float64, len(order))
	for i, stream := range order {
		samples[i] = float64(server.seen(stream)-called[i]) / 1e3
	}
	report("stop_wire", fmt.Sprintf("%d, median", len(c.stop)), quantile(samples, 0.5), "us", peer)
	report("stop_wire", fmt.Sprintf("%d, p99", len(c.stop)), quantile(samples, 0.99), "us", peer)
}

func (c *client) stopAll(server record, cancel context.CancelFunc, order []int) {
	called := now()
	cancel()
	server.await("stopping all", func() bool { return server.closed() == len(c.stop) })
	last := called
	for _, stream := range order {
		if server.seen(stream) > last {
			last = server.seen(stream)
		}
	}
	report("stop_wire_all", fmt.Sprint(len(c.stop)), float64(last-called)/1e6, "ms", peer)
}

// A number in /proc/self/status, such as "VmHWM:" in KB.
func processStatus(field string) float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, field) {
			value, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return value
		}
	}
	return 0
}

func newClient() (*client, record, float64) {
	if len(os.Args) != 7 {
		fail("usage: peer_go streams|rivals PORT RECORD STREAMS SECONDS STOPS")
	}
	seconds, _ := strconv.ParseFloat(os.Args[5], 64)
	c := &client{url: "http://127.0.0.1:" + os.Args[2] + "/chat/completions", stop: make([]context.CancelFunc, number(4, 0))}
	c.http.Transport = &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	return c, openRecord(os.Args[3]), seconds
}

// The figures of the streams themselves; nothing is stopped.
func rivals() {
	c, server, seconds := newClient()
	c.openAll(context.Background(), server)
	chunks, cpu := c.chunks.Load(), processCPU()
	time.Sleep(time.Duration(seconds * 1e9))
	spent := float64(processCPU() - cpu)
	variant := fmt.Sprint(len(c.stop)) + " streams, "
	report("rivals", variant+"CPU time per chunk", spent/float64(c.chunks.Load()-chunks)/1e3, "us", peer)
	report("rivals", variant+"threads", processStatus("Threads:"), "", peer)
	report("rivals", variant+"peak memory", processStatus("VmHWM:")/1024, "MB", peer)
	report("rivals", variant+"memory without files", processStatus("RssAnon:")/1024, "MB", peer)
}

func streams() {
	c, server, seconds := newClient()
	count, stops := len(c.stop), number(6, 0)
	root, cancel := context.WithCancel(context.Background())
	runtime.GC()
	debug.FreeOSMemory()
	before := resident()
	c.openAll(root, server)
	runtime.GC()
	debug.FreeOSMemory()
	report("stream_bytes", fmt.Sprint(count), float64(resident()-before)/float64(count), "bytes", peer)
	c.receive(seconds)
	order := rand.New(rand.NewSource(1)).Perm(count)
	c.stopSome(server, order[:stops])
	c.stopAll(server, cancel, order[stops:])
}

// One stream after the other: what the cancellation costs the goroutine that calls it, while all others wait.
func stopCalls() {
	if len(os.Args) != 7 {
		fail("usage: peer_go stop PORT RECORD STREAMS SECONDS STOPS")
	}
	stops := number(6, 0)
	server := openRecord(os.Args[3])
	c := &client{url: "http://127.0.0.1:" + os.Args[2] + "/chat/completions", stop: make([]context.CancelFunc, stops)}
	c.http.Transport = &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	calls, ends := make([]float64, stops), make([]float64, stops)
	for i := 0; i < stops; i++ {
		c.open(context.Background(), i)
		server.await("opening a stream", func() bool { return server.opened() == i+1 })
		time.Sleep(5 * time.Millisecond)
		called := now()
		c.stop[i]()
		calls[i] = float64(now()-called) / 1e3
		server.await("a stop", func() bool { return server.closed() == i+1 })
		ends[i] = float64(server.seen(i)-called) / 1e3
	}
	// Compared with both ways to stop of ours.
	for _, variant := range []string{"StopCut::all", "StopCut::none"} {
		report("stop_call", variant+", until stop() returned", quantile(calls, 0.5), "us", peer)
		report("stop_call", variant, quantile(ends, 0.5), "us", peer)
	}
}
