package imports

import "github.com/scalehist/scalehist/internal/spec"

// Kind is a format by name.
type Kind = spec.Kind[parser]

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
func Names() []string { return spec.Names(Kinds()) }

// Parse reads a format such as "csv:metric=cpu,unit=percent,cores=4". The error says what is unknown or wrong in it.
func Parse(text string) (Format, error) {
	name, _, p, err := spec.Choose("format", Kinds(), text)
	if err != nil {
		return Format{}, err
	}
	return Format{name, p}, nil
}
