import {
  type Clock,
  type Event,
  type Log,
  HubError,
  createEmitter,
  messageOf,
  retryable,
  unlessAborted,
} from '#core';
import type { Journal } from '#store';
import { type ApprovalEvent, type ApprovalState, isOver, next } from './next.ts';
import {
  type Approval,
  type ApprovalRecord,
  type ConfirmedCall,
  type StandingApproval,
  callKey,
  parseRecord,
  toolKey,
} from './records.ts';

export type ApprovalOptions = {
  /** Time for a person to decide, and then for the client to repeat its call, in milliseconds each. */
  readonly lifetimeMs: number;
  /** Maximum number of approvals that wait for a decision or for their call. */
  readonly maxWaiting: number;
  /** Maximum number of those of one principal. */
  readonly maxWaitingPerClient: number;
  /** Time that a call of an agent waits for a person, in milliseconds. */
  readonly agentWaitMs: number;
};

/** A decision, for the audit log. */
export type ApprovalChange = {
  readonly action: string;
  readonly principal: string | undefined;
  readonly target: string;
  readonly outcome: 'ok' | 'error';
  readonly details: object;
};

export type ApprovalNeeds = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
  /** A random id of at least 16 hex digits; dashes are dropped. */
  readonly newId: () => string;
  /** Removes secrets from arguments, and returns the text that people are shown. */
  readonly show: (args: string) => string;
  readonly record: (change: ApprovalChange) => void;
  readonly openJournal: (snapshot: () => readonly object[]) => Journal;
};

/** A call that has to be approved. `args`: its canonical final arguments. */
export type AskedCall = ConfirmedCall &
  Pick<Approval, 'rule' | 'reason'> & { readonly args: string };

export type Approvals = ReturnType<typeof createApprovals>;

/** Maximum number of standing approvals. */
const maxStanding = 1_000;

/**
 * Creates the approvals of calls that a rule wants a person to confirm. They are in a journal: what was approved and not
 * used survives the hub, and a use is on the disk before the call goes to its server.
 */
