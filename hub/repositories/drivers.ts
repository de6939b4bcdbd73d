import { type Clock, type Log, HubError, messageOf, neverAborted } from '#core';
import type { Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import { type Driver, createDriver } from './driver.ts';
import { driverName } from './launch.ts';

/** Maximum number of drivers that run at the same time. */
const maxDrivers = 32;
/** Time in ms without use after which a driver is stopped. */
const idleMs = 60_000;

export type LaunchDriver = (
  spec: LaunchSpec,
  events: LaunchEvents,
  signal: AbortSignal,
) => Promise<Instance>;

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly launch: LaunchDriver;
  readonly specOf: (root: string) => Promise<LaunchSpec>;
};

/** A use of a driver, until disposed. */
export type DriverUse = AsyncDisposable & {
  readonly driver: Driver;
  /** Stops the driver for all of its uses. The next use starts a new driver. */
  readonly discard: () => Promise<void>;
  /** Runs work one after the other, among all uses of this folder. */
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
};

type Entry = {
  readonly driver: Promise<Driver>;
  readonly exclusive: DriverUse['exclusive'];
  users: number;
  idle: Disposable | undefined;
};

/** Runs one driver for each folder in use, and stops it a minute after its last use. */
export function createDrivers({ clock, log, launch, specOf }: Needs) {
  const entries = new Map<string, Entry>();
  /** Drivers that are stopping, by folder: their successors use the same container name. */
  const stopping = new Map<string, Promise<void>>();
  let isClosed = false;

  async function start(root: string): Promise<Driver> {
    await stopping.get(root);
    const fields = { folder: root, container: driverName(root) };
    const instance = await launch(
      await specOf(root),
      {
        stderr: line => log.warn({ ...fields, line }, 'git driver'),
        progress: text => log.info(fields, text),
      },
      neverAborted,
    );
    return createDriver(root, instance, { clock });
  }

  function remove(root: string, entry: Entry): Promise<void> {
    if (entries.get(root) === entry) entries.delete(root);
    entry.idle?.[Symbol.dispose]();
    const stopped = entry.driver
      .then(driver => driver.stop())
      .catch((error: unknown) =>
        log.debug({ folder: root, problem: messageOf(error) }, 'no driver'),
      )
      .finally(() => {
        if (stopping.get(root) === stopped) stopping.delete(root);
      });
    stopping.set(root, stopped);
    return stopped;
  }

  function makeRoom(): void {
    if (entries.size < maxDrivers) return;
    for (const [root, entry] of entries)
      if (entry.users === 0) {
        void remove(root, entry);
        return;
      }
    throw new HubError(
      'HUB_REPOSITORIES_FULL',
      `${maxDrivers} repositories are open already. Try again when one of them is done`,
      { data: { retryable: true } },
    );
  }

  function create(root: string): Entry {
    makeRoom();
    let last: Promise<unknown> = Promise.resolve();
    const entry: Entry = {
      driver: start(root),
      users: 0,
      idle: undefined,
      exclusive(work) {
        const result = last.then(work);
        last = result.catch(() => undefined); // The caller of `exclusive` gets the error.
        return result;
      },
    };
    entries.set(root, entry);
    return entry;
  }

  function release(root: string, entry: Entry): void {
    entry.users--;
    if (entry.users > 0 || entries.get(root) !== entry) return;
    entry.idle = clock.after(idleMs, () => void remove(root, entry));
  }

  /** Returns a running driver and its entry. A driver that has ended meanwhile is replaced, once. */
  async function hold(root: string, isRetry = false): Promise<readonly [Entry, Driver]> {
    if (isClosed) throw new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping');
    const entry = entries.get(root) ?? create(root);
    entry.idle?.[Symbol.dispose]();
    entry.users++;
    const driver = await entry.driver.catch((error: unknown) => {
      if (entries.get(root) === entry) entries.delete(root);
      throw error;
    });
    if (driver.ended === undefined || isRetry) return [entry, driver];
    if (entries.get(root) === entry) await remove(root, entry);
    return await hold(root, true);
  }

  return {
    /** Returns a driver for a folder, and starts it if necessary. `root`: an absolute path without links. */
    async use(root: string): Promise<DriverUse> {
      const [entry, driver] = await hold(root);
      let isReleased = false;
      return {
        driver,
        discard: () => remove(root, entry),
        exclusive: entry.exclusive,
        async [Symbol.asyncDispose]() {
          if (!isReleased) release(root, entry);
          isReleased = true;
        },
      };
    },
    async stop(): Promise<void> {
      isClosed = true;
      await Promise.all([...entries].map(([root, entry]) => remove(root, entry)));
      await Promise.all(stopping.values());
    },
  };
}
