import { type ApprovalNeeds, createApprovals } from '#approvals';
import type { ApprovalsConfig } from '#config';
import { type Clock, silent, systemClock } from '#core';
import { createJournal } from '#store';
import { redactText } from '#telemetry';
import { createFaultyDisk } from '../store/journal-disks.ts';

type Options = Partial<ApprovalsConfig> & {
  readonly clock?: Pick<Clock, 'now' | 'after'>;
  readonly disk?: ReturnType<typeof createFaultyDisk>;
};

export const lifetimeMs = 600_000;

/** Opens and starts approvals on a disk in memory, and collects the audit records they write. */
export async function openTestApprovals({ clock, disk, ...options }: Options = {}) {
  const recorded: Parameters<ApprovalNeeds['record']>[0][] = [];
  const files = disk ?? createFaultyDisk();
  let last = 0;
  const approvals = createApprovals(
    () => ({
      lifetimeMs,
      maxWaiting: 1_000,
      maxWaitingPerClient: 200,
      agentWaitMs: 60_000,
      ...options,
    }),
    {
      clock: clock ?? systemClock,
      log: silent,
      newId: () => `${String(++last).padStart(8, 'a')}-0000-0000`,
      show: redactText,
      record: change => void recorded.push(change),
      openJournal: snapshot =>
        createJournal(
          { file: '/data/approvals.jsonl', maxBytes: 1_000_000, snapshot },
          { log: silent, disk: files.disk },
        ),
    },
  );
  await approvals.start();
  return { approvals, recorded, disk: files };
}
