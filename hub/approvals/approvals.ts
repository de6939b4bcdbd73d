import type { ApprovalsConfig } from '#config';
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
  parseRecord,
} from './records.ts';
import { createOpenApprovals } from './open-approvals.ts';
import { createStandingApprovals } from './standing.ts';

/** A change of an approval, for the audit log. */
type ApprovalChange = {
  readonly action: string;
  readonly principal: string | undefined;
  readonly target: string;
  readonly outcome: 'ok' | 'error';
  readonly details: object;
};

export type ApprovalNeeds = {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
  /** Returns a random id of at least 16 hex digits. Dashes are ignored. */
  readonly newId: () => string;
  /** Removes secrets from arguments, and returns the text that people are shown. */
  readonly show: (args: string) => string;
  readonly record: (change: ApprovalChange) => void;
  readonly openJournal: (snapshot: () => readonly object[]) => Journal;
};

/** A call that needs approval. `args`: its canonical arguments as they will be sent to the server. */
export type AskedCall = ConfirmedCall &
  Pick<Approval, 'rule' | 'reason'> & { readonly args: string };

export type Approvals = ReturnType<typeof createApprovals>;

/**
 * Creates the approvals of calls that a rule makes a person confirm. They are stored in a journal: an unused approval
 * survives a restart of the hub, and its use is on disk before the call is sent to its server.
 */
