package discovery

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
)

// keySize is that of AES-256.
const keySize = 32

// Key encrypts kubeconfigs (AES-256-GCM).
type Key struct{ aead cipher.AEAD }

// ReadKey reads a key file: 32 bytes, or 64 hexadecimal digits.
func ReadKey(path string) (*Key, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if text := bytes.TrimSpace(data); len(text) == 2*keySize {
		raw := make([]byte, keySize)
		if _, err := hex.Decode(raw, text); err == nil {
			data = raw
		}
	}
	if len(data) != keySize {
		return nil, fmt.Errorf("key %s: want 32 bytes or 64 hexadecimal digits, such as from 'openssl rand -hex 32'", path)
	}
	block, err := aes.NewCipher(data)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", path, err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", path, err)
	}
	return &Key{aead}, nil
}

// seal encrypts a text for a name: under another name it cannot be read.
func (k *Key) seal(name, text string) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return k.aead.Seal(nonce, nonce, []byte(text), []byte(name))
}

// errSealed says nothing of what was to be read.
var errSealed = errors.New("it was encrypted with another key, or changed since")

func (k *Key) open(name string, sealed []byte) (string, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return "", errSealed
	}
	text, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(name))
	if err != nil {
		return "", errSealed
	}
	return string(text), nil
}
