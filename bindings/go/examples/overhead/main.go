// Overhead: what does a call from Go cost beside the same call from C? Both encode the same short text, in turns; the time is the processor's, of all
// threads, so that others may be busy beside it.
//
//	cc -O2 -I../../include ../../benches/overhead.c -lcloze -o c && go run ./examples/overhead ./c MODEL
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"syscall"

	cloze "cloze.dev/go"
)

const (
	text   = "How do I reset my password?"
	calls  = 5000
	rounds = 7
)

// processor is the time of the processor that this process has used, in microseconds.
func processor() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

// each is the time of one call.
func each(call func() error) float64 {
	begun := processor()
	for i := 0; i < calls; i++ {
		if err := call(); err != nil {
			log.Fatal(err)
		}
	}
	return (processor() - begun) / calls
}

func fromC(program, model string) float64 {
	said, err := exec.Command(program, model, text, strconv.Itoa(calls)).Output()
	if err != nil {
		log.Fatal(err)
	}
	time, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
	if err != nil {
		log.Fatal(err)
	}
	return time
}

func median(list []float64) float64 {
	sort.Float64s(list)
	return list[len(list)/2]
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: overhead C_PROGRAM MODEL")
	}
	model, err := cloze.Open(os.Args[2], cloze.Set("threads", 1))
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	texts, into := []string{text}, make([]float32, 4096)
	free, cancel := context.WithCancel(context.Background())
	defer cancel()
	ways := []struct {
		name string
		call func() error
	}{
		{"a new slice a call", func() error { _, err := model.Encode(context.Background(), texts); return err }},
		{"to the caller's slice", func() error { _, _, err := model.EncodeInto(context.Background(), texts, into); return err }},
		{"with a context that can end", func() error { _, _, err := model.EncodeInto(free, texts, into); return err }},
	}
	c, times, more := []float64{}, make([][]float64, len(ways)), make([][]float64, len(ways))
	for round := 0; round < rounds; round++ {
		here := fromC(os.Args[1], os.Args[2])
		c = append(c, here)
		for i, way := range ways {
			time := each(way.call)
			times[i], more[i] = append(times[i], time), append(more[i], time-here)
		}
	}
	for i, way := range ways {
		fmt.Printf("%s: from C %.1f us, from Go %.1f us, more by %.1f us of the processor (medians of %d rounds of %d calls)\n",
			way.name, median(c), median(times[i]), median(more[i]), rounds, calls)
	}
}
