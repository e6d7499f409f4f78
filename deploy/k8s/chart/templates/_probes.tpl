{{/*
The kubelet's gRPC probe speaks no TLS, so with mutual TLS inner services are asked on the port of their metrics.
*/}}
{{- define "datahub.probes" -}}
{{- $port := include "datahub.port" .service -}}
{{- $inner := ternary "httpGet: { path: /readyz, port: metrics }" (printf "grpc: { port: %s }" $port) .root.Values.mutualTls.enabled -}}
{{- $live := ternary "httpGet: { path: /healthz, port: http }" $inner (eq .service "gateway") -}}
{{- $ready := ternary "httpGet: { path: /readyz, port: http }" $inner (eq .service "gateway") -}}
startupProbe:
  {{ $live }}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 60
readinessProbe:
  {{ $ready }}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- /* An inner service that drains says NOT_SERVING: killing it for that would cut what it drains, hence the open port. */}}
livenessProbe:
  {{ ternary $live (printf "tcpSocket: { port: %s }" $port) (eq .service "gateway") }}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
{{- end -}}
