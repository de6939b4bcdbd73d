import type { Abandoned } from './abandoned.ts';
import { type About, type Caller, isSameClient } from './caller.ts';
import type { InFlight } from './pending-requests.ts';

/**
 * What a message is about that came on the way of the hub's request with this id, given as JSON text.
 * Undefined without an id: then the way tells nothing.
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
 * The caller of the newest call in flight, where all in flight are of one client, those included that
 * nobody waits for any more. It costs the same however many there are: a server may say as much as it likes.
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
