package console

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// pairExample is the example at the end of a flag's help: "override ...: workers=1:20".
var pairExample = regexp.MustCompile(`: ([a-z-]+=[^ ]+)$`)

// Wanted says what a flag wants in place of a value it cannot read, with an example; "" for flags whose own errors say it.
func Wanted(flag *pflag.Flag, value string) string {
	if !strings.HasPrefix(fmt.Sprintf("%T", flag.Value), "*pflag.") {
		return "" // one of ours, which says what it wants
	}
	switch flag.Value.Type() {
	case "int", "int32", "int64":
		return "want a whole number, such as 7"
	case "uint", "uint32", "uint64":
		return "want a whole number that is not negative, such as 7"
	case "float32", "float64":
		return "want a number, such as 0.5"
	case "bool":
		return "want true or false"
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("the unit is missing: %ss, %sm or %sh", value, value, value)
		}
		return "want a duration, such as 90s, 5m or 1h30m"
	case "stringToString":
		example := "name=value"
		if m := pairExample.FindStringSubmatch(flag.Usage); m != nil {
			example = m[1]
		}
		if !strings.Contains(value, "=") {
			return fmt.Sprintf("%s without its value: want such as %s", value, example)
		}
		return "want such as " + example
	}
	return ""
}
