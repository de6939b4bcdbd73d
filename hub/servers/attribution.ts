import type { Ledger } from '#core';
import type { Abandoned } from './abandoned.ts';
import type { About, Caller } from './caller.ts';

/** Requests in flight, by the hub's ids. Those of the hub's own have no caller. */
type InFlight = Ledger<{ readonly caller: Caller | undefined }>;

/**
 * What a message is about that came on the way of the hub's request with this id, given as JSON text.
 * Undefined without an id: then the way tells nothing.
 */
export function aboutOf(pending: InFlight, id: string | undefined): About | undefined {
  if (id === undefined) return undefined;
  const entry = pending.find(Number(id));
  return entry ? (entry.caller ?? 'none') : 'gone';
}

/**
 * The caller of the newest request in flight, where all in flight have the same owner, those included
 * that nobody waits for any more. Requests of the hub's own do not count.
 */
export function onlyCaller(pending: InFlight, abandoned: Abandoned): Caller | 'none' | 'several' {
  let newest: Caller | undefined;
  for (const [, { caller }] of pending.entries()) {
    if (!caller) continue;
    if (newest && newest.owner !== caller.owner) return 'several';
    newest = caller;
  }
  for (const owner of abandoned.owners()) if (owner !== newest?.owner) return 'several';
  return newest ?? 'none';
}
