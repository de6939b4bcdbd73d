import type { createOtlpExporter } from './otel.ts';

/** Imports the OTLP exporter. Only hubs with an OpenTelemetry endpoint need it in memory. */
export async function loadOtlpExporter(): Promise<typeof createOtlpExporter> {
  return (await import('./otel.ts')).createOtlpExporter;
}
