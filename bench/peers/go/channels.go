package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

type message struct {
	text string
	_    [5]uint64
}

// One goroutine sends, another one handles, through a channel of 1,024. With one processor for both it is
// what `send` calls one thread, with two the other one.
func channel() {
	for i, variant := range []string{"one thread", "other thread"} {
		runtime.GOMAXPROCS(i + 1)
		const messages = 2_000_000
		mailbox := make(chan *message, 1024)
		handled := make(chan int)
		go func() {
			bytes := 0
			for m := range mailbox {
				bytes += len(m.text)
			}
			handled <- bytes
		}()
		begin := time.Now()
		for j := 0; j < messages; j++ {
			mailbox <- &message{text: "x"}
		}
		close(mailbox)
		<-handled
		report("send", variant, perItem(time.Since(begin), messages), "ns", "Go channel")
	}
}

// A goroutine and a channel for each agent, one processor, one message to each in turn.
func fan(count int) {
	runtime.GOMAXPROCS(1)
	var handled atomic.Int64
	mailboxes := make([]chan *message, count)
	for i := range mailboxes {
		mailbox := make(chan *message, 8)
		mailboxes[i] = mailbox
		go func() {
			for m := range mailbox {
				handled.Add(int64(len(m.text)))
			}
		}()
	}
	round := func(until int64) time.Duration {
		begin := time.Now()
		for _, mailbox := range mailboxes {
			mailbox <- &message{text: "x"}
		}
		for handled.Load() < until {
			runtime.Gosched()
		}
		return time.Since(begin)
	}
	round(int64(count))
	report("send_fan", fmt.Sprint(count), perItem(round(2*int64(count)), count), "ns", "Go channels")
}
