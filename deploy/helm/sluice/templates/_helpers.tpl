{{- /* The name of everything. */ -}}
{{- define "sluice.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "sluice.metadata" -}}
name: {{ include "sluice.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
{{- end -}}

{{- define "sluice.secretName" -}}
{{- default (include "sluice.fullname" .) .Values.existingSecret -}}
{{- end -}}

{{- define "sluice.configMapName" -}}
{{- default (include "sluice.fullname" .) .Values.existingConfigMap -}}
{{- end -}}

{{- define "sluice.hasToken" -}}
{{- if or .Values.existingSecret .Values.token -}}true{{- end -}}
{{- end -}}

{{- define "sluice.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.fromSecret -}}true{{- end -}}
{{- end -}}

{{- /* What would not do what it looks like is refused, with a sentence. */ -}}
{{- define "sluice.validate" -}}
{{- if and (not .Values.withoutToken) (not (include "sluice.hasToken" .)) -}}
{{- fail "There is no token: everybody who reaches the pods could reset and block keys. Set existingSecret to a Secret with the key token, or token, or withoutToken=true if that is meant." -}}
{{- end -}}
{{- if and .Values.redis.fromSecret (not .Values.existingSecret) -}}
{{- fail "redis.fromSecret needs existingSecret: the Secret that has the address under the key redis." -}}
{{- end -}}
{{- if and .Values.existingSecret .Values.redis.url -}}
{{- fail "With existingSecret the address of Redis goes into it too, under the key redis: set redis.fromSecret=true and leave redis.url out." -}}
{{- end -}}
{{- if and .Values.existingSecret .Values.token -}}
{{- fail "Set existingSecret or token, not both." -}}
{{- end -}}
{{- if not (include "sluice.hasRedis" .) -}}
{{- if or (and (eq .Values.kind "Deployment") (gt (int .Values.replicas) 1)) (eq .Values.kind "DaemonSet") .Values.autoscaling.enabled -}}
{{- fail "Without Redis each pod counts by itself, so n pods would allow n times each limit. Set redis.url, or redis.fromSecret with existingSecret, or kind=Deployment with replicas=1 and without autoscaling." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The container. A chart that has sluice as a dependency includes it in its own pods: values/sidecar.yaml. */ -}}
{{- define "sluice.container" -}}
name: sluice
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - serve
  {{- range $flag, $value := .Values.settings }}
  {{- if eq (toString $value) "true" }}
  - --{{ $flag }}
  {{- else if ne (toString $value) "false" }}
  - {{ printf "--%s=%s" $flag (toString $value) | quote }}
  {{- end }}
  {{- end }}
env:
  - name: SLUICE_CONFIG
    value: /etc/sluice
  # The lab is for looking, not for serving.
  - name: SLUICE_NO_LAB
    value: 'true'
  # One process in each pod: replicas scale, and a pod that may use half a core sees all cores of its node.
  - name: SLUICE_WORKERS
    value: '1'
  - name: SLUICE_PORT
    value: {{ .Values.service.httpPort | quote }}
  {{- if .Values.service.grpcPort }}
  - name: SLUICE_GRPC_PORT
    value: {{ .Values.service.grpcPort | quote }}
  {{- end }}
  # The names of the Service; the first part of it alone needs no mention.
  - name: SLUICE_ALLOWED_HOSTS
    value: {{ printf "%s.%s,*.svc,*.svc.cluster.local" (include "sluice.fullname" .) .Release.Namespace }}{{ range .Values.allowedHosts }},{{ . }}{{ end }}
  {{- if include "sluice.hasRedis" . }}
  - name: SLUICE_REDIS
    valueFrom:
      secretKeyRef:
        name: {{ include "sluice.secretName" . }}
        key: redis
  {{- end }}
  {{- if include "sluice.hasToken" . }}
  - name: SLUICE_TOKEN
    valueFrom:
      secretKeyRef:
        name: {{ include "sluice.secretName" . }}
        key: token
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - name: SLUICE_TLS_CERT
    value: /etc/sluice-tls/tls.crt
  - name: SLUICE_TLS_KEY
    value: /etc/sluice-tls/tls.key
  {{- if .Values.tls.requireClientCertificate }}
  - name: SLUICE_TLS_CLIENT_CA
    value: /etc/sluice-tls/ca.crt
  {{- end }}
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - name: http
    containerPort: {{ .Values.service.httpPort }}
  {{- if .Values.service.grpcPort }}
  - name: grpc
    containerPort: {{ .Values.service.grpcPort }}
  {{- end }}
{{- if ne .Values.kind "None" }}
startupProbe:
  {{- include "sluice.probe" (dict "values" .Values "path" "/healthz") | nindent 2 }}
  periodSeconds: 1
  failureThreshold: 30
# Whether the process is well. That Redis is away is no reason to start it anew.
livenessProbe:
  {{- include "sluice.probe" (dict "values" .Values "path" "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 3
# Not before Redis has answered once, so a wrong address stops the rollout; not while it drains.
readinessProbe:
  {{- include "sluice.probe" (dict "values" .Values "path" "/readyz") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 2
lifecycle:
  preStop:
    exec:
      command: [sleep, {{ .Values.drainSeconds | quote }}]
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
volumeMounts:
  - name: sluice-config
    mountPath: /etc/sluice
    readOnly: true
  {{- if .Values.tls.existingSecret }}
  - name: sluice-tls
    mountPath: /etc/sluice-tls
    readOnly: true
  {{- end }}
{{- end -}}

{{- define "sluice.probe" -}}
{{- if and .values.tls.existingSecret .values.tls.requireClientCertificate -}}
tcpSocket:
  port: http
{{- else -}}
httpGet:
  path: {{ .path }}
  port: http
  {{- if .values.tls.existingSecret }}
  scheme: HTTPS
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "sluice.volumes" -}}
- name: sluice-config
  configMap:
    name: {{ include "sluice.configMapName" . }}
{{- if .Values.tls.existingSecret }}
- name: sluice-tls
  secret:
    secretName: {{ .Values.tls.existingSecret }}
{{- end }}
{{- end -}}
