import { type Clock, type Log, type Timer, createEmitter, messageOf } from '#core';
import { type ArgumentsText, type AuditedCall, createCallQueue } from './call-lines.ts';
import { type AuditedChange, type AuditedRefusal, type BodyNeeds, createBodies } from './body.ts';
import { type SealedPage, type WriteMembers, copyOf } from './pages.ts';
import { type AuditFilesNeeds, type FileLimits, createAuditFiles } from './files.ts';
import { type AuditFilter, type AuditPage, type PageOptions, isDenied, readPage } from './read.ts';
import { type AuditReport, verifyAudit } from './verify.ts';
import { createWaitingLines } from './waiting-lines.ts';

/** The section `audit` of the config. */
export type AuditOptions = FileLimits & {
  readonly enabled: boolean;
  /** Refuses or continues calls while the audit log cannot be written. */
  readonly onFailure: 'refuse' | 'continue';
};

export type AuditNeeds = BodyNeeds & {
  readonly clock: Clock;
  readonly log: Log;
  readonly syncFolder: AuditFilesNeeds['syncFolder'];
  readonly hubVersion: string;
};

/** State of the audit log for `/health`. `lost`: number of lines that could not be written. */
export type AuditStatus =
  | { readonly kind: 'off' }
  | { readonly kind: 'up' }
  | { readonly kind: 'failing'; readonly reason: string; readonly lost: number };

/** The audit log: one line for each call, refusal and administrative change. */
export type Audit = ReturnType<typeof createAudit>;

/** Delay for which lines are collected before they are written, in milliseconds. */
const gatherMs = 100;
/** Maximum time after a write until its lines are synced to disk, in milliseconds. */
const syncMs = 1_000;
/** Interval of retries after a failed write, in milliseconds. */
const retryMs = 1_000;

/** Methods that are audited only if they are refused: they use nothing of a server, and clients repeat them often. */
const unaudited: ReadonlySet<string> = new Set(
  `initialize logging/setLevel ping prompts/list resources/list resources/templates/list server/discover
   tasks/get tasks/list tools/list`.split(/\s+/),
);

/**
 * Creates the audit log in a folder. Recording a line only queues it. As a service of the app, it is started first and
 * stopped last. `options` is read at each use, so that a reload of the config takes effect.
 */
