export { loadOtlp } from './otel-lazy.ts';
export type { Otlp, OtlpNeeds, OtlpOptions } from './otel.ts';
export { type Family, type Sample, exposition, expositionType } from './exposition.ts';
export { type LogOptions, type OpenLog, createLog, openLog } from './log.ts';
export { type Metrics, type MetricsSnapshot, type ServerCalls, createMetrics } from './metrics.ts';
export type { Interval } from './recent.ts';
export type { Trace, Tracer } from './trace.ts';
export { type Redaction, createRedaction, redactJson, redactText } from './redact.ts';
export { type Launched, type OwnSecrets, createKnownSecrets } from './known-secrets.ts';
