export { loadOtlpExporter } from './otel/lazy.ts';
export type { OtlpNeeds, OtlpOptions } from './otel/otel.ts';
export { type MetricFamily, type Sample, exposition, expositionType } from './exposition.ts';
export { createLog, openLog } from './log.ts';
export { type Metrics, createMetrics } from './metrics.ts';
export type { Trace, Tracer } from './trace.ts';
export { type Redaction, createRedaction, redactJson, redactText } from './redact.ts';
export { createKnownSecrets } from './known-secrets.ts';
