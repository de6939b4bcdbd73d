import { HubError } from '#core';
import { type StandingApproval, toolKey } from './records.ts';

/** Maximum number of standing approvals. */
const maxStanding = 1_000;

type Needs = {
  /** Writes a change. Resolves with whether it is on the disk. */
  readonly append: (
    line: { readonly standing: StandingApproval } | { readonly removed: string },
  ) => Promise<boolean>;
  /** The error for a change that is not on the disk. `so`: what this means for the user. */
  readonly unwritten: (so?: string) => HubError;
  /** Called for each change that a person made. */
  readonly decided: (
    action: 'standing_approval_added' | 'standing_approval_removed',
    by: string,
    one: StandingApproval,
  ) => void;
};

/** Keeps standing approvals, one for each client and tool. */
export function createStandingApprovals({ append, unwritten, decided }: Needs) {
  const byTool = new Map<string, StandingApproval>();
  /** Writes of standing approvals that are not finished. Such an approval admits no call yet. */
  const writing = new Map<StandingApproval, Promise<boolean>>();
  const find = (id: string) => [...byTool.values()].find(one => one.id === id);

  return {
    all: (): readonly StandingApproval[] => [...byTool.values()],
    hasId: (id: string): boolean => find(id) !== undefined,
    /** True if all calls of this client to this tool are approved. */
    admits(call: Parameters<typeof toolKey>[0]): boolean {
      const one = byTool.get(toolKey(call));
      return one !== undefined && !writing.has(one);
    },
    /** Adds what an earlier run wrote. */
    restore: (one: StandingApproval): void => void byTool.set(toolKey(one), one),
    /** Drops what an earlier run removed. */
    drop(id: string): void {
      const one = find(id);
      if (one) byTool.delete(toolKey(one));
    },
    /** Adds one, unless the client and tool have one. Throws HUB_APPROVALS_FULL and `unwritten`. */
    async add(one: StandingApproval): Promise<void> {
      const key = toolKey(one);
      const known = byTool.get(key);
      if (known) {
        if ((await writing.get(known)) === false) throw unwritten();
        return;
      }
      if (byTool.size >= maxStanding)
        throw new HubError(
          'HUB_APPROVALS_FULL',
          `there are ${maxStanding} standing approvals already: remove some with "agenthub approvals remove ID", or change the rule`,
        );
      byTool.set(key, one);
      const written = append({ standing: one }).then(isWritten => {
        writing.delete(one);
        if (!isWritten && byTool.get(key) === one) byTool.delete(key);
        return isWritten;
      });
      writing.set(one, written);
      if (!(await written)) throw unwritten();
      decided('standing_approval_added', one.by, one);
    },
    /** Removes one. Throws HUB_APPROVAL_UNKNOWN and `unwritten`. */
    async remove(id: string, by: string): Promise<void> {
      const one = find(id);
      if (!one)
        throw new HubError(
          'HUB_APPROVAL_UNKNOWN',
          `no standing approval ${JSON.stringify(id)} exists. "agenthub approvals" lists them`,
        );
      const key = toolKey(one);
      // Before the record is written: the approval admits no call from now on, and a compaction of the journal leaves it out.
      byTool.delete(key);
      if (!(await append({ removed: id }))) {
        // The next run of the hub would read it, so this one shows it, too.
        if (!byTool.has(key)) byTool.set(key, one);
        throw unwritten('the standing approval stays');
      }
      decided('standing_approval_removed', by, one);
    },
  };
}
