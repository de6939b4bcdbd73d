import type { ActivityFilter, Call } from './call.ts';

/** Whether a call is wanted; which ids are is decided elsewhere. */
export function matcherOf(filter: ActivityFilter): (call: Call) => boolean {
  const { server, tool, client, session, outcome } = filter;
  const text = filter.text?.toLowerCase();
  const holds = (value: string | undefined) =>
    text !== undefined && value !== undefined && value.toLowerCase().includes(text);
  return call =>
    (server === undefined || call.server === server) &&
    (tool === undefined || call.name === tool) &&
    (client === undefined || call.client === client) &&
    (session === undefined || call.session === session) &&
    (outcome === undefined ||
      (outcome === 'failed' ? call.outcome !== 'ok' : call.outcome === outcome)) &&
    (text === undefined ||
      holds(call.method) ||
      holds(call.name) ||
      holds(call.server) ||
      holds(call.client) ||
      holds(call.outcome));
}
