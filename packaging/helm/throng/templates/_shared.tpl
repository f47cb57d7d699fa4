{{- /* What all pods have in common: no token of the cluster, and a user that is not root. The volume is given to that
user once; doing so again would open the identity to the group, and the party would refuse it. */ -}}
{{- define "throng.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- /* Kubernetes has no setting for core dumps or locked memory: they are those of the node. */ -}}
{{- define "throng.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  requests: {memory: {{ .Values.memory }}}
  limits: {memory: {{ .Values.memory }}}
{{- end -}}
