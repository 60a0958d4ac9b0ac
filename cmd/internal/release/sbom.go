package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a bill of materials in CycloneDX JSON: each binary with its hash, the modules the Go linker says are in
// it, with theirs, and the Go they were built with.
// https://cyclonedx.org/docs/1.6/json/
func writeSBOM(file, version string, binaries []string) error {
	bom, err := billOf(version, binaries)
	if err != nil {
		return err
	}
	return create(file, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

func billOf(version string, binaries []string) (*cdx.BOM, error) {
	const root = "scalehist"
	modules := map[string]cdx.Component{}
	components, depends := []cdx.Component{}, []cdx.Dependency{}
	top := cdx.Dependency{Ref: root, Dependencies: &[]string{}}
	for _, file := range binaries {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s is no Go binary: %w", file, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		own := cdx.Component{BOMRef: "binary:" + filepath.Base(file), Type: cdx.ComponentTypeApplication, Name: filepath.Base(file), Version: binaryVersion(info, version),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}}
		components = append(components, own)
		*top.Dependencies = append(*top.Dependencies, own.BOMRef)
		inside := []string{}
		for _, m := range modulesOf(info) {
			c := moduleComponent(m)
			modules[c.BOMRef] = c
			inside = append(inside, c.BOMRef)
		}
		slices.Sort(inside)
		depends = append(depends, cdx.Dependency{Ref: own.BOMRef, Dependencies: &inside})
	}
	refs := make([]string, 0, len(modules))
	for ref := range modules {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	for _, ref := range refs {
		components = append(components, modules[ref])
	}
	depends = append([]cdx.Dependency{top}, depends...)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{BOMRef: root, Type: cdx.ComponentTypeApplication, Name: root, Version: version}}
	bom.Components, bom.Dependencies = &components, &depends
	return bom, nil
}

// binaryVersion is that of the main module; of our own binary, whose module has none in a checkout, the release's.
func binaryVersion(info *debug.BuildInfo, release string) string {
	if strings.HasPrefix(info.Path, "github.com/scalehist/scalehist") {
		return release
	}
	for _, m := range info.Deps {
		if info.Path == m.Path || strings.HasPrefix(info.Path, m.Path+"/") {
			return m.Version
		}
	}
	return info.Main.Version
}

// modulesOf are the modules of a binary, as they were replaced, and the standard library, sorted by path.
func modulesOf(info *debug.BuildInfo) []debug.Module {
	out := []debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, *m)
	}
	return out
}

func moduleComponent(m debug.Module) cdx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version) // https://github.com/package-url/purl-spec
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl}
	// go.sum's "h1:" is the base64 of a SHA-256 over the module's files.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == sha256.Size {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}
