package redact

import (
	"regexp"
	"strings"
	"sync"
)

// Mapping is what a redaction replaced. It is as secret as the history was.
type Mapping struct {
	// Names are the replaced texts by class ("namespace", "node", "pod", "label value", ...), old to new.
	Names map[string]map[string]string `json:"names"`
	// Words are the pseudonyms of words, old to new; names are made of them.
	Words map[string]string `json:"words"`
	// Octets are those of the numbers in addresses.
	Octets map[string]string `json:"octets,omitempty"`
	// Texts are the texts that were replaced whole, new to old.
	Texts map[string]string `json:"texts,omitempty"`

	once sync.Once
	back map[string]string
}

// replaced finds what may stand for something: a text that was replaced whole, a UID, a word.
var replaced = regexp.MustCompile(redactedText + `[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-Za-z]+`)

// Restore puts the original words back into a text about the redacted history: a name, a message, a line of a report.
// Names that a replay made of pseudonyms ("<group>-<n>") come back too.
func (m *Mapping) Restore(text string) string {
	m.once.Do(m.turn)
	if old, ok := m.Texts[text]; ok {
		return old
	}
	return replaced.ReplaceAllStringFunc(text, func(s string) string {
		if old, ok := m.back[s]; ok {
			return old
		}
		if len(s) == 36 && strings.Count(s, "-") == 4 || strings.HasPrefix(s, redactedText) {
			return replacedWord.ReplaceAllStringFunc(s, func(w string) string {
				if old, ok := m.back[w]; ok {
					return old
				}
				return w
			})
		}
		return s
	})
}

var replacedWord = regexp.MustCompile(`[0-9A-Za-z]+`)

// turn makes the way back.
func (m *Mapping) turn() {
	m.back = make(map[string]string, len(m.Words)+len(m.Octets)+len(m.Texts))
	for now, old := range m.Texts {
		m.back[now] = old
	}
	for _, words := range []map[string]string{m.Words, m.Octets, m.Names["uid"], m.Names["number"]} {
		for old, now := range words {
			m.back[now] = old
		}
	}
}

// note keeps a replacement of a class.
func (m *Mapping) note(class, old, now string) {
	if old == now {
		return
	}
	if m.Names[class] == nil {
		m.Names[class] = map[string]string{}
	}
	m.Names[class][old] = now
}
