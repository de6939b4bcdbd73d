import { isDeepStrictEqual } from 'node:util';
import { type ServerConfig, whyUnwritable } from '#config';
import { type Clock, HubError, createEmitter, messageOf, shown } from '#core';
import { type WriteFailureNeeds, createWriteFailures } from '#store';
import {
  type Deviation,
  type Offer,
  decide,
  definitionsIn,
  deviationsOf,
  entryDigestFor,
  hasPinned,
  isFirstSight,
  pinsOf,
} from './compare.ts';
import type { DefinitionChoice, DefinitionEvent } from './definitions-types.ts';
import { createDeviationReports } from './deviation-reports.ts';
import type { NamedDefinition } from './flags.ts';
import type { Lock, ServerPins } from './lock.ts';
import { type LockChange, changeLock, readLock } from './lock-file.ts';
import { pinningOf } from './pinning.ts';
import { visible } from './visible.ts';

/** The pinned definitions of all servers, and deviations from them. */
export type Definitions = ReturnType<typeof createDefinitions>;

type Needs = WriteFailureNeeds & {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called when a deviation is first seen, and when a server is pinned. */
  readonly record?: (event: DefinitionEvent) => void;
};

/** New items are pinned too during this time in ms after a server's first pins: some servers add tools one by one. */
const firstSightMs = 10_000;