export function createApprovals(options: () => ApprovalOptions, needs: ApprovalNeeds) {
  const { clock, newId, record } = needs;
  const approvals = new Map<string, Approval>();
  const standing = new Map<string, StandingApproval>();
  /** The waiting approvals of each principal. */
  const counts = new Map<string, number>();
  const changed = createEmitter<void>(error =>
    needs.log.error({ error: messageOf(error) }, 'a change of approvals could not be shown'),
  );
  const settled = createEmitter<string>();
  // Compaction drops the oldest records first, so standing approvals come last.
  const journal = needs.openJournal(() => [
    ...Array.from(approvals.values(), approval => ({ approval })),
    ...Array.from(standing.values(), one => ({ standing: one })),
  ]);
  const append = (line: ApprovalRecord) => journal.append(line);

  function count(caller: string, by: 1 | -1): void {
    const left = (counts.get(caller) ?? 0) + by;
    if (left > 0) counts.set(caller, left);
    else counts.delete(caller);
  }

  function keep(approval: Approval): void {
    if (!approvals.has(approval.id)) count(approval.caller, 1);
    approvals.set(approval.id, approval);
  }

  function drop({ id, caller }: Approval): void {
    if (approvals.delete(id)) count(caller, -1);
  }

  function audit(action: string, by: string | undefined, about: Approval | StandingApproval): void {
    const { client, server, tool } = about;
    const hash = 'hash' in about ? { arguments_sha256: about.hash } : {};
    const details = { client, server, tool, ...hash };
    record({ action, principal: by, target: about.id, outcome: 'ok', details });
  }

  /** Applies an event. Resolves with whether the new state is on the disk. */
  async function apply(approval: Approval, event: ApprovalEvent): Promise<boolean> {
    const state = next(approval.state, event);
    if (state === approval.state) return true;
    const after = { ...approval, state };
    if (isOver(state)) drop(approval);
    else keep(after);
    if (state.kind !== 'withdrawn')
      audit(`approval_${state.kind}`, 'by' in state ? state.by : undefined, after);
    const written = append(isOver(state) ? { removed: approval.id } : { approval: after });
    settled.fire(approval.id);
    changed.fire();
    return await written;
  }

  /** Lets approvals expire whose time is over. */
  function expire(): void {
    const at = clock.now();
    for (const approval of approvals.values())
      if (next(approval.state, { type: 'look', at }) !== approval.state)
        void apply(approval, { type: 'look', at });
  }

  function freeId(): string {
    for (;;) {
      const id = newId().replaceAll('-', '').slice(0, idLength);
      if (!approvals.has(id) && !standing.has(id)) return id;
    }
  }

  function getPending(id: string): Approval {
    expire();
    const approval = approvals.get(id);
    if (approval) return approval;
    throw new HubError(
      'HUB_APPROVAL_UNKNOWN',
      `no approval ${JSON.stringify(id)} waits: it expired, was used, or never existed. "agenthub approvals" lists those that wait`,
    );
  }

  function checkRoom(caller: string): void {
    const { maxWaiting, maxWaitingPerClient } = options();
    const [most, whose] =
      approvals.size >= maxWaiting
        ? [maxWaiting, 'wait']
        : [maxWaitingPerClient, 'of this client wait'];
    if (approvals.size < maxWaiting && (counts.get(caller) ?? 0) < most) return;
    throw retryable(
      'HUB_APPROVALS_FULL',
      `${most} calls ${whose} for a person already. Decide about them with "agenthub approvals", or raise approvals.${whose === 'wait' ? 'max_waiting' : 'max_waiting_per_client'} in the config`,
    );
  }

  async function addStanding(approval: Approval, by: string): Promise<void> {
    const known = [...standing.values()].find(one => toolKey(one) === toolKey(approval));
    if (known) return;
    if (standing.size >= maxStanding)
      throw new HubError(
        'HUB_APPROVALS_FULL',
        `there are ${maxStanding} standing approvals already: remove some with "agenthub approvals remove ID", or change the rule`,
      );
    const { caller, client, server, tool, ownTool } = approval;
    const call = { caller, client, server, tool, ownTool };
    const one = { ...call, id: freeId(), createdAt: clock.now(), by };
    standing.set(one.id, one);
    if (!(await append({ standing: one }))) {
      standing.delete(one.id);
      throw unwritten();
    }
    audit('standing_approval_added', by, one);
    changed.fire();
  }

  return {
    name: 'approvals',
    /** Reads what earlier runs left. */
    async start(): Promise<void> {
      for (const line of await journal.open()) {
        const read = parseRecord(line);
        if (!read) continue;
        if ('approval' in read) keep(read.approval);
        else if ('standing' in read) standing.set(read.standing.id, read.standing);
        else {
          const approval = approvals.get(read.removed);
          if (approval) drop(approval);
          standing.delete(read.removed);
        }
      }
      expire();
    },
    stop: (): Promise<void> => journal.close(),
    /** Fires after every change. */
    changed: changed.event satisfies Event<void>,
    /** The approvals that are not over, the oldest first. */
    list(): readonly Approval[] {
      expire();
      return [...approvals.values()];
    },
    standing: (): readonly StandingApproval[] => [...standing.values()],
    /** The number of calls that wait for a decision. */
    get waiting(): number {
      expire();
      return [...approvals.values()].filter(({ state }) => state.kind === 'pending').length;
    },
    get agentWaitMs(): number {
      return options().agentWaitMs;
    },
    /**
     * Decides about a call by what a person decided before, and uses up the approval of exactly this call. Undefined if
     * nobody decided. Rejects with HUB_APPROVAL_STORE_FAILED if the use cannot be written: the call must not go on.
     */
    async admit(call: ConfirmedCall): Promise<'approved' | 'denied' | undefined> {
      expire();
      const tool = toolKey(call);
      for (const one of standing.values()) if (toolKey(one) === tool) return 'approved';
      const key = callKey(call);
      const same = [...approvals.values()].filter(one => callKey(one) === key);
      const approved = same.find(({ state }) => state.kind === 'approved');
      if (approved) {
        if (await apply(approved, { type: 'use', at: clock.now() })) return 'approved';
        throw unwritten();
      }
      return same.some(({ state }) => state.kind === 'denied') ? 'denied' : undefined;
    },
    /**
     * Adds a call to those that wait. With `isShared` the call that waits already is returned, if there is one. Throws
     * HUB_APPROVALS_FULL.
     */
    async ask({ args, ...call }: AskedCall, isShared: boolean): Promise<Approval> {
      const key = callKey(call);
      const same = isShared
        ? [...approvals.values()].find(one => one.state.kind === 'pending' && callKey(one) === key)
        : undefined;
      if (same) return same;
      checkRoom(call.caller);
      const at = clock.now();
      const state: ApprovalState = { kind: 'pending', expiresAt: at + options().lifetimeMs };
      const approval = { ...call, id: freeId(), shown: needs.show(args), createdAt: at, state };
      keep(approval);
      const written = append({ approval });
      changed.fire();
      // Unwritten, it waits in this run only: nothing was approved yet.
      await written;
      return approval;
    },
    /**
     * Waits until a waiting call is decided about or its time is over, at most `maxMs`. Rejects if the signal is
     * aborted.
     */
    async wait(id: string, signal: AbortSignal, maxMs = Infinity): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      using stack = new DisposableStack();
      stack.use(settled.event(one => one === id && resolve()));
      const state = approvals.get(id)?.state;
      if (state?.kind !== 'pending') return;
      stack.use(clock.after(Math.min(maxMs, state.expiresAt - clock.now()), resolve));
      await unlessAborted(promise, signal);
    },
    /**
     * Approves a waiting call once, or its client and tool for good. Throws HUB_APPROVAL_UNKNOWN, and
     * HUB_APPROVAL_STORE_FAILED if it cannot be written.
     */
    async approve(id: string, by: string, isForGood = false): Promise<void> {
      const approval = getPending(id);
      if (approval.state.kind === 'denied')
        throw new HubError(
          'HUB_APPROVAL_DENIED',
          `the call ${id} was denied by ${approval.state.by}. Its client can ask again when that has expired`,
        );
      const at = clock.now();
      if (isForGood) {
        await addStanding(approval, by);
        await apply(approval, { type: 'withdraw', at });
        return;
      }
      const event = { type: 'approve', at, by, expiresAt: at + options().lifetimeMs } as const;
      if (await apply(approval, event)) return;
      if (approvals.get(id)?.state.kind === 'approved') keep(approval);
      throw unwritten();
    },
    /** Denies a call that waits, or that was approved and not used. Throws like `approve`. */
    async deny(id: string, by: string): Promise<void> {
      const at = clock.now();
      const event = { type: 'deny', at, by, expiresAt: at + options().lifetimeMs } as const;
      if (!(await apply(getPending(id), event))) throw unwritten();
    },
    /** Drops a waiting call that is over. */
    withdraw(id: string): void {
      const approval = approvals.get(id);
      if (approval) void apply(approval, { type: 'withdraw', at: clock.now() });
    },
    /** Removes a standing approval. Throws like `approve`. */
    async removeStanding(id: string, by: string): Promise<void> {
      const one = standing.get(id);
      if (!one)
        throw new HubError(
          'HUB_APPROVAL_UNKNOWN',
          `no standing approval ${JSON.stringify(id)} exists. "agenthub approvals" lists them`,
        );
      standing.delete(id);
      audit('standing_approval_removed', by, one);
      changed.fire();
      if (!(await append({ removed: id }))) throw unwritten();
    },
  };
}

/** Ids are typed by people. */
const idLength = 8;

const unwritten = () =>
  retryable(
    'HUB_APPROVAL_STORE_FAILED',
    'the file of approvals in the data folder cannot be written, so nothing is approved. Make room on its disk',
  );
