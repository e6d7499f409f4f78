{{/*
The kubelet's gRPC probe speaks no TLS, so with mutual TLS inner services are asked on the port of their metrics.
*/}}
{{- define "datahub.probes" -}}
{{- $port := include "datahub.port" .service -}}
{{- $inner := ternary "httpGet: { path: /readyz, port: metrics }" (printf "grpc: { port: %s }" $port) .root.Values.mutualTls.enabled -}}
{{- $live := "httpGet: { path: /healthz, port: http }" -}}
{{- $ready := ternary "httpGet: { path: /readyz, port: http }" $inner (eq .service "gateway") -}}
{{- /*
An inner service that drains, or waits for the catalog or the store, says NOT_SERVING. Killing it for that would cut what it drains, or
have the kubelet back off while what it waits for returns: hence the open port.
*/ -}}
{{- $alive := ternary $live (printf "tcpSocket: { port: %s }" $port) (eq .service "gateway") -}}
startupProbe:
  {{ $alive }}
  periodSeconds: 1
  timeoutSeconds: 2
  failureThreshold: 60
readinessProbe:
  {{ $ready }}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  {{ $alive }}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
{{- end -}}
