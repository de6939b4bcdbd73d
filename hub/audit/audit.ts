import { type Clock, type Log, type Timer, createEmitter, messageOf } from '#core';
import {
  type AuditedCall,
  type AuditedChange,
  type AuditedRefusal,
  type BodyNeeds,
  createBodies,
} from './body.ts';
import { type AuditFilesNeeds, type FileLimits, createAuditFiles } from './files.ts';
import { type AuditFilter, type AuditPage, type PageOptions, isDenied, readPage } from './read.ts';
import { type AuditReport, verifyAudit } from './verify.ts';

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
/** Bound for lines that wait, in characters. Further lines are counted only. */
const maxWaiting = 4 * 2 ** 20;
/** Bound for the lines of one write, in characters. */
const maxWrite = 64 * 1024;

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
  const written = createEmitter<readonly string[]>(error =>
    log.error({ error: messageOf(error) }, 'lines of the audit log could not be sent to a client'),
  );
  const files = createAuditFiles(folder, {
    ...needs,
    limits: options,
    bodyOf: (action, details) => bodies.log(action, clock.now(), details),
  });
  const queue: string[] = [];
  let waiting = 0;
  /** Lines that are not in the log, and are not mentioned in it yet. */
  let lost = 0;
  let failure: string | undefined;
  let writeDue: Timer | undefined;
  let syncDue: Timer | undefined;
  let isRunning = false;
  /** Operations on the files, one after the other. Never rejects. */
  let working: Promise<void> = Promise.resolve();

  function add(body: string): void {
    if (waiting + body.length > maxWaiting) return void lost++;
    if (lost > 0) addLost();
    queue.push(body);
    waiting += body.length;
    if (isRunning) writeDue ??= clock.after(failure === undefined ? gatherMs : retryMs, flushSoon);
  }

  function addLost(): void {
    const body = bodies.log('lines_lost', clock.now(), { lines: lost });
    lost = 0;
    queue.push(body);
    waiting += body.length;
  }

  function flushSoon(): void {
    writeDue = undefined;
    void flush();
  }

  const flush = () => (working = working.then(writeAll));

  async function writeAll(): Promise<void> {
    try {
      while (queue.length > 0 || lost > 0) {
        if (lost > 0) addLost();
        const batch = nextBatch();
        const lines = await files.append(batch);
        queue.splice(0, batch.length);
        waiting -= lengthOf(batch);
        written.fire(lines);
        recovered();
        if (isRunning) syncDue ??= clock.after(syncMs, syncSoon);
      }
    } catch (error) {
      failed(error);
    }
  }

  function nextBatch(): readonly string[] {
    let length = 0;
    const end = queue.findIndex((body, index) => (length += body.length) > maxWrite && index > 0);
    return queue.slice(0, end < 0 ? undefined : end);
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

  return {
    name: 'audit',
    /** Tries again first, if the last write failed. */
    async status(): Promise<AuditStatus> {
      if (failure !== undefined) await flush();
      if (failure !== undefined) return { kind: 'failing', reason: failure, lost };
      return { kind: isOn() ? 'up' : 'off' };
    },
    /** Whether calls of this method must be refused now, because their lines cannot be written. */
    refuses: (method: string): boolean =>
      failure !== undefined && isOn() && options().onFailure === 'refuse' && !unaudited.has(method),
    /** Queues the line of a call, if it gets one. Copies what it keeps. */
    recordCall(call: AuditedCall, principal: string, args: Buffer | undefined): void {
      if (!isOn() || (unaudited.has(call.method) && !isDenied(call.outcome))) return;
      add(bodies.call(call, principal, args));
    },
    recordChange: (change: AuditedChange): void => {
      if (isOn()) add(bodies.change(change, clock.now()));
    },
    recordRefusal: (refusal: AuditedRefusal): void => {
      if (isOn()) add(bodies.refusal(refusal, clock.now()));
    },
    /** Fires with the text of new lines, once they are written. */
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
    forgetTexts: bodies.forget,
    async start(): Promise<void> {
      isRunning = true;
      if (isOn()) add(bodies.log('hub_started', clock.now(), { version: needs.hubVersion }));
      await flush();
    },
    /** Writes what waits, if possible. */
    async stop(): Promise<void> {
      if (isOn()) add(bodies.log('hub_stopped', clock.now(), {}));
      isRunning = false;
      writeDue?.[Symbol.dispose]();
      syncDue?.[Symbol.dispose]();
      await flush();
      const unwritten = queue.length + lost;
      if (unwritten > 0)
        log.error({ folder, lines: unwritten }, 'the last lines of the audit log are lost');
      await files.close().catch(failed);
    },
  };
}

const lengthOf = (bodies: readonly string[]): number =>
  bodies.reduce((sum, { length }) => sum + length, 0);