export function createAudit(folder: string, options: () => AuditOptions, needs: AuditNeeds) {
  const { clock, log } = needs;
  const bodies = createBodies(needs);
  const calls = createCallQueue(bodies.calls, addLine);
  const written = createEmitter<Buffer>(error =>
    log.error({ error: messageOf(error) }, 'lines of the audit log could not be sent to a client'),
  );
  const files = createAuditFiles(folder, {
    ...needs,
    limits: options,
  });
  const lines = createWaitingLines({
    membersOf: ({ action, details }) => bodies.log(action, clock.now(), details),
    maxFileBytes: () => options().maxBytes,
  });
  let failure: string | undefined;
  let writeDue: Timer | undefined;
  let syncDue: Timer | undefined;
  let isRunning = false;
  /** True if a write of the full pages is queued. It does not wait for further lines. */
  let isWriteQueued = false;
  /** Operations on the files, which run one after the other. Never rejects. */
  let working: Promise<void> = Promise.resolve();

  /** Adds a line after the lines of all earlier calls. */
  function add(members: Buffer): void {
    calls.drain();
    addLine(...copyOf(members));
    writeSoon();
  }

  function writeSoon(): void {
    if (isRunning) writeDue ??= clock.after(failure === undefined ? gatherMs : retryMs, flushSoon);
  }

  function addLine(write: WriteMembers, maxBytes: number): void {
    lines.add(write, maxBytes);
    if (!isRunning) return;
    if (lines.hasFullPage && failure === undefined && !isWriteQueued) writeFullSoon();
  }

  function writeFullSoon(): void {
    isWriteQueued = true;
    working = working.then(() => {
      isWriteQueued = false;
      return writePages(true);
    });
  }

  function flushSoon(): void {
    writeDue = undefined;
    void flush();
  }

  const flush = () => (working = working.then(() => writePages(false)));

  /** Writes the queued pages; with `onlyFull`, only the full ones. Never rejects. */
  async function writePages(onlyFull: boolean): Promise<void> {
    if (!onlyFull) calls.drain();
    if (!lines.isChained && lines.unwritten === 0) return;
    try {
      if (!lines.isChained) await openFiles();
      for (let page = lines.seal(onlyFull); page; page = lines.seal(onlyFull)) {
        const isNew = await append(page);
        if (isNew) await removeSurplus();
        if (isRunning) syncDue ??= clock.after(syncMs, syncSoon);
      }
      await settle();
    } catch (error) {
      failed(error);
    }
  }

  /** With `refuse`, disk space is reserved for the lines of calls that were answered before the disk became full. */
  const isReserveWanted = () => isOn() && options().onFailure === 'refuse';

  /** Reserves disk space, and repeats a failed sync. Rejects if the disk is too full, or the sync fails again. */
  async function settle(): Promise<void> {
    // A stopping hub needs no space for further lines.
    if (isRunning) await files.reserve.keep(isReserveWanted());
    if (failure === undefined) return;
    // A successful sync does not prove that earlier lines are on disk: Linux reports lost pages only once (fsync(2)).
    await files.sync();
    recovered();
  }

  /** Writes a page. Resolves with true if it started a new file. */
  async function append(page: SealedPage): Promise<boolean> {
    const isNew = await files.append(page);
    written.fire(page.bytes.subarray(0, page.length));
    lines.drop();
    return isNew;
  }

  async function openFiles(): Promise<void> {
    const { end, tornBytes, missing } = await files.open();
    const torn = { action: 'torn_line_removed', details: { bytes: tornBytes } };
    const gap = missing && {
      action: 'lines_missing',
      details: { from_seq: missing.from, through_seq: missing.through },
    };
    lines.continueFrom(end, [...(tornBytes > 0 ? [torn] : []), ...(gap ? [gap] : [])]);
  }

  /** Removes the oldest files. A line about the removal is written first, with the waiting page. */
  async function removeSurplus(): Promise<void> {
    const { paths, through } = await files.surplus();
    if (paths.length === 0) return;
    if (!lines.addNote({ action: 'files_removed', details: { through_seq: through } })) return;
    for (let page = lines.seal(); page; page = lines.seal()) await append(page);
    await files.remove(paths);
  }

  function syncSoon(): void {
    syncDue = undefined;
    working = working.then(() => files.sync()).catch(failed);
  }

  function failed(error: unknown): void {
    if (failure === undefined)
      log.error(
        { folder, error: messageOf(error), on_failure: options().onFailure },
        'the audit log cannot be written',
      );
    failure = messageOf(error);
    if (isRunning) writeDue ??= clock.after(retryMs, flushSoon);
  }

  function recovered(): void {
    if (failure === undefined) return;
    failure = undefined;
    log.info({ folder }, 'the audit log is written again');
  }

  const isOn = () => options().enabled;

  async function close(): Promise<void> {
    isRunning = false;
    writeDue?.[Symbol.dispose]();
    syncDue?.[Symbol.dispose]();
    await flush();
    if (lines.unwritten > 0)
      log.error({ folder, lines: lines.unwritten }, 'the last lines of the audit log are lost');
    await files.close().catch(failed);
  }

  return {
    /** Returns the state of the audit log. After a failed write, tries to write first. */
    async status(): Promise<AuditStatus> {
      if (failure !== undefined) await flush();
      if (failure !== undefined) return { kind: 'failing', reason: failure, lost: lines.lost };
      return { kind: isOn() ? 'up' : 'off' };
    },
    /** True if calls of this method must be refused, because their lines cannot be written. */
    refuses: (method: string): boolean =>
      failure !== undefined && isOn() && options().onFailure === 'refuse' && !unaudited.has(method),
    /** Queues the line of a call, if its method is audited. Copies the arguments. */
    recordCall(call: AuditedCall, principal: string, args: ArgumentsText | undefined): void {
      if (!isOn() || (unaudited.has(call.method) && !isDenied(call.outcome))) return;
      calls.add(call, principal, args);
      writeSoon();
    },
    recordChange: (change: AuditedChange): void => {
      if (isOn()) add(bodies.change(change, clock.now()));
    },
    recordRefusal: (refusal: AuditedRefusal): void => {
      if (isOn()) add(bodies.refusal(refusal, clock.now()));
    },
    /** Fires with lines that have been written. The buffer is reused afterwards. */
    written: written.event,
    /** Returns lines that match a filter, the newest first. */
    async list(filter: AuditFilter, page: PageOptions): Promise<AuditPage> {
      await flush();
      return await readPage(folder, filter, page);
    },
    async verify(): Promise<AuditReport> {
      await flush();
      return await verifyAudit(folder);
    },
    /** Clears the cache of redacted texts. Call it when the hub learns of other secrets. */
    forgetTexts: () => bodies.forget(),
    async start(): Promise<void> {
      isRunning = true;
      if (isOn()) add(bodies.log('hub_started', clock.now(), { version: needs.hubVersion }));
      await flush();
    },
    /** Writes a line about the stop and all waiting lines, if possible, and closes the files. */
    async stop(): Promise<void> {
      if (isOn()) add(bodies.log('hub_stopped', clock.now(), {}));
      await close();
    },
    /** Like `stop`, but without a line about the hub: for a log that was not started. */
    close,
  };
}
