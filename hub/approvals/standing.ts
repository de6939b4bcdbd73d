import { HubError } from '#core';
import { type StandingApproval, toolKey } from './records.ts';

/** Maximum number of standing approvals. */
const maxStanding = 1_000;

type Needs = {
  /** Writes a change to the journal. Resolves with true if it is on disk. */
  readonly append: (
    line: { readonly standing: StandingApproval } | { readonly removed: string },
  ) => Promise<boolean>;
  /** Creates the error for a change that cannot be written. `so`: consequence for the user. */
  readonly unwritten: (so?: string) => HubError;
  /** Called after a person has added or removed a standing approval. */
  readonly decided: (
    action: 'standing_approval_added' | 'standing_approval_removed',
    by: string,
    one: StandingApproval,
  ) => void;
};

/** Creates the store of standing approvals. Each pair of client and tool has at most one. */
export function createStandingApprovals({ append, unwritten, decided }: Needs) {
  const byTool = new Map<string, StandingApproval>();
  /** Unfinished writes of standing approvals. An approval that is being written admits no call yet. */
  const writing = new Map<StandingApproval, Promise<boolean>>();
  const find = (id: string) => [...byTool.values()].find(one => one.id === id);

  return {
    all: (): readonly StandingApproval[] => [...byTool.values()],
    hasId: (id: string): boolean => find(id) !== undefined,
    /** True if a standing approval admits all calls of this client to this tool. */
    admits(call: Parameters<typeof toolKey>[0]): boolean {
      const one = byTool.get(toolKey(call));
      return one !== undefined && !writing.has(one);
    },
    /** Adds a standing approval of an earlier run. */
    restore: (one: StandingApproval): void => void byTool.set(toolKey(one), one),
    /** Drops a standing approval that an earlier run removed. */
    drop(id: string): void {
      const one = find(id);
      if (one) byTool.delete(toolKey(one));
    },
    /** Adds a standing approval if no equal one exists. Rejects with HUB_APPROVALS_FULL or the error of `unwritten`. */
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
    /** Removes a standing approval. Rejects with HUB_APPROVAL_UNKNOWN, or with `unwritten` if it stays on disk. */
    async remove(id: string, by: string): Promise<void> {
      const one = find(id);
      if (!one)
        throw new HubError(
          'HUB_APPROVAL_UNKNOWN',
          `no standing approval ${JSON.stringify(id)} exists. "agenthub approvals" lists them`,
        );
      const key = toolKey(one);
      // Deleted before the record is written: the approval admits no more calls, and a compaction of the journal omits
      // it.
      byTool.delete(key);
      if (!(await append({ removed: id }))) {
        // The next run of the hub would read the approval from the journal, so it stays in this run too.
        if (!byTool.has(key)) byTool.set(key, one);
        throw unwritten('the standing approval stays');
      }
      decided('standing_approval_removed', by, one);
    },
  };
}
