// Reads a recording with Grafana's parser (that of Pyroscope) and prints a line
// "TYPE COUNT" for each event type that the parser knows, and "unresolved COUNT" for
// events whose stack it could not resolve to names. Ends with exit code 1 and the reason if the parser refuses the file.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/grafana/jfr-parser/parser"
	"github.com/grafana/jfr-parser/parser/types"
)

func main() {
	counts, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name, counts[name])
	}
}

func read(path string) (map[string]int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader := parser.NewParser(data, parser.Options{})
	counts := map[string]int{}
	for {
		id, err := reader.ParseEvent()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, err
		}
		name := reader.TypeMap.IDMap[id].Name
		counts[name]++
		if stack, has := stackOf(reader, name); has {
			if err := resolve(reader, stack); err != nil {
				// The parser keeps the constants of one checkpoint, and a chunk
				// that was never ended has several.
				counts["unresolved"]++
			}
		}
	}
}

func stackOf(reader *parser.Parser, name string) (types.StackTraceRef, bool) {
	switch name {
	case "jdk.ExecutionSample":
		return reader.ExecutionSample.StackTrace, true
	case "jdk.JavaMonitorEnter":
		return reader.JavaMonitorEnter.StackTrace, true
	case "jdk.ThreadPark":
		return reader.ThreadPark.StackTrace, true
	}
	return 0, false
}

func resolve(reader *parser.Parser, ref types.StackTraceRef) error {
	stack := reader.GetStacktrace(ref)
	if stack == nil {
		return fmt.Errorf("stack trace %d is missing", ref)
	}
	for _, frame := range stack.Frames {
		method := reader.GetMethod(frame.Method)
		if method == nil {
			return fmt.Errorf("method %d is missing", frame.Method)
		}
		if reader.GetSymbolString(method.Name) == "" {
			return fmt.Errorf("method %d has no name", frame.Method)
		}
		if reader.GetClass(method.Type) == nil {
			return fmt.Errorf("class %d is missing", method.Type)
		}
	}
	return nil
}
