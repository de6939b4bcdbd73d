import {
  type Clock,
  type Log,
  HubError,
  isObject,
  messageOf,
  neverAborted,
  sleep,
  tryParseJson,
} from '#core';
import type { SafeFolder } from '#repositories';

export type LeaseNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Identity of this hub, the same in all its runs. */
  readonly hubId: string;
  /** Identity of this run of the hub. */
  readonly runId: string;
};

type LeaseRecord = {
  readonly hub: string;
  readonly run: string;
  readonly task: string;
  /** Milliseconds since the epoch. */
  readonly beat: number;
};

/** The right to work on a task in a repository, until it is disposed. */
export interface RepositoryLease extends AsyncDisposable {
  /** Aborts when another hub has taken the lease, because this one was silent for too long. */
  readonly lost: AbortSignal;
}

const file = 'task-lease.json';
const maxBytes = 4_096;
const beatMs = 5_000;
/** The owner of a lease that is older is dead. */
const deadAfterMs = 30_000;

/**
 * Takes the lease of a repository. Throws HUB_TASK_LEASED while another hub that lives has it. The lease of an earlier run
 * of this hub is taken at once: two runs never have the same data folder.
 */
export async function takeLease(
  folder: Pick<SafeFolder, 'read' | 'write' | 'create' | 'remove'>,
  task: string,
  { clock, log, hubId, runId }: LeaseNeeds,
  signal: AbortSignal,
): Promise<RepositoryLease> {
  const isOurs = (found: LeaseRecord | undefined) => found?.hub === hubId && found.run === runId;
  const content = () =>
    JSON.stringify({ hub: hubId, run: runId, task, beat: clock.now() } satisfies LeaseRecord);
  const find = async () => readRecord(await folder.read(file, maxBytes, neverAborted));

  async function isAlive({ beat }: LeaseRecord): Promise<boolean> {
    const ageMs = clock.now() - beat;
    if (ageMs > -deadAfterMs) return ageMs < deadAfterMs;
    // The clock was set back, so the age means nothing. A living hub writes its lease again within two beats.
    await sleep(2 * beatMs, { clock, signal });
    signal.throwIfAborted();
    const later = await find();
    return later !== undefined && later.beat !== beat;
  }

  if (!(await folder.create({ path: file, content: content() }, signal))) {
    const found = await find();
    if (found && found.hub !== hubId && (await isAlive(found)))
      throw new HubError(
        'HUB_TASK_LEASED',
        `another hub works on task ${found.task} in this repository. Wait for it, or stop it: its lease ends ${deadAfterMs / 1000} s after its death`,
        { data: { retryable: true } },
      );
    log.info({ task, before: found?.task }, 'takes the lease of a hub that died');
    await folder.remove([file], signal);
    // If two hubs take the lease at once, only one of them can create the file.
    if (!(await folder.create({ path: file, content: content() }, signal)) || !isOurs(await find()))
      throw new HubError(
        'HUB_TASK_LEASED',
        'another hub has just taken this repository. Try later',
        {
          data: { retryable: true },
        },
      );
  }

  const lost = new AbortController();
  let last = Promise.resolve();
  let timer: Disposable | undefined;
  const schedule = () => {
    timer = clock.after(beatMs, () => {
      last = beat();
    });
  };
  async function beat(): Promise<void> {
    try {
      if (!isOurs(await find())) {
        lost.abort(
          new HubError('HUB_TASK_LEASED', `another hub has taken the repository of task ${task}`),
        );
        return;
      }
      await folder.write([{ path: file, content: content() }], neverAborted);
    } catch (error) {
      log.warn({ task, error: messageOf(error) }, 'a lease could not be renewed');
    }
    if (timer) schedule();
  }
  schedule();

  return {
    lost: lost.signal,
    async [Symbol.asyncDispose]() {
      timer?.[Symbol.dispose]();
      timer = undefined;
      await last;
      try {
        if (isOurs(await find())) await folder.remove([file], neverAborted);
      } catch (error) {
        // The lease expires, and this hub can take it again at once.
        log.debug({ task, error: messageOf(error) }, 'a lease could not be removed');
      }
    },
  };
}

/** Removes the lease that an earlier run of this hub has left. */
export async function dropOldLease(
  folder: Pick<SafeFolder, 'read' | 'remove'>,
  { hubId, runId }: Pick<LeaseNeeds, 'hubId' | 'runId'>,
  signal: AbortSignal,
): Promise<void> {
  const found = readRecord(await folder.read(file, maxBytes, signal));
  if (found?.hub === hubId && found.run !== runId) await folder.remove([file], signal);
}

function readRecord(bytes: Buffer | undefined): LeaseRecord | undefined {
  const value = bytes && tryParseJson(bytes.toString());
  if (!isObject(value)) return undefined;
  const { hub, run, task, beat } = value;
  if (typeof hub !== 'string' || typeof run !== 'string') return undefined;
  if (typeof task !== 'string' || typeof beat !== 'number') return undefined;
  return { hub, run, task, beat };
}
