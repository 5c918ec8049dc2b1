// What Go offers for the same work, by its standard library alone.
//
//	peer_go contexts [AGENTS]     a tree of contexts, with a goroutine waiting on each
//	peer_go channel               one message at a time to a goroutine
//	peer_go fan [AGENTS]          one message to each of many goroutines
//	peer_go streams PORT RECORD STREAMS SECONDS STOPS     net/http
//	peer_go stop PORT RECORD STREAMS SECONDS STOPS        net/http, single streams: what a cancellation costs
//	peer_go rivals PORT RECORD STREAMS SECONDS STOPS      the same, for the figures beside other SDKs
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// Nanoseconds of the clock that the stream server uses too.
func now() uint64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Sec)*1e9 + uint64(t.Nsec)
}

// CPU time of the process, nanoseconds.
func processCPU() int64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r.Utime.Nano() + r.Stime.Nano()
}

// Resident memory that only this process has, bytes: without the pages of files.
func resident() int64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	words := strings.Fields(string(statm))
	pages, _ := strconv.ParseInt(words[1], 10, 64)
	shared, _ := strconv.ParseInt(words[2], 10, 64)
	return (pages - shared) * int64(os.Getpagesize())
}

func report(id, variant string, value float64, unit, peer string) {
	fmt.Printf("{\"id\": %q, \"variant\": %q, \"value\": %.4f, \"unit\": %q, \"peer\": %q}\n",
		id, variant, value, unit, peer)
}

func quantile(samples []float64, share float64) float64 {
	sort.Float64s(samples)
	return samples[min(len(samples)-1, int(share*float64(len(samples))))]
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// The number at place i of the command line.
func number(i, otherwise int) int {
	if len(os.Args) <= i {
		return otherwise
	}
	value, err := strconv.Atoi(os.Args[i])
	if err != nil {
		fail(err)
	}
	return value
}

func fail(reason any) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(1)
}

func perItem(elapsed time.Duration, items int) float64 {
	return float64(elapsed.Nanoseconds()) / float64(items)
}

func main() {
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	switch what {
	case "contexts":
		contexts(number(2, 1_000_000))
	case "channel":
		channel()
	case "fan":
		fan(number(2, 1_000_000))
	case "streams":
		streams()
	case "stop":
		stopCalls()
	case "rivals":
		rivals()
	default:
		fail("usage: peer_go contexts|channel|fan|streams|stop|rivals ...")
	}
}
