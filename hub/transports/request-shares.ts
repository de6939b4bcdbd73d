import { type Principal, policyNameOf } from '#policy';

/**
 * Limits the unanswered requests of a named client to half of the maximum of all clients, so that others find room.
 * Local callers have no share: they are many programs of one user.
 */
export function createRequestShares(max: number) {
  const share = Math.max(1, Math.floor(max / 2));
  const counts = new Map<string, number>();

  function count(principal: Principal, by: 1 | -1): void {
    if (principal.kind === 'local') return;
    const name = policyNameOf(principal);
    const now = (counts.get(name) ?? 0) + by;
    if (now > 0) counts.set(name, now);
    else counts.delete(name);
  }

  return {
    /** Returns the reason to refuse another request; undefined if there is room. `size`: requests of all clients. */
    refusal(principal: Principal, size: number): string | undefined {
      if (size >= max) return `${size} requests are unanswered. Try again later`;
      if (size < share || principal.kind === 'local') return undefined;
      const name = policyNameOf(principal);
      const own = counts.get(name) ?? 0;
      return own < share
        ? undefined
        : `${own} requests of ${JSON.stringify(name)} are unanswered, the most that one client may have. Wait for answers, or try again later`;
    },
    add: (principal: Principal): void => count(principal, 1),
    remove: (principal: Principal): void => count(principal, -1),
  };
}
