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
  /** Id of this hub, the same in all its runs. */
  readonly hubId: string;
  /** Id of this run of the hub. */
  readonly runId: string;
};

type LeaseRecord = {
  readonly hub: string;
  readonly run: string;
  readonly task: string;
  /** Time of the last renewal, in milliseconds since the epoch. */
  readonly beat: number;
};

/** The exclusive right to work on a task in a repository. Disposing releases it. */
export interface RepositoryLease extends AsyncDisposable {
  /** Aborts when another hub has taken the lease, because this hub did not renew it in time. */
  readonly lost: AbortSignal;
}

const file = 'task-lease.json';
const maxBytes = 4_096;
const beatMs = 5_000;
/** Time in ms between two looks at a lease. */
const waitMs = 500;
/** Age in ms after which the hub that wrote a lease counts as dead. */
const deadAfterMs = 30_000;

/**
 * Takes the lease of a repository. Rejects with HUB_TASK_LEASED while another live hub has it. A lease of an earlier
 * run of this hub is replaced at once, as two runs never share a data folder.
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
    // The clock was set back, so the age is meaningless. A live hub renews its lease within two beats.
    await sleep(2 * beatMs, { clock, signal });
    signal.throwIfAborted();
    const later = await find();
    return later !== undefined && later.beat !== beat;
  }

  const create = () => folder.create({ path: file, content: content() }, signal);
  let isNew = await create();
  for (let look = 0; !isNew; look++) {
    const found = await find();
    // A record that cannot be read may be half written. A cancelled task of this run may still remove its worktree.
    const waits = found
      ? isOurs(found) && found.task !== task && (await isAlive(found))
      : look === 0;
    if (!waits) break;
    await sleep(waitMs, { clock, signal });
    signal.throwIfAborted();
    isNew = await create();
  }
  if (!isNew) {
    const found = await find();
    if (found && found.hub !== hubId && (await isAlive(found)))
      throw new HubError(
        'HUB_TASK_LEASED',
        `another hub works on task ${found.task} in this repository. Wait for it, or stop it: its lease ends ${deadAfterMs / 1000} s after its death`,
        { data: { retryable: true } },
      );
    log.info({ task, before: found?.task }, 'taking over the lease of a hub that died');
    await folder.remove([file], signal);
    // If two hubs replace the lease at once, only one of them can create the file.
    if (!(await create()) || !isOurs(await find()))
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
        // The lease expires by itself, and this hub can take it again at once.
        log.debug({ task, error: messageOf(error) }, 'a lease could not be removed');
      }
    },
  };
}

/** Removes a lease of an earlier run of this hub. */
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
