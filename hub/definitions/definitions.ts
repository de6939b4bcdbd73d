import { isDeepStrictEqual } from 'node:util';
import type { ServerConfig } from '#config';
import { type Clock, type Log, HubError, createEmitter, messageOf } from '#core';
import {
  type Deviation,
  type Offer,
  decide,
  definitionsIn,
  deviationsOf,
  entryDigestFor,
  hasPinned,
  pinsOf,
} from './compare.ts';
import type { DefinitionChoice, DefinitionEvent } from './definitions-types.ts';
import type { NamedDefinition } from './flags.ts';
import type { Lock, ServerPins } from './lock.ts';
import { type LockChange, changeLock, readLock } from './lock-file.ts';
import { pinningOf } from './pinning.ts';
import { visible } from './visible.ts';

/** The pinned definitions of all servers, and what deviates from them. */
export type Definitions = ReturnType<typeof createDefinitions>;

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Called for each deviation when it is seen first, and for each server that is pinned. */
  readonly record?: (event: DefinitionEvent) => void;
};

/** Time after the first sight of a server in which its further tools are pinned too: some servers add theirs one by one. */
const firstSightMs = 10_000;
/** Maximum number of deviations that are remembered as told. */
const maxTold = 10_000;

/** Compares the definitions of servers with those in a lock file. `load` reads the file first. */
export function createDefinitions(file: string, { clock, log, record }: Needs) {
  const changed = createEmitter<readonly string[]>();
  let lock: Lock = new Map();
  /** Why the file is not used, and whether its content was known before. */
  let fault: HubError | undefined;
  let isKnown = false;
  /** Changes that are not in the file yet. */
  let pending: readonly LockChange[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  const firstSights = new Map<string, number>();
  /** Pins that servers get when they are seen with another entry, by name. */
  const expected = new Map<string, ServerPins>();
  const told = new Set<string>();

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

  /** Runs reads and writes of the file one at a time: a read during a write could restore the previous pins. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = writing.then(work);
    writing = done.catch(() => undefined); // Its caller gets the error.
    return done;
  }

  /** Writes what is pending. Rejects with the errors of `changeLock`; the changes stay pending then. */
  const write = (): Promise<void> =>
    inTurn(async () => {
      const changes = pending;
      if (changes.length === 0) return;
      const written = await changeLock(file, now =>
        changes.reduce((one, change) => change(one), now),
      );
      pending = pending.slice(changes.length);
      fault = undefined;
      isKnown = true;
      use(pending.reduce((one, change) => change(one), written));
    });

  /** Reads the file and applies it. Rejects with HUB_LOCK_INVALID. */
  const read = (): Promise<void> =>
    inTurn(async () => {
      const now = await readLock(file);
      if (fault) log.info({ file }, 'the lock file is valid again');
      fault = undefined;
      isKnown = true;
      use(pending.reduce((one, change) => change(one), now));
    });

  function apply(change: LockChange): Promise<void> {
    pending = [...pending, change];
    use(change(lock));
    return write();
  }

  function writeSoon(change: LockChange): void {
    apply(change).catch((error: unknown) => {
      if (error instanceof HubError && error.code === 'HUB_LOCK_INVALID') failed(error);
      else
        log.warn(
          { error: messageOf(error) },
          'the lock file is not written: definitions are pinned in memory only',
        );
    });
  }

  /** Pins the definitions of a server, unless another hub has pinned it meanwhile. */
  function pin(config: ServerConfig, definitions: readonly NamedDefinition[]): void {
    const { name } = config;
    const entry = entryDigestFor(config);
    const accepted = expected.get(name);
    const pins = accepted?.entry === entry ? accepted : pinsOf(entry, definitions);
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

  /** Adds items that a server lists shortly after it was seen first. */
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

  function tell(config: ServerConfig, { kind, name, state, definition }: Deviation): void {
    const key = JSON.stringify([config.name, kind, name, definition.hash, state]);
    if (told.has(key)) return;
    if (told.size >= maxTold) told.clear();
    told.add(key);
    const isHidden = pinningOf(config) === 'hide' || state === 'rejected';
    const details = { kind, name: visible(name), state, hash: definition.hash };
    const what = state === 'new' ? 'a definition is new' : `a definition is ${state}`;
    const fate = isHidden ? 'it is hidden until it is accepted' : 'it is offered all the same';
    log.warn(
      { server: config.name, ...details },
      `${what}: ${fate}. "agenthub pins ${config.name}" shows the difference`,
    );
    record?.({ action: 'definition_deviates', server: config.name, details });
  }

  /** What deviates in some items, of a server that was seen before. */
  function compare(config: ServerConfig, offer: Offer): readonly Deviation[] {
    const pins = pinsFor(config);
    return pins && hasPinned(pins) ? deviationsOf(pins, definitionsIn(offer)) : [];
  }

  return {
    file,
    /** Fires with the names of servers whose pins changed. */
    changed: changed.event,
    get fault() {
      return fault;
    },
    pinsFor,
    /** The servers that have pins. */
    names: (): readonly string[] => [...lock.keys()],
    /** Drops the pins of a server that was removed. If it is added again, it is pinned anew. */
    forget(name: string): void {
      firstSights.delete(name);
      if (lock.has(name)) writeSoon(now => new Map([...now].filter(([server]) => server !== name)));
    },
    /** Until it is disposed, a server that is seen with the entry of these pins gets them. */
    expect(name: string, pins: ServerPins): Disposable {
      expected.set(name, pins);
      return { [Symbol.dispose]: () => void expected.delete(name) };
    },
    /** Pins what a person accepted for a server. Resolves when it is in the file, and rejects like `decide`. */
    set: (name: string, pins: ServerPins): Promise<void> =>
      applyNow(now => new Map(now).set(name, pins)),
    /** Reads the file again. Never rejects: what was known before stays in force if the file is invalid. */
    async load(): Promise<void> {
      try {
        await read();
      } catch (error) {
        if (!(error instanceof HubError)) throw error;
        failed(error);
      }
    },
    /** Pins a server that is seen first, or whose entry changed. */
    seen(config: ServerConfig, offer: Offer): void {
      if (pinningOf(config) === 'off' || (fault && !isKnown)) return;
      const pins = pinsFor(config);
      const now = clock.monotonic();
      if (!pins || !hasPinned(pins)) {
        const definitions = definitionsIn(offer);
        if (!pins || definitions.length > 0) pin(config, definitions);
        firstSights.set(config.name, now + firstSightMs);
        return;
      }
      if ((firstSights.get(config.name) ?? 0) <= now) return;
      const more = deviationsOf(pins, definitionsIn(offer)).filter(({ state }) => state === 'new');
      if (more.length > 0) pinMore(config, more);
    },
    /** Items that are neither listed nor may be used, by name. */
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
      for (const deviation of deviations) tell(config, deviation);
      return mode === 'hide' ? deviations : deviations.filter(({ state }) => state === 'rejected');
    },
    /** True if some definitions of the server could be held. */
    mayHold: (config: ServerConfig): boolean => {
      const mode = pinningOf(config);
      if (mode !== 'warn') return mode === 'hide';
      const pins = pinsFor(config)?.pins;
      return (
        pins !== undefined &&
        Object.values(pins).some(group => [...group.values()].some(({ rejected }) => rejected))
      );
    },
    deviations: compare,
    /**
     * Accepts or rejects what deviates, and resolves with it when it is in the file. Rejects with HUB_NAME_UNKNOWN if
     * nothing of that name deviates, HUB_DEFINITION_STALE if it is not what the person saw, and the errors of the file.
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
          `${config.name}: ${name === undefined ? 'nothing' : `no definition of ${JSON.stringify(visible(name))}`} deviates from what is pinned. "agenthub pins ${config.name}" lists what does`,
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
      const change: LockChange = now => {
        const pins = now.get(config.name);
        return pins?.entry === entry
          ? new Map(now).set(config.name, decide(pins, verdict, chosen))
          : now;
      };
      await applyNow(change);
      return chosen;
    },
    /** Resolves when everything is written, or cannot be. */
    written: (): Promise<void> => writing.then(() => undefined),
  };

  /** Like `apply`, but the change is dropped if it cannot be written: the person is told, and may repeat it. */
  async function applyNow(change: LockChange): Promise<void> {
    try {
      await apply(change);
    } catch (error) {
      pending = pending.filter(one => one !== change);
      await read().catch(() => undefined); // The error of the write is thrown here.
      throw error;
    }
  }
}
