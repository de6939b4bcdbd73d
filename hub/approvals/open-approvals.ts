import { retryable } from '#core';
import { type Approval, type ConfirmedCall, callKey } from './records.ts';

type Bounds = {
  /** Maximum number of approvals that are not over. */
  readonly maxWaiting: number;
  /** Maximum number of approvals of one principal that are not over. */
  readonly maxWaitingPerClient: number;
};

/** Creates the store of approvals that are not over, by id, with their number per principal. */
export function createOpenApprovals(bounds: () => Bounds) {
  const byId = new Map<string, Approval>();
  const counts = new Map<string, number>();

  function count(caller: string, by: 1 | -1): void {
    const left = (counts.get(caller) ?? 0) + by;
    if (left > 0) counts.set(caller, left);
    else counts.delete(caller);
  }

  return {
    find: (id: string): Approval | undefined => byId.get(id),
    /** All open approvals, the oldest first. */
    all: (): readonly Approval[] => [...byId.values()],
    /** Returns the approvals of exactly this call: same caller, server, tool and arguments. */
    of(call: ConfirmedCall): readonly Approval[] {
      const key = callKey(call);
      return [...byId.values()].filter(one => callKey(one) === key);
    },
    /** Adds an approval, or replaces its state. */
    keep(approval: Approval): void {
      if (!byId.has(approval.id)) count(approval.caller, 1);
      byId.set(approval.id, approval);
    },
    drop({ id, caller }: Approval): void {
      if (byId.delete(id)) count(caller, -1);
    },
    /** Throws HUB_APPROVALS_FULL if the principal cannot have another approval. */
    checkRoom(caller: string): void {
      const { maxWaiting, maxWaitingPerClient } = bounds();
      const isFull = byId.size >= maxWaiting;
      if (!isFull && (counts.get(caller) ?? 0) < maxWaitingPerClient) return;
      const [most, whose, key] = isFull
        ? [maxWaiting, 'wait', 'max_waiting']
        : [maxWaitingPerClient, 'of this client wait', 'max_waiting_per_client'];
      throw retryable(
        'HUB_APPROVALS_FULL',
        `${most} calls ${whose} for a person already. Decide about them with "agenthub approvals", or raise approvals.${key} in the config`,
      );
    },
  };
}
