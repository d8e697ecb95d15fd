{{/* The name of everything in a release: "barnabas" for a release of that name. */}}
{{- define "barnabas.name" -}}
{{- ternary .Release.Name (printf "%s-barnabas" .Release.Name) (contains "barnabas" .Release.Name) | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "barnabas.headless" -}}
{{ include "barnabas.name" . }}-nodes
{{- end }}

{{/* What the name of a node ends with: "barnabas-0" and this resolve to the pod. */}}
{{- define "barnabas.zone" -}}
{{ include "barnabas.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "barnabas.selectorLabels" -}}
app.kubernetes.io/name: barnabas
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "barnabas.labels" -}}
{{ include "barnabas.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "barnabas.controllers" -}}
{{- if gt (int .Values.controllers) (int .Values.replicas) }}
{{- fail (printf "controllers is %d, but there are only %d replicas." (int .Values.controllers) (int .Values.replicas)) }}
{{- end }}
{{- int .Values.controllers }}
{{- end }}

{{/* The voters, by their stable names: 0@barnabas-0.<zone>:9093,1@... */}}
{{- define "barnabas.voters" -}}
{{- $voters := list }}
{{- range $i := until (int (include "barnabas.controllers" .)) }}
{{- $voters = append $voters (printf "%d@%s-%d.%s:9093" $i (include "barnabas.name" $) $i (include "barnabas.zone" $)) }}
{{- end }}
{{- join "," $voters }}
{{- end }}

{{- define "barnabas.externalAddresses" -}}
{{- if ne (len .Values.externalAccess.addresses) (int .Values.replicas) }}
{{- fail (printf "externalAccess.addresses has %d entries, but there are %d replicas." (len .Values.externalAccess.addresses) (int .Values.replicas)) }}
{{- end }}
{{- join " " .Values.externalAccess.addresses }}
{{- end }}
