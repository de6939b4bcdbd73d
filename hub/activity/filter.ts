import type { ActivityFilter, CallSummary } from './call.ts';

/** Returns a predicate for all fields of the filter except `before` and `after`, which the caller applies. */
export function matcherOf(filter: ActivityFilter): (call: CallSummary) => boolean {
  const { server, tool, client, session, outcome } = filter;
  const text = filter.text?.toLowerCase();
  const includesText = (value: string | undefined) =>
    text !== undefined && value !== undefined && value.toLowerCase().includes(text);
  return call =>
    (server === undefined || call.server === server) &&
    (tool === undefined || call.name === tool) &&
    (client === undefined || call.client === client) &&
    (session === undefined || call.session === session) &&
    (outcome === undefined ||
      (outcome === 'failed' ? call.outcome !== 'ok' : call.outcome === outcome)) &&
    (text === undefined ||
      includesText(call.method) ||
      includesText(call.name) ||
      includesText(call.server) ||
      includesText(call.client) ||
      includesText(call.outcome));
}
