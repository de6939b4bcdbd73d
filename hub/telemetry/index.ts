export { loadOtlpExporter } from './otel/lazy.ts';
export type { OtlpExporter, OtlpNeeds, OtlpOptions } from './otel/otel.ts';
export { type MetricFamily, type Sample, exposition, expositionType } from './exposition.ts';
export { type LogOptions, type OpenLog, createLog, openLog } from './log.ts';
export { type Metrics, type MetricsSnapshot, type ServerCalls, createMetrics } from './metrics.ts';
export type { Interval } from './recent-calls.ts';
export type { Trace, Tracer } from './trace.ts';
export { type Redaction, createRedaction, redactJson, redactText } from './redact.ts';
export { type HubSecrets, type LaunchConfig, createKnownSecrets } from './known-secrets.ts';
