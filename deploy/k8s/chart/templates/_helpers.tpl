{{- define "datahub.name" -}}
{{- $base := .Release.Name -}}
{{- if not (contains "data-hub" $base) }}{{ $base = printf "%s-data-hub" $base }}{{ end -}}
{{- $base | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "datahub.selector" -}}
app.kubernetes.io/name: data-hub
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "datahub.labels" -}}
{{ include "datahub.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The account of the pods, or nothing for the namespace's default one. */}}
{{- define "datahub.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "datahub.name" .) "" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* The port that other services call. */}}
{{- define "datahub.port" -}}
{{- get (dict "gateway" 8080 "catalog" 7071 "executor" 7072 "ml" 7073) . -}}
{{- end -}}

{{/* The catalog's port for executors only. */}}
{{- define "datahub.internalPort" -}}
7074
{{- end -}}

{{/* The port of a callee for a caller: (dict "caller" … "callee" …). */}}
{{- define "datahub.calledPort" -}}
{{- if and (eq .callee "catalog") (eq .caller "executor") }}{{ include "datahub.internalPort" . }}{{ else }}{{ include "datahub.port" .callee }}{{ end -}}
{{- end -}}

{{/* The port of /metrics, or nothing. */}}
{{- define "datahub.metricsPort" -}}
{{- get (dict "gateway" 9090 "catalog" 9091 "executor" 9092 "ml" 9093) . -}}
{{- end -}}

{{/* The bits that the addresses of a range have in common, as text after the number of the family. */}}
{{- define "datahub.prefix" -}}
{{- $range := splitList "/" . -}}
{{- $address := first $range -}}
{{- $bits := "" -}}
{{- if contains ":" $address -}}
{{- $halves := splitList "::" $address -}}
{{- $groups := splitList ":" (first $halves) | compact -}}
{{- if gt (len $halves) 1 -}}
{{- $end := splitList ":" (last $halves) | compact -}}
{{- range until (int (sub (sub 8 (len $groups)) (len $end))) }}{{ $groups = append $groups "0" }}{{ end -}}
{{- $groups = concat $groups $end -}}
{{- end -}}
{{- range $groups }}{{ $bits = printf "%s%016b" $bits (int64 (printf "0x%s" .)) }}{{ end -}}
{{- else -}}
{{- range splitList "." $address }}{{ $bits = printf "%s%08b" $bits (atoi .) }}{{ end -}}
{{- end -}}
{{- ternary "6:" "4:" (contains ":" $address) -}}{{- substr 0 (atoi (last $range)) $bits -}}
{{- end -}}

{{/* Lists all missing values at once. */}}
{{- define "datahub.check" -}}
{{- $faults := list -}}
{{- $needed := dict
  "store" "holds the URL of MongoDB (SQLite serves one process and is not offered here)"
  "sealingPublic" "holds the public sealing key, for the catalog"
  "sealingPrivate" "holds the private sealing key, for the executor"
  "apiKey" "holds the first account's API key" -}}
{{- if .Values.serviceToken.enabled }}{{ $_ := set $needed "serviceToken" "holds the token that inner callers show" }}{{ end -}}
{{- if .Values.mutualTls.enabled }}{{ $_ := set $needed "tls" "holds ca.crt, tls.crt and tls.key" }}{{ end -}}
{{- range $name, $what := $needed -}}
{{- if not (get $.Values.secrets $name).name }}{{ $faults = append $faults (printf "secrets.%s.name is not set: it names the secret that %s." $name $what) }}{{ end -}}
{{- end -}}
{{- if not (or .Values.serviceToken.enabled .Values.mutualTls.enabled) -}}
{{- $faults = append $faults "serviceToken.enabled and mutualTls.enabled are both off: inner ports must authenticate their callers." -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.store.to) -}}
{{- $faults = append $faults "networkPolicy.store.to is empty: it says where MongoDB is, as peers of a network policy." -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- $faults = append $faults "ingress.host is not set: the ingress needs the name it answers to." -}}
{{- end -}}
{{- with .Values.serviceAccount }}{{ if and .annotations (not .create) -}}
{{- $faults = append $faults "serviceAccount.annotations would be ignored: serviceAccount.create is off." -}}
{{- end }}{{ end -}}
{{- if and .Values.edge.pipeline (not .Values.edge.enabled) -}}
{{- $faults = append $faults "edge.pipeline would be ignored: edge.enabled is off." -}}
{{- end -}}
{{- $by := dict
  "DATAHUB_CATALOG_REPLICAS" "catalog.replicas and catalog.autoscaling"
  "DATAHUB_DRAIN_MS" "drainMs"
  "DATAHUB_EDGE" "edge.enabled"
  "DATAHUB_EDGE_CONFIG" "edge.pipeline"
  "DATAHUB_SOURCES_ALLOW" "sources.allowCidrs and sources.allowNames"
  "DATAHUB_SOURCES_PRIVATE" "sources.allowCidrs"
  "DATAHUB_TLS_CA" "mutualTls and secrets.tls"
  "DATAHUB_TLS_CERT" "mutualTls and secrets.tls"
  "DATAHUB_TLS_KEY" "mutualTls and secrets.tls" -}}
{{- $secret := list "DATAHUB_STORE_URL" "DATAHUB_API_KEY" "DATAHUB_SERVICE_TOKEN" "DATAHUB_SEALING_PUBLIC_KEYS" "DATAHUB_SEALING_PRIVATE_KEYS" "DATAHUB_GENERATOR_API_KEY" "DATAHUB_AWS_SECRET_ACCESS_KEY" "DATAHUB_AWS_SESSION_TOKEN" -}}
{{- $ofUser := list "DATAHUB_MAIL_PASSWORD" "DATAHUB_OIDC_CLIENT_SECRET" "OTEL_EXPORTER_OTLP_HEADERS" "OTEL_EXPORTER_OTLP_TRACES_HEADERS" -}}
{{- range $service := list "gateway" "catalog" "executor" "ml" -}}
{{- $own := fromYaml (include "datahub.ownSettings" (dict "root" $ "service" $service)) -}}
{{- range list "DATAHUB_SOURCES_ALLOW" "DATAHUB_TLS_CA" "DATAHUB_TLS_CERT" "DATAHUB_TLS_KEY" }}{{ $_ := set $own . "" }}{{ end -}}
{{- range (get $.Values $service).extraEnv -}}
{{- if or (hasKey $own .name) (has .name $secret) (eq .name "DATAHUB_SOURCES_DENY") -}}
{{- $faults = append $faults (printf "%s.extraEnv has %s, which the chart sets itself." $service .name) -}}
{{- else if or (hasKey $.Values.settings.all .name) (hasKey (get $.Values.settings $service) .name) -}}
{{- $faults = append $faults (printf "%s.extraEnv has %s, which `settings` has, too." $service .name) -}}
{{- end -}}
{{- end -}}
{{- range $group := list "all" $service -}}
{{- range $name, $_ := get $.Values.settings $group -}}
{{- if has $name $secret -}}
{{- $faults = append $faults (printf "settings.%s.%s is a secret: name a secret under `secrets` instead." $group $name) -}}
{{- else if has $name $ofUser -}}
{{- $faults = append $faults (printf "settings.%s.%s is a secret: give it to its service by extraEnv, with valueFrom, instead." $group $name) -}}
{{- else if and (hasKey $own $name) (ne $name "DATAHUB_SOURCES_DENY") -}}
{{- $faults = append $faults (printf "settings.%s.%s would be overruled: the chart sets it %s." $group $name (ternary (printf "by %s" (get $by $name)) "itself" (hasKey $by $name))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $faults }}{{ fail (printf "\n\nThe chart cannot be rendered:\n- %s\ndocs/kubernetes.md shows how the secrets are made.\n" (join "\n- " (uniq $faults))) }}{{ end -}}
{{- end -}}

{{/* An environment variable from a secret: (dict "name" … "secret" …). */}}
{{- define "datahub.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret.name | quote }}, key: {{ .secret.key | quote }} }
{{- end -}}

{{/* The secrets that a service gets; it gets no others. */}}
{{- define "datahub.secretEnv" -}}
{{- $secrets := .root.Values.secrets -}}
{{- if .root.Values.serviceToken.enabled }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_SERVICE_TOKEN" "secret" $secrets.serviceToken) }}
{{- end }}
{{- if has .service (list "catalog" "ml") }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_STORE_URL" "secret" $secrets.store) }}
{{- end }}
{{- if eq .service "catalog" }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_API_KEY" "secret" $secrets.apiKey) }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_SEALING_PUBLIC_KEYS" "secret" $secrets.sealingPublic) }}
{{- end }}
{{- if eq .service "executor" }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_SEALING_PRIVATE_KEYS" "secret" $secrets.sealingPrivate) }}
{{- end }}
{{- if and (eq .service "executor") $secrets.aws.name }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_AWS_SECRET_ACCESS_KEY" "secret" $secrets.aws) }}
{{- end }}
{{- if and (eq .service "ml") $secrets.generator.name }}
{{ include "datahub.fromSecret" (dict "name" "DATAHUB_GENERATOR_API_KEY" "secret" $secrets.generator) }}
{{- end }}
{{- end -}}

{{/* The settings of a service that the chart makes, as a YAML map. `datahub.check` refuses them among the user's. */}}
{{- define "datahub.ownSettings" -}}
{{- $root := .root -}}
{{- $service := .service -}}
{{- $name := include "datahub.name" $root -}}
{{- $own := dict "HOST" "0.0.0.0" "DATAHUB_DATA_DIR" "/data" "DATAHUB_LOG_FORMAT" "json" "DATAHUB_DRAIN_MS" (printf "%d" (int $root.Values.drainMs)) -}}
{{- if eq $service "gateway" -}}
{{- $_ := set $own "PORT" (include "datahub.port" $service) -}}
{{- $_ := set $own "DATAHUB_EDGE" (ternary "express-gateway" "none" $root.Values.edge.enabled) -}}
{{- if and $root.Values.edge.enabled $root.Values.edge.pipeline }}{{ $_ := set $own "DATAHUB_EDGE_CONFIG" "/edge/gateway.config.yml" }}{{ end -}}
{{- range list "catalog" "executor" "ml" -}}
{{- $_ := set $own (printf "DATAHUB_%s_ADDRESS" (upper .)) (printf "%s-%s:%s" $name . (include "datahub.port" .)) -}}
{{- end -}}
{{- else -}}
{{- $_ := set $own "DATAHUB_GRPC_PORT" (include "datahub.port" $service) -}}
{{- if eq $service "catalog" }}{{ $_ := set $own "DATAHUB_INTERNAL_PORT" (include "datahub.internalPort" .) }}{{ end -}}
{{- end -}}
{{- with include "datahub.metricsPort" $service }}{{ $_ := set $own "DATAHUB_METRICS_PORT" . }}{{ end -}}
{{- if eq $service "catalog" -}}
{{- /* The maximum number of pods: that of the autoscaler, plus one during a rollout. */ -}}
{{- $replicas := int $root.Values.catalog.replicas -}}
{{- with $root.Values.catalog.autoscaling }}{{ if .enabled }}{{ $replicas = max $replicas .replicasMax }}{{ end }}{{ end -}}
{{- $_ := set $own "DATAHUB_CATALOG_REPLICAS" (printf "%d" (add1 $replicas)) -}}
{{- end -}}
{{- if eq $service "executor" -}}
{{- $names := list -}}
{{- range list "gateway" "catalog" "executor" "ml" }}{{ $names = append $names (printf "%s-%s" $name .) }}{{ end -}}
{{- $_ := set $own "DATAHUB_CATALOG_INTERNAL_ADDRESS" (printf "%s-catalog:%s" $name (include "datahub.internalPort" .)) -}}
{{- $_ := set $own "DATAHUB_OWN_NAMES" (join "," $names) -}}
{{- $_ := set $own "DATAHUB_SOURCES_LOOPBACK" "0" -}}
{{- $_ := set $own "DATAHUB_SOURCES_PRIVATE" "0" -}}
{{- with concat $root.Values.sources.allowCidrs $root.Values.sources.allowNames }}{{ $_ := set $own "DATAHUB_SOURCES_ALLOW" (join "," .) }}{{ end -}}
{{- $deny := concat $root.Values.networkPolicy.clusterRanges (compact (list $root.Values.settings.all.DATAHUB_SOURCES_DENY $root.Values.settings.executor.DATAHUB_SOURCES_DENY)) -}}
{{- with $deny }}{{ $_ := set $own "DATAHUB_SOURCES_DENY" (join "," .) }}{{ end -}}
{{- end -}}
{{- if $root.Values.mutualTls.enabled -}}
{{- range $key, $file := dict "CA" "ca.crt" "CERT" "tls.crt" "KEY" "tls.key" }}{{ $_ := set $own (printf "DATAHUB_TLS_%s" $key) (printf "/tls/%s" $file) }}{{ end -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{/* The ConfigMap of a service, as a YAML map. */}}
{{- define "datahub.settings" -}}
{{- $own := fromYaml (include "datahub.ownSettings" .) -}}
{{- range $key, $value := mergeOverwrite (dict) .root.Values.settings.all (get .root.Values.settings .service) $own }}
{{- /* Numbers of YAML are floating-point numbers, and large ones would get an exponent. */}}
{{ $key }}: {{ ternary (printf "%.0f" $value) (toString $value) (and (kindIs "float64" $value) (eq (toString (floor $value)) (toString $value))) | quote }}
{{- end }}
{{- end -}}
