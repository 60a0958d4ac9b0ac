package caflags

import (
	"regexp"
	"strings"
)

// Masked stands for a value that is not stored.
const Masked = "***"

var (
	// looksSecret are credentials wherever they are: JSON web tokens, PEM blocks, access keys of AWS, GitHub and Google.
	looksSecret = regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]+|-----BEGIN|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}`)
	// userinfo is what a URL says before the @.
	userinfo = regexp.MustCompile(`(\w+://)[^/@\s]+@`)
	// secretPair is a setting within a value: "token=abc", "password:abc".
	secretPair = regexp.MustCompile(`(?i)\b((?:[\w-]*[_-])?(?:token|password|passwd|pwd|secret|apikey|api_key|credentials?|passphrase))([=:])[^,;\s&]+`)
)

// maskLook hides credentials in text that is kept otherwise.
func maskLook(s string) string {
	if looksSecret.MatchString(s) {
		return Masked
	}
	s = userinfo.ReplaceAllString(s, "${1}"+Masked+"@")
	return secretPair.ReplaceAllString(s, "${1}${2}"+Masked)
}

// keptValue is what may be stored of a flag's value.
func keptValue(name, value string) string {
	kind := known[name]
	switch {
	case value == "" || value == "true" || value == "false":
		return value
	case kind == "":
		return Masked
	case variable.MatchString(value), fits(kind, value):
		return value
	case texts[name] && plainText.MatchString(value):
		return maskLook(value)
	}
	return Masked
}

// plainName is how flags are spelled. Digits are left out: a password that begins with a dash has some.
var plainName = regexp.MustCompile(`^--[a-z]+(-[a-z]+)*$`)

const maxName = 64

// keptFlag is what may be stored of a flag, "" for nothing: a word that begins with a dash may be anything.
func keptFlag(flag string) string {
	spelled, value, valued := strings.Cut(flag, "=")
	name := strings.TrimLeft(spelled, "-")
	if !Known(name) && (!plainName.MatchString(spelled) || len(spelled) > maxName) {
		return ""
	}
	if !valued {
		return spelled
	}
	return spelled + "=" + keptValue(name, value)
}

// WithoutCredentials is a text that is stored without what looks like a credential in it.
func WithoutCredentials(s string) string { return maskLook(s) }