export function createApprovals(options: () => ApprovalsConfig, needs: ApprovalNeeds) {
  const { clock, newId, record } = needs;
  const open = createOpenApprovals(options);
  const changed = createEmitter<void>(error =>
    needs.log.error({ error: messageOf(error) }, 'a change of approvals could not be shown'),
  );
  const settled = createEmitter<string>();
  /** Unfinished writes of approvals, by approval id. An approval takes effect when it is on disk. */
  const approving = new Map<string, Promise<boolean>>();
  // Compaction drops the oldest records first, so standing approvals come last.
  const journal = needs.openJournal(() => [
    ...open.all().map(approval => ({ approval })),
    ...standing.all().map(one => ({ standing: one })),
  ]);
  const append = (line: ApprovalRecord) => journal.append(line);
  const standing = createStandingApprovals({
    append,
    unwritten,
    decided(action, by, one) {
      audit(action, by, one);
      changed.fire();
    },
  });

  function audit(
    action: string,
    by: string | undefined,
    about: Approval | StandingApproval,
    more: object = {},
  ): void {
    const { client, server, tool } = about;
    const hash = 'hash' in about ? { arguments_sha256: about.hash } : {};
    const details = { client, server, tool, ...hash, ...more };
    record({ action, principal: by, target: about.id, outcome: 'ok', details });
  }

  /** Applies an event. Resolves with true if the new state is on disk. An approval that cannot be written is undone. */
  async function apply(approval: Approval, event: ApprovalEvent): Promise<boolean> {
    const { id } = approval;
    const state = next(approval.state, event);
    if (state === approval.state) return (await approving.get(id)) ?? true;
    const after = { ...approval, state };
    if (isOver(state)) open.drop(approval);
    else open.keep(after);
    const tell = () => {
      if (state.kind !== 'withdrawn')
        audit(`approval_${state.kind}`, 'by' in state ? state.by : undefined, after);
      settled.fire(id);
    };
    const written = append(isOver(state) ? { removed: id } : { approval: after });
    if (state.kind !== 'approved') tell();
    else {
      const approved = written.then(isWritten => {
        approving.delete(id);
        if (isWritten) tell();
        else if (open.find(id) === after) open.keep(approval);
        changed.fire();
        return isWritten;
      });
      approving.set(id, approved);
    }
    changed.fire();
    return await written;
  }

  /** Expires approvals whose time is over. */
  function expire(): void {
    const at = clock.now();
    for (const approval of open.all())
      if (next(approval.state, { type: 'look', at }) !== approval.state)
        void apply(approval, { type: 'look', at });
  }

  function freeId(): string {
    for (;;) {
      const id = newId().replaceAll('-', '').slice(0, idLength);
      if (!open.find(id) && !standing.hasId(id)) return id;
    }
  }

  function getPending(id: string): Approval {
    expire();
    const approval = open.find(id);
    if (approval) return approval;
    throw new HubError(
      'HUB_APPROVAL_UNKNOWN',
      `no approval ${JSON.stringify(id)} waits: it expired, was used, or never existed. "agenthub approvals" lists those that wait`,
    );
  }

  /** Returns a person's earlier decision about a call. See `admit` in the returned object. */
  async function admit(call: ConfirmedCall): Promise<'approved' | 'denied' | undefined> {
    expire();
    if (standing.admits(call)) return 'approved';
    const same = open.of(call);
    const approved = same.find(({ state }) => state.kind === 'approved');
    if (!approved) return same.some(({ state }) => state.kind === 'denied') ? 'denied' : undefined;
    const written = approving.get(approved.id);
    if (written) {
      await written;
      return await admit(call);
    }
    if (await apply(approved, { type: 'use', at: clock.now() })) return 'approved';
    throw unwritten();
  }

  async function addStanding(approval: Approval, by: string): Promise<void> {
    const { caller, client, server, entry, tool, ownTool } = approval;
    const call = { caller, client, server, entry, tool, ownTool };
    await standing.add({ ...call, id: freeId(), createdAt: clock.now(), by });
  }

  return {
    /** Reads the approvals of earlier runs from the journal. */
    async start(): Promise<void> {
      for (const line of await journal.open()) {
        const read = parseRecord(line);
        if (!read) continue;
        if ('approval' in read) open.keep(read.approval);
        else if ('standing' in read) standing.restore(read.standing);
        else {
          const approval = open.find(read.removed);
          if (approval) open.drop(approval);
          standing.drop(read.removed);
        }
      }
      expire();
    },
    stop: (): Promise<void> => journal.close(),
    /** Fires after every change of an approval. */
    changed: changed.event satisfies Event<void>,
    /** Returns the approvals that are not over, the oldest first. */
    list(): readonly Approval[] {
      expire();
      return open.all();
    },
    standing: (): readonly StandingApproval[] => standing.all(),
    /** Number of calls that wait for a decision. */
    get waiting(): number {
      expire();
      return open.all().filter(({ state }) => state.kind === 'pending').length;
    },
    get agentWaitMs(): number {
      return options().agentWaitMs;
    },
    /** Maximum time from the request for an approval to its use, in milliseconds. */
    get wholeLifeMs(): number {
      return 2 * options().lifetimeMs;
    },
    /**
     * Returns a person's earlier decision about a call, undefined without one, and uses up an approval of exactly this
     * call. If the use cannot be written, rejects with HUB_APPROVAL_STORE_FAILED: the call must not be sent.
     */
    admit,
    /**
     * Adds a call that waits for a decision. With `isShared`, returns an equal waiting call instead, if there is one.
     * Rejects with HUB_APPROVALS_FULL.
     */
    async ask({ args, ...call }: AskedCall, isShared: boolean): Promise<Approval> {
      const same = isShared ? open.of(call).find(one => one.state.kind === 'pending') : undefined;
      if (same) return same;
      open.checkRoom(call.caller);
      const at = clock.now();
      const state: ApprovalState = { kind: 'pending', expiresAt: at + options().lifetimeMs };
      const approval = { ...call, id: freeId(), shown: needs.show(args), createdAt: at, state };
      open.keep(approval);
      const written = append({ approval });
      changed.fire();
      // If the write fails, the call still waits in this run of the hub: nothing is approved yet.
      await written;
      return approval;
    },
    /**
     * Waits until a person has decided about a waiting call or it has expired, at most `maxMs`. Rejects if the signal
     * is aborted.
     */
    async wait(id: string, signal: AbortSignal, maxMs = Infinity): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      using stack = new DisposableStack();
      stack.use(settled.event(one => one === id && resolve()));
      const state = open.find(id)?.state;
      if (state?.kind !== 'pending') return;
      stack.use(clock.after(Math.min(maxMs, state.expiresAt - clock.now()), resolve));
      await unlessAborted(promise, signal);
    },
    /**
     * Approves a waiting call once, or all calls of its client to its tool. Rejects with HUB_APPROVAL_UNKNOWN,
     * HUB_APPROVAL_DENIED, or HUB_APPROVAL_STORE_FAILED if it cannot be written.
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
        // Another person may have denied the call while the standing approval was written.
        await apply(open.find(id) ?? approval, { type: 'withdraw', at });
        return;
      }
      const event = { type: 'approve', at, by, expiresAt: at + options().lifetimeMs } as const;
      if (!(await apply(approval, event))) throw unwritten();
    },
    /** Denies a waiting or unused approval. Rejects with HUB_APPROVAL_UNKNOWN or HUB_APPROVAL_STORE_FAILED. */
    async deny(id: string, by: string): Promise<void> {
      const at = clock.now();
      const approval = getPending(id);
      const event = { type: 'deny', at, by, expiresAt: at + options().lifetimeMs } as const;
      const isWritten =
        approval.state.kind === 'denied'
          ? // The denial may not be on the disk.
            await append({ approval })
          : await apply(approval, event);
      if (!isWritten)
        throw unwritten('the call is denied in this run of the hub only: deny it again');
    },
    /** Drops a waiting call that was cancelled or has ended. */
    withdraw(id: string): void {
      const approval = open.find(id);
      if (approval) void apply(approval, { type: 'withdraw', at: clock.now() });
    },
    /** Drops a waiting call that the client's user did not accept. `answer`: the user's answer, for the audit log. */
    decline(id: string, by: string, answer: string): void {
      const approval = open.find(id);
      if (approval?.state.kind !== 'pending') return;
      audit('approval_declined', by, approval, { answer });
      void apply(approval, { type: 'withdraw', at: clock.now() });
    },
    /** Removes a standing approval. Rejects with HUB_APPROVAL_UNKNOWN or HUB_APPROVAL_STORE_FAILED. */
    removeStanding: (id: string, by: string): Promise<void> => standing.remove(id, by),
  };
}

/** Number of hex digits of an approval id. It is short because people type it. */
const idLength = 8;

const unwritten = (so = 'nothing is approved') =>
  retryable(
    'HUB_APPROVAL_STORE_FAILED',
    `the file of approvals in the data folder cannot be written, so ${so}. Make room on its disk`,
  );