/** Creates the comparison of servers' definitions with a lock file, which `load` must read first. */
export function createDefinitions(file: string, { clock, log, backlog, record }: Needs) {
  const failures = createWriteFailures({ log, backlog });
  const changed = createEmitter<readonly string[] | undefined>();
  let lock: Lock = new Map();
  /** Why the lock file is not used. `isKnown`: true if its content was read before. */
  let fault: HubError | undefined;
  let isKnown = false;
  /** Changes that are not written to the file yet. */
  let pending: readonly LockChange[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  const firstSights = new Map<string, number>();
  /** Pins that a server gets when it is seen with the config entry of these pins, by server name. */
  const expected = new Map<string, ServerPins>();
  const reports = createDeviationReports({ clock, log, record });

  const pinsFor = (config: ServerConfig): ServerPins | undefined => {
    const pins = lock.get(config.name);
    return pins?.entry === entryDigestFor(config) ? pins : undefined;
  };

  /** Uses another lock, and reports the servers whose pins differ. */
  function use(next: Lock): void {
    const before = lock;
    lock = next;
    const names = [...new Set([...before.keys(), ...next.keys()])];
    const other = names.filter(name => !isDeepStrictEqual(before.get(name), next.get(name)));
    if (other.length > 0) changed.fire(other);
  }

  function failed(error: HubError): void {
    if (fault?.message !== error.message)
      log.error({ error: error.message }, 'the lock file is not used');
    fault = error;
  }

  /** Runs reads and writes of the file one at a time. A read during a write could restore the previous pins. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = writing.then(work);
    writing = done.catch(() => undefined); // The caller of `inTurn` gets the error.
    return done;
  }

  /** Uses the content of the file, with the changes that it lacks. */
  function useFile(inFile: Lock): void {
    const isFirst = fault !== undefined && !isKnown;
    fault = undefined;
    isKnown = true;
    use(withChanges(inFile, pending));
    // Until now nothing was pinned, and with the mode `hide` everything was held.
    if (isFirst) changed.fire(undefined);
  }

  /** Writes pending changes. Rejects like `changeLock`, and the changes then stay pending. */
  const write = (): Promise<void> =>
    inTurn(async () => {
      const changes = pending;
      if (changes.length === 0) return;
      const written = await changeLock(file, now => withChanges(now, changes));
      pending = pending.slice(changes.length);
      failures.clear(file);
      useFile(written);
    });

  /** Reads and applies the file. Rejects with HUB_LOCK_INVALID. */
  const read = (): Promise<void> =>
    inTurn(async () => {
      const now = await readLock(file);
      if (fault) log.info({ file }, 'the lock file is valid again');
      useFile(now);
    });

  function apply(change: LockChange): Promise<void> {
    pending = [...pending, change];
    use(change(lock));
    return write();
  }

  const writeSoon = (change: LockChange): void => void apply(change).catch(unwritten);

  /** Reports why pending changes are not in the file. The next change or the backlog writes them again. */
  function unwritten(error: unknown): void {
    if (error instanceof HubError && error.code === 'HUB_LOCK_INVALID') return failed(error);
    const isUnwritable = error instanceof HubError && error.code === 'HUB_CONFIG_UNWRITABLE';
    const why = isUnwritable ? whyUnwritable(error.cause) : messageOf(error);
    const reason = `${why}. Until then, definitions are pinned in memory only`;
    failures.record(file, reason, () => write().catch(unwritten));
  }

  /** Pins the definitions of a server, unless another hub has pinned them meanwhile. */
  function pin(config: ServerConfig, definitions: readonly NamedDefinition[]): void {
    const { name } = config;
    const entry = entryDigestFor(config);
    const accepted = expected.get(name);
    const pins = accepted?.entry === entry ? accepted : pinsOf(entry, definitions, lock.get(name));
    writeSoon(now => {
      const other = now.get(name);
      return other && other.entry === pins.entry && hasPinned(other)
        ? now
        : new Map(now).set(name, pins);
    });
    const details = {
      tools: pins.pins.tool.size,
      prompts: pins.pins.prompt.size,
      instructions: pins.pins.instructions.size,
    };
    log.info({ server: name, ...details }, 'the definitions of the server are pinned');
    record?.({ action: 'definitions_pinned', server: name, details });
  }

  /** Pins items that a server adds shortly after it was first pinned. */
  function pinMore(config: ServerConfig, definitions: readonly NamedDefinition[]): void {
    const entry = entryDigestFor(config);
    writeSoon(now => {
      const pins = now.get(config.name);
      if (pins?.entry !== entry) return now;
      const unknown = definitions.filter(({ kind, name }) => !pins.pins[kind].has(name));
      return unknown.length === 0
        ? now
        : new Map(now).set(config.name, decide(pins, 'accept', unknown));
    });
  }

  /** Returns the deviations of a pinned server; none for a server that is not pinned. */
  function compare(config: ServerConfig, offer: Offer): readonly Deviation[] {
    const pins = pinsFor(config);
    return pins ? deviationsOf(pins, definitionsIn(offer)) : [];
  }

  return {
    file,
    /** Fires with the names of servers whose pins have changed; with undefined if all servers are to be compared again. */
    changed: changed.event,
    get fault() {
      return fault;
    },
    pinsFor,
    /** Returns the names of pinned servers. */
    names: (): readonly string[] => [...lock.keys()],
    /** Deletes the pins of a removed server. If the server is added again, it is pinned again. */
    forget(name: string): void {
      firstSights.delete(name);
      reports.forget(name);
      if (lock.has(name)) writeSoon(now => new Map([...now].filter(([server]) => server !== name)));
    },
    /** Until disposed, a server that is seen with the config entry of these pins gets these pins. */
    expect(name: string, pins: ServerPins): Disposable {
      expected.set(name, pins);
      return { [Symbol.dispose]: () => void expected.delete(name) };
    },
    /** Stores pins that a person accepted. Resolves when they are in the file, and rejects like `decide`. */
    set: (name: string, pins: ServerPins): Promise<void> =>
      applyNow(now => new Map(now).set(name, pins)),
    /**
     * Reads the file again, and writes pins that it lacks. Never rejects: if the file is invalid, the previous pins stay
     * active.
     */
    load: (): Promise<void> => read().then(write).catch(unwritten),
    /** Pins a server that is seen for the first time, or whose config entry has changed. */
    seen(config: ServerConfig, offer: Offer): void {
      if (pinningOf(config) === 'off' || (fault && !isKnown)) return;
      const pins = pinsFor(config);
      const now = clock.monotonic();
      if (!pins || !hasPinned(pins)) {
        const definitions = definitionsIn(offer);
        if (!pins || isFirstSight(pins, definitions)) pin(config, definitions);
        firstSights.set(config.name, now + firstSightMs);
        return;
      }
      if ((firstSights.get(config.name) ?? 0) <= now) return;
      const more = deviationsOf(pins, definitionsIn(offer)).filter(({ state }) => state === 'new');
      if (more.length > 0) pinMore(config, more);
    },
    /** Returns the items that are hidden from lists and whose calls are refused. */
    heldIn(
      config: ServerConfig,
      offer: Offer,
    ): readonly Pick<Deviation, 'kind' | 'name' | 'state'>[] {
      const mode = pinningOf(config);
      if (mode === 'off') return [];
      if (fault && !isKnown)
        return mode === 'hide'
          ? definitionsIn(offer).map(({ kind, name }) => ({ kind, name, state: 'changed' }))
          : [];
      const deviations = compare(config, offer);
      for (const deviation of deviations) reports.report(config, deviation);
      return mode === 'hide' ? deviations : deviations.filter(({ state }) => state === 'rejected');
    },
    /** True if items of the server may be hidden. */
    mayHold: (config: ServerConfig): boolean => {
      const mode = pinningOf(config);
      if (mode !== 'warn') return mode === 'hide';
      return Object.values(pinsFor(config)?.pins ?? {}).some(group =>
        [...group.values()].some(({ rejected }) => rejected),
      );
    },
    deviations: compare,
    /**
     * Accepts or rejects deviations, and resolves with them when they are stored. Rejects with HUB_NAME_UNKNOWN if no
     * such item deviates, HUB_DEFINITION_STALE if the person saw another one, or a file error.
     */
    async decide(
      verdict: 'accept' | 'reject',
      config: ServerConfig,
      offer: Offer,
      { name, kind, hashes }: DefinitionChoice,
    ): Promise<readonly Deviation[]> {
      const chosen = compare(config, offer).filter(
        one =>
          (kind ?? one.kind) === one.kind &&
          (name === undefined || (one.kind === 'instructions' ? one.kind : one.name) === name),
      );
      if (chosen.length === 0)
        throw new HubError(
          'HUB_NAME_UNKNOWN',
          `${config.name}: ${name === undefined ? 'nothing' : `no definition of ${shown(visible(name))}`} deviates from what is pinned. "agenthub pins ${config.name}" lists what does`,
        );
      const stale = hashes && chosen.find(({ definition }) => !hashes.includes(definition.hash));
      if (stale)
        throw new HubError(
          'HUB_DEFINITION_STALE',
          `${config.name}: the definition of ${JSON.stringify(visible(stale.name || 'instructions'))} has changed since it was shown. Look at it again with "agenthub pins ${config.name}"`,
          { data: { server: config.name, retryable: false } },
        );
      const entry = entryDigestFor(config);
      if (fault) throw fault;
      await applyNow(now => {
        const pins = now.get(config.name);
        return pins?.entry === entry
          ? new Map(now).set(config.name, decide(pins, verdict, chosen))
          : now;
      });
      return chosen;
    },
    /** Resolves when all writes have succeeded or failed. */
    written: (): Promise<void> => writing.then(() => undefined),
  };

  /** Like `apply`, but drops a change that cannot be written: the person gets the error, and may try again. */
  async function applyNow(change: LockChange): Promise<void> {
    try {
      await apply(change);
    } catch (error) {
      pending = pending.filter(one => one !== change);
      await read().catch(() => undefined); // The error of the write is thrown instead.
      throw error;
    }
  }
}

const withChanges = (lock: Lock, changes: readonly LockChange[]): Lock =>
  changes.reduce((changed, change) => change(changed), lock);
