// Package check decodes the recipes as an API server does that refuses unknown and repeated fields.
package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func decode(manifest []byte) (runtime.Object, error) {
	scheme := runtime.NewScheme()
	if err := core.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apps.AddToScheme(scheme); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	object, _, err := decoder.Decode(manifest, nil, nil)
	return object, err
}

func specOf(t *testing.T, object runtime.Object) core.PodSpec {
	switch typed := object.(type) {
	case *apps.Deployment:
		return typed.Spec.Template.Spec
	case *core.Pod:
		return typed.Spec
	}
	t.Fatalf("a recipe is a pod or a deployment, not %T", object)
	return core.PodSpec{}
}

func TestRecipesAreUnderstoodStrictly(t *testing.T) {
	files, err := filepath.Glob("../*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d recipes (%v)", len(files), err)
	}
	for _, file := range files {
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object, err := decode(manifest)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		check(t, file, specOf(t, object))
		misspelt := strings.Replace(string(manifest), "volumeMounts:", "volumeMount:", 1)
		if _, err := decode([]byte(misspelt)); misspelt != string(manifest) && err == nil {
			t.Errorf("%s: an unknown field is accepted", file)
		}
	}
}

// No privileges, no host paths, and volumes that exist.
func check(t *testing.T, file string, spec core.PodSpec) {
	volumes := map[string]bool{}
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = true
		if volume.HostPath != nil {
			t.Errorf("%s: volume %s is a path of the host", file, volume.Name)
		}
	}
	if spec.HostPID || spec.HostNetwork || spec.HostIPC {
		t.Errorf("%s: takes part in the host's namespaces", file)
	}
	containers := append(append([]core.Container{}, spec.InitContainers...), spec.Containers...)
	for _, ephemeral := range spec.EphemeralContainers {
		containers = append(containers, core.Container(ephemeral.EphemeralContainerCommon))
	}
	for _, container := range containers {
		security := container.SecurityContext
		isPrivileged := security != nil && security.Privileged != nil && *security.Privileged
		hasCapabilities := security != nil && security.Capabilities != nil && len(security.Capabilities.Add) > 0
		if isPrivileged || hasCapabilities {
			t.Errorf("%s: container %s has privileges", file, container.Name)
		}
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] {
				t.Errorf("%s: container %s mounts %s, which is no volume", file, container.Name, mount.Name)
			}
		}
	}
}
