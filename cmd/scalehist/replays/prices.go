package replays

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/prices"
)

// PriceFlags are the flags that say what nodes cost.
type PriceFlags struct {
	path, model, region string
	models              map[string]string
}

func (f *PriceFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.path, "prices", "", "price table (YAML), or public, the shipped list: adds costs, and lets the price expander run")
	flags.StringVar(&f.region, "region", "", "region of the price table, or provider/region; needed when it has several")
	flags.StringVar(&f.model, "price-model", "", "what nodes cost that are not spot nodes by their labels: on-demand, spot or reserved (default: on-demand)")
	flags.StringToStringVar(&f.models, "price-model-of", nil, "price model of single node groups, over labels and table: batch=spot")
	models := make([]string, 0, len(prices.Models))
	for _, m := range prices.Models {
		models = append(models, string(m))
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"price-model": cobra.FixedCompletions(models, cobra.ShellCompDirectiveNoFileComp),
		"region":      f.completeRegion,
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
}

// into puts what the flags ask for into settings.
func (f *PriceFlags) into(cmd *cobra.Command, s *harness.Settings) error {
	if f.path == "" {
		for _, name := range []string{"region", "price-model", "price-model-of"} {
			if cmd.Flags().Changed(name) {
				return console.UsageErrorf(cmd, "--%s goes with --prices", name)
			}
		}
		return nil
	}
	if f.model != "" {
		if _, err := prices.ParseModel(f.model); err != nil {
			return console.UsageErrorf(cmd, "--price-model: %v", err)
		}
	}
	s.Prices = &harness.Prices{Table: f.path, Region: f.region, Model: f.model}
	for _, group := range slices.Sorted(maps.Keys(f.models)) {
		if _, err := prices.ParseModel(f.models[group]); err != nil {
			return console.UsageErrorf(cmd, "--price-model-of %s: %v", group, err)
		}
		s.SetGroup(group, func(g *harness.GroupSettings) { g.PriceModel = f.models[group] })
	}
	return nil
}

// Table is what the flags ask for; nil when they ask for no prices.
func (f *PriceFlags) Table(cmd *cobra.Command) (*prices.Table, error) {
	var s harness.Settings
	if err := f.into(cmd, &s); err != nil {
		return nil, err
	}
	return priceTable(&s)
}

// priceTable reads the table that settings ask for, nil when they ask for none.
func priceTable(s *harness.Settings) (*prices.Table, error) {
	table, err := s.PriceTable(here)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return table, nil
}

func (f *PriceFlags) read() (*prices.File, error) {
	data, err := prices.Read(f.path)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w: give a price table, or %q for the shipped list", err, prices.Shipped)
	}
	file, err := prices.ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("--prices %s: %w", f.path, err)
	}
	return file, nil
}

// completeRegion completes out of the table that --prices names.
func (f *PriceFlags) completeRegion(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if file, err := f.read(); err == nil && f.path != "" {
		for _, l := range file.Lists {
			if l.Region != "" {
				out = append(out, strings.TrimPrefix(l.Provider+"/"+l.Region, "/"))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
