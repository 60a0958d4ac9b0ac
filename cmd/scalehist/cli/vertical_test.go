package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
	"github.com/scalehist/scalehist/recorder/service"
)

func init() { onClusters = append(onClusters, recommendVertical) }

// kubelets answers as a Prometheus that scrapes them: the container c of pod a uses half a core and 600 MiB all the time.
func kubelets(w http.ResponseWriter, r *http.Request) {
	value := "629145600"
	if strings.Contains(r.FormValue("query"), "cpu") {
		value = "0.5"
	}
	if !strings.Contains(r.FormValue("query"), `namespace="vertical"`) {
		http.Error(w, "it asks for all namespaces", http.StatusBadRequest)
		return
	}
	number := func(key string) float64 { f, _ := strconv.ParseFloat(r.FormValue(key), 64); return f }
	var values []string
	for at := number("start"); at <= number("end"); at += 60 {
		values = append(values, fmt.Sprintf(`[%.0f,%q]`, at, value))
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"namespace":"vertical","pod":"a","container":"c"},"values":[%s]}]}}`, strings.Join(values, ","))
}

// recommendVertical: a dry run prints and writes nothing; with --write the status has what was printed, until it is stopped.
func recommendVertical(t *testing.T, client kubernetes.Interface, kubeconfig string) {
	prometheus := httptest.NewServer(http.HandlerFunc(kubelets))
	defer prometheus.Close()
	config, err := service.Kubeconfig(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, t.Context(), "vertical", "recommend", "--kubeconfig", kubeconfig, "--once")
	if code != console.ExitFailed || !strings.Contains(stderr, "the cluster does not serve VerticalPodAutoscalers") {
		t.Errorf("without the definition: exit %d, %s", code, stderr)
	}
	if err := apitest.DefineVPAs(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	vpas, err := vpaclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vertical"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.AppsV1().Deployments("vertical").Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}, metav1.CreateOptions{})
	}
	if err == nil {
		account := false
		template.Spec.AutomountServiceAccountToken = &account
		_, err = client.CoreV1().Pods("vertical").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}, Spec: template.Spec}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = vpas.AutoscalingV1().VerticalPodAutoscalers("vertical").Create(t.Context(), &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"vertical", "recommend", "--kubeconfig", kubeconfig, "--namespace", "vertical", "--prometheus", prometheus.URL, "--since", "2h", "--recommender", "max-usage:margin=0"}
	code, _, stderr = run(t, t.Context(), append(args, "--once")...)
	if code != console.ExitOK || !strings.Contains(stderr, "no VerticalPodAutoscaler of vertical names scalehist-vertical in spec.recommenders") {
		t.Errorf("nobody names it: exit %d, %s", code, stderr)
	}
	args = append(args, "--name", "default")
	code, stdout, stderr := run(t, t.Context(), append(args, "--once", "-o", "json")...)
	var line struct {
		Name    string
		Pods    int
		Written bool
		Status  *vpav1.VerticalPodAutoscalerStatus
	}
	if err := json.Unmarshal([]byte(stdout), &line); err != nil || code != console.ExitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	recommended := line.Status.Recommendation.ContainerRecommendations
	if line.Name != "web" || line.Pods != 1 || line.Written || len(recommended) != 1 || recommended[0].Target.Cpu().MilliValue() != 500 || recommended[0].Target.Memory().Value() != 600<<20 {
		t.Errorf("%s", stdout)
	}
	read := func() *vpav1.VerticalPodAutoscaler {
		v, err := vpas.AutoscalingV1().VerticalPodAutoscalers("vertical").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := read(); v.Status.Recommendation != nil || len(v.Status.Conditions) > 0 {
		t.Errorf("a dry run has written %+v", v.Status)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	out, errs := &waitingBuffer{text: "c: 500m CPU, 600Mi memory", found: stop}, &bytes.Buffer{}
	if code := Execute(ctx, append(args, "--write", "--health-listen", "127.0.0.1:0", "--identity", "me"), console.IO{Out: out, Err: errs}); code != console.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	if !strings.HasPrefix(out.String(), "vertical/web, mode Recreate, 1 pod: written\n") || !strings.Contains(errs.String(), "into their status; Ctrl-C stops") {
		t.Errorf("it says %s%s", out, errs)
	}
	if v := read(); v.Status.Recommendation == nil || v.Status.Recommendation.ContainerRecommendations[0].Target.Cpu().MilliValue() != 500 {
		t.Errorf("written: %+v", v.Status)
	}
	if _, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints("vertical").Get(t.Context(), "web.max-usage", metav1.GetOptions{}); err != nil {
		t.Errorf("checkpoint: %v", err)
	}
	lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("the lease is not given back: %+v, %v", lease, err)
	}
}

// TestVerticalMistakes: what is wrong is said before anybody is asked.
func TestVerticalMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--interval", "0s"}, "--interval 0s: must be more than 0"},
		{[]string{"--recommender", "vpb"}, `vpa; did you mean "vpa"?`},
		{[]string{"--recommender", "threshold:target-cpu=x"}, "target-cpu"},
		{[]string{"--since", "1h"}, "--since goes with --prometheus"},
		{[]string{"--prometheus", "http://p", "--since", "-1h"}, "--since -1h0m0s: must not be negative"},
		{[]string{"--name", ""}, "--name: want a name"},
		{[]string{"--kubeconfig", "no/such/file"}, "vertical recommend: kubeconfig: stat no/such/file"},
		{[]string{"--kubeconfig", kubeconfig(t), "--prometheus", "p"}, `Prometheus "p": want http`},
		{[]string{"--kubeconfig", kubeconfig(t), "--health-listen", "256.0.0.1:1"}, "choose another --health-listen"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"vertical", "recommend"}, c.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}
