package sources

import (
	"regexp"
	"slices"
	"strings"
)

// Masked stands for a value that is not recorded.
const Masked = "***"

// secretWords in a flag's name say that its value may be a secret.
var secretWords = []string{"token", "password", "passwd", "passphrase", "pwd", "secret", "secrets", "key", "apikey", "credential",
	"credentials", "bearer", "auth", "authorization", "jwt"}

// pathWords in a flag's name say that its value is the name of a file; anything else there may be the file's content.
// With one of them a secret word is no reason to mask: --client-key-file=/etc/key.
var pathWords = []string{"config", "kubeconfig", "file", "path", "dir", "cert", "certs", "ca"}

var (
	// plainPath is a file name and nothing that could be content.
	plainPath = regexp.MustCompile(`^(/|\./|\.\./|~/)?[\w.@+-]+(/[\w.@+-]+)*/?$`)
	// plainSetting are values that cannot be a secret: switches, numbers, durations.
	plainSetting = regexp.MustCompile(`^(true|false|[0-9.]+([a-zA-Zµ]{1,2}|[KMGT]i)?([0-9hms.]*)?)$`)
	// looksSecret are credentials wherever they stand: JSON web tokens, PEM blocks, access keys of AWS, GitHub and Google.
	looksSecret = regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]+|-----BEGIN|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}`)
	// userinfo is what a URL says before the @.
	userinfo = regexp.MustCompile(`(\w+://)[^/@\s]+@`)
	// secretPair is a setting within a value: "token=abc", "password:abc".
	secretPair = regexp.MustCompile(`(?i)\b((?:[\w-]*[_-])?(?:token|password|passwd|secret|apikey|api_key|credentials?|passphrase))([=:])[^,;\s&]+`)
)

// Mask hides the value of one flag, "--name=value", where it may be a secret: by the flag's name, or by its look.
// Of flags that name files only a path is kept. Flags of other names are kept as they are: they decide what scales.
func Mask(flag string) string {
	name, value, ok := strings.Cut(flag, "=")
	if !ok {
		return maskLook(flag)
	}
	parts := strings.FieldsFunc(strings.ToLower(strings.TrimLeft(name, "-")), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	has := func(list []string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(list, p) })
	}
	switch {
	case value == "" || plainSetting.MatchString(value) && !has(secretWords) || value == "true" || value == "false":
		return flag
	case strings.HasPrefix(value, "$(") && strings.HasSuffix(value, ")"): // the name of an environment variable
		return flag
	case has(pathWords):
		if plainPath.MatchString(value) && (strings.Contains(value, "/") || !has(secretWords)) && maskLook(value) == value {
			return flag
		}
		return name + "=" + Masked
	case has(secretWords):
		return name + "=" + Masked
	}
	return name + "=" + maskLook(value)
}

func maskLook(s string) string {
	if looksSecret.MatchString(s) {
		return Masked
	}
	s = userinfo.ReplaceAllString(s, "${1}"+Masked+"@")
	return secretPair.ReplaceAllString(s, "${1}${2}"+Masked)
}
