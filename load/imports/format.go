package imports

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/spec"
)

// Kind is a format by name.
type Kind struct {
	Name, About string
	Options     []spec.Option
	make        func(*spec.Values) parser
}

// parser reads a file to its end. Its error ends the import; what is wrong with a line is for file.wrong.
type parser func(*file) error

// Format is a kind with options.
type Format struct {
	Name  string
	parse parser
}

// Kinds are the formats there are, in the order in which help lists them.
func Kinds() []Kind {
	return []Kind{prometheus, csvFile, google2011, google2019, azureFunctions, azureVM, alibaba2018, alibabaSeries, arabesque}
}

// Names are the names of Kinds.
func Names() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// Parse reads a format such as "csv:metric=cpu,unit=percent,cores=4". The error says what is unknown or wrong in it.
func Parse(text string) (Format, error) {
	name, settings := spec.Parse(text)
	for _, k := range Kinds() {
		if k.Name != name {
			continue
		}
		v, err := spec.New(k.Options, settings)
		if err != nil {
			return Format{}, fmt.Errorf("format %s: %w", name, err)
		}
		p := k.make(v)
		if v.Err != nil {
			return Format{}, fmt.Errorf("format %s: %w", name, v.Err)
		}
		return Format{name, p}, nil
	}
	return Format{}, fmt.Errorf("format %q is not known%s: choose %s", name, near.Suggest(name, Names()), strings.Join(Names(), ", "))
}
