import { type Clock, type Log, type Timer, createEmitter, messageOf } from '#core';
import type { AuditedCall } from './call-bodies.ts';
import { type ArgumentsText, createCallQueue } from './call-queue.ts';
import { type AuditedChange, type AuditedRefusal, type BodyNeeds, createBodies } from './body.ts';
import { type SealedPage, type WriteMembers, copyOf } from './pages.ts';
import { type AuditFilesNeeds, type FileLimits, createAuditFiles } from './files.ts';
import { type AuditFilter, type AuditPage, type PageOptions, isDenied, readPage } from './read.ts';
import { type AuditReport, verifyAudit } from './verify.ts';
import { createWaitingLines } from './waiting-lines.ts';

/** `audit` of the config. */
export type AuditOptions = FileLimits & {
  readonly enabled: boolean;
  /** What happens to calls while no line can be written. */
  readonly onFailure: 'refuse' | 'continue';
};

export type AuditNeeds = BodyNeeds & {
  readonly clock: Clock;
  readonly log: Log;
  readonly syncFolder: AuditFilesNeeds['syncFolder'];
  readonly hubVersion: string;
};

/** Whether lines are written, for `/health`. */
export type AuditStatus =
  | { readonly kind: 'off' }
  | { readonly kind: 'up' }
  | { readonly kind: 'failing'; readonly reason: string; readonly lost: number };

/** The audit log: one line for each call, refusal and administrative change. */
export type Audit = ReturnType<typeof createAudit>;

/** Time for which lines are gathered into one write, in milliseconds. */
const gatherMs = 100;
/** Maximum time after a write until its lines survive a power failure, in milliseconds. */
const syncMs = 1_000;
/** Interval between attempts to write again, in milliseconds. */
const retryMs = 1_000;

/** Methods that get a line only if they are refused: they use nothing of a server, and clients repeat them. */
const unaudited: ReadonlySet<string> = new Set(
  `initialize logging/setLevel ping prompts/list resources/list resources/templates/list server/discover
   tasks/get tasks/list tools/list`.split(/\s+/),
);

/**
 * Creates the audit log in a folder. Recording a line only queues it. A service of the app: start it first and stop it
 * last. `options` is read at each use, so that a reload applies.
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
  /** Full pages will be written without waiting for further lines. */
  let isWriteQueued = false;
  /** Operations on the files, one after the other. Never rejects. */
  let working: Promise<void> = Promise.resolve();

  /** Adds a line after those of the calls before it. */
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

  /** Never rejects. */
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

  /** Calls that are refused while no line can be written need room for the lines of those before them. */
  const isReserveWanted = () => isOn() && options().onFailure === 'refuse';

  /** Holds the reserve, and repeats a sync that failed. Rejects if the disk has too little room, or fails again. */
  async function settle(): Promise<void> {
    // A hub that ends needs no room for further lines.
    if (isRunning) await files.reserve.keep(isReserveWanted());
    if (failure === undefined) return;
    // This does not show that earlier lines are on the disk: Linux reports pages that it lost once (fsync(2)).
    await files.sync();
    recovered();
  }

  /** Writes a page. Resolves to whether it began a file. */
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

  /** Removes the oldest files. The line that says so is written first, with a page that waits. */
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
    /** Tries again first, if the last write failed. */
    async status(): Promise<AuditStatus> {
      if (failure !== undefined) await flush();
      if (failure !== undefined) return { kind: 'failing', reason: failure, lost: lines.lost };
      return { kind: isOn() ? 'up' : 'off' };
    },
    /** Whether calls of this method must be refused now, because their lines cannot be written. */
    refuses: (method: string): boolean =>
      failure !== undefined && isOn() && options().onFailure === 'refuse' && !unaudited.has(method),
    /** Queues the line of a call, if it gets one. Copies what it keeps. */
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
    /** Fires with new lines, once they are written. The buffer is overwritten later. */
    written: written.event,
    /** Lines that match a filter, newest first. */
    async list(filter: AuditFilter, page: PageOptions): Promise<AuditPage> {
      await flush();
      return await readPage(folder, filter, page);
    },
    async verify(): Promise<AuditReport> {
      await flush();
      return await verifyAudit(folder);
    },
    /** Drops redacted texts, because other secrets are known now. */
    forgetTexts: () => bodies.forget(),
    async start(): Promise<void> {
      isRunning = true;
      if (isOn()) add(bodies.log('hub_started', clock.now(), { version: needs.hubVersion }));
      await flush();
    },
    /** Writes what waits, if possible. */
    async stop(): Promise<void> {
      if (isOn()) add(bodies.log('hub_stopped', clock.now(), {}));
      await close();
    },
    /** As `stop`, without a line about the hub: for a log that was not started. */
    close,
  };
}
