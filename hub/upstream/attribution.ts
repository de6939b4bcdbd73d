import type { Abandoned } from './abandoned.ts';
import { type About, type Caller, isSameClient } from './caller.ts';
import type { InFlight } from './pending-requests.ts';

/**
 * Returns the subject of a message that arrived on the response to the hub's request `id` (JSON text). Returns
 * undefined if `id` is undefined: the channel then does not tell.
 */
export function aboutOf(
  pending: Pick<InFlight, 'find'>,
  id: string | undefined,
): About | undefined {
  if (id === undefined) return undefined;
  const entry = pending.find(Number(id));
  return entry ? (entry.caller ?? 'none') : 'gone';
}

/**
 * Returns the caller of the newest pending call if all pending and abandoned calls belong to one client. Runs in
 * constant time, because a server may send any number of messages.
 */
export function onlyCaller(
  calls: InFlight['calls'],
  abandoned: Pick<Abandoned, 'owner'>,
): Caller | 'none' | 'several' {
  const { newest, isOfSeveral } = calls;
  const given = abandoned.owner();
  if (isOfSeveral || given === 'several') return 'several';
  if (given !== 'none' && !(newest && isSameClient(given, newest.owner))) return 'several';
  return newest ?? 'none';
}
