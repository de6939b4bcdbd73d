import type { createOtlp } from './otel.ts';

/** What sends traces and metrics, for hubs that have somewhere to send them: others need not load it. */
export async function loadOtlp(): Promise<typeof createOtlp> {
  return (await import('./otel.ts')).createOtlp;
}
