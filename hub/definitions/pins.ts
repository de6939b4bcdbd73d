import type { ServerConfig } from '#config';
import { type Clock, type Event, type JsonObject, type Log, HubError } from '#core';
import { type Deviation, type Offer, definitionsIn, entryDigestFor } from './compare.ts';
import { orderlessHashOf } from './definition.ts';
import { type DefinitionLine, diffDefinitions } from './definition-diff.ts';
import type { DefinitionChoice } from './definitions-types.ts';
import type { Definitions } from './definitions.ts';
import type { ServerPins } from './lock.ts';
import { type DefinitionChange, acceptedIn, changesBetween, pinsAfter } from './upgrade.ts';
import { type DefinitionFlag, flagsOf } from './flags.ts';
import { pinningOf } from './pinning.ts';
import { createReportLimit, lastReport } from './report-limit.ts';
import { visible } from './visible.ts';

/** A server as needed to show its pins. */
type PinnedServer = {
  readonly config: ServerConfig;
  readonly isBuiltin?: boolean;
  readonly listing: Pick<Offer, 'tool' | 'prompt'>;
  readonly running:
    | { readonly serverInfo: { readonly instructions: string | undefined } }
    | undefined;
  readonly listed: Event<string>;
};

/** Shows pins to people, and applies their decisions. */
export type DefinitionPins = ReturnType<typeof createPins>;

/** Pins of a server, and its deviations from them. */
export type PinReport = ReturnType<DefinitionPins['reportOf']>;

/** Comparison with the definitions of another version of a server. */
export type DefinitionComparison = {
  /** False if the hub has never seen the current definitions of the server. */
  readonly isKnown: boolean;
  readonly changes: readonly DefinitionChange[];
  /** One hash for each definition of the new version. Equal lists mean equal definitions. */
  readonly hashes: readonly string[];
  readonly flags: readonly JsonObject[];
  /** The new pins if a person accepts the changes. Undefined: definitions are not pinned. */
  readonly pins: ServerPins | undefined;
};

type Needs = {
  readonly definitions: Definitions;
  readonly servers: { readonly all: readonly PinnedServer[]; readonly changed: Event<undefined> };
  /** Returns the names of all servers in the config, also those that `--tags` excludes in this run. */
  readonly configured: () => readonly string[];
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Log;
  /** Removes secrets from texts of servers. */
  readonly redact: (text: string) => string;
};

/** Delay in ms after which new lists are searched for suspicious texts. One search covers all lists until then. */
const searchAfterMs = 1_000;
/** Minimum interval between searches, relative to the duration of the last one: long lists must not occupy the hub. */
const searchFactor = 20;
/** Maximum number of findings that are remembered as logged. */
const maxTold = 10_000;

const offerOf = ({ listing, running }: PinnedServer): Offer => ({
  tool: listing.tool,
  prompt: listing.prompt,
  instructions: running?.serverInfo.instructions,
});

/** Creates the reports on pins, which also apply people's decisions and log suspicious texts. */
export function createPins({ definitions, servers, configured, clock, log, redact }: Needs) {
  const told = new Set<string>();
  const limit = createReportLimit(clock);
  let soon: Disposable | undefined;
  /** Duration of the last search, in ms. */
  let searchMs = 0;
  const pinned = () => servers.all.filter(server => !server.isBuiltin);
  /** Cached deviations and the values that they were computed from: pages need them often, and lists may be long. */
  const computed = new WeakMap<
    PinnedServer,
    { readonly from: readonly unknown[]; readonly deviations: readonly Deviation[] }
  >();

  function deviationsOf(server: PinnedServer): readonly Deviation[] {
    const { config } = server;
    const offer = offerOf(server);
    const from = [
      config,
      offer.tool,
      offer.prompt,
      offer.instructions,
      definitions.pinsFor(config),
    ];
    const known = computed.get(server);
    if (known?.from.every((one, index) => one === from[index])) return known.deviations;
    const deviations = definitions.deviations(config, offer);
    computed.set(server, { from, deviations });
    return deviations;
  }

  function find(name: string): PinnedServer {
    const server = pinned().find(({ config }) => config.name === name);
    if (server) return server;
    const names = pinned().map(({ config }) => config.name);
    throw new HubError(
      'HUB_SERVER_UNKNOWN',
      `no server is called ${JSON.stringify(name)}. The config has: ${names.join(', ') || 'none'}`,
      { data: { server: name } },
    );
  }

  function flagsIn(name: string, offer: Offer): readonly DefinitionFlag[] {
    const own = definitionsIn(offer);
    // Skips servers without definitions: there may be thousands that never started.
    if (own.length === 0) return [];
    const others = new Map(
      servers.all.flatMap(other =>
        other.config.name === name
          ? []
          : other.listing.tool.map(({ key }) => [key, other.config.name] as const),
      ),
    );
    return flagsOf(own, others);
  }

  const redacted = (lines: readonly DefinitionLine[]) =>
    lines.map(({ sign, text }) => ({ sign, text: redact(text) }));

  const shownFlag = ({ kind, name, flag, text }: DefinitionFlag) => ({
    kind,
    name: visible(kind === 'instructions' ? kind : name),
    flag,
    text: redact(text),
  });

  function shownDeviation(config: ServerConfig, deviation: Deviation) {
    const { kind, name, state, definition, before } = deviation;
    return {
      kind,
      name: kind === 'instructions' ? kind : name,
      state,
      isHidden: pinningOf(config) === 'hide' || state === 'rejected',
      hash: definition.hash,
      diff: redacted(diffDefinitions(before?.value, definition.value)),
    };
  }

  function reportOf(server: PinnedServer) {
    const { config } = server;
    const pins = definitions.pinsFor(config)?.pins;
    return {
      server: config.name,
      pinning: pinningOf(config),
      pinned: pins && {
        tools: pins.tool.size,
        prompts: pins.prompt.size,
        instructions: pins.instructions.size > 0,
      },
      deviations: deviationsOf(server).map(one => shownDeviation(config, one)),
      flags: flagsIn(server.config.name, offerOf(server)).map(shownFlag),
    };
  }

  function tell(server: string, { kind, name, flag, text }: DefinitionFlag): void {
    const key = JSON.stringify([server, kind, name, text]);
    if (told.has(key)) return;
    const admitted = limit.admit(server);
    if (admitted === 'no') return;
    if (told.size >= maxTold) told.clear();
    told.add(key);
    const shown = { server, kind, name: visible(name), flag };
    log.warn(shown, `a definition is suspicious: it ${redact(text)}`);
    if (admitted === 'last') log.warn({ server }, lastReport);
  }

  function search(): void {
    soon = undefined;
    const since = clock.monotonic();
    for (const server of pinned()) {
      const { name } = server.config;
      for (const flag of flagsIn(name, offerOf(server))) tell(name, flag);
    }
    searchMs = clock.monotonic() - since;
  }

  const searchSoon = () => {
    soon ??= clock.after(Math.max(searchAfterMs, searchFactor * searchMs), search);
  };
  const hear = () => servers.all.map(server => server.listed(searchSoon));
  let heard = hear();
  const serversHeard = servers.changed(() => {
    for (const one of heard) one[Symbol.dispose]();
    heard = hear();
    searchSoon();
  });

  return {
    file: definitions.file,
    /** Returns why the lock file is not used; undefined if it is used. */
    fault: () => definitions.fault?.message,
    reports: () => pinned().map(reportOf),
    /** Returns the report on a server. Throws HUB_SERVER_UNKNOWN. */
    report: (name: string) => reportOf(find(name)),
    reportOf,
    /** Fires when pins have changed. Changed lists are reported by the servers' `listed`. */
    changed: definitions.changed,
    /** Number of definitions that wait for a decision. */
    get waiting(): number {
      return pinned().reduce(
        (sum, server) =>
          sum + deviationsOf(server).filter(({ state }) => state !== 'rejected').length,
        0,
      );
    },
    /** Returns servers that have pins, but no entry in the config. */
    orphans(): readonly string[] {
      const known = new Set([...configured(), ...pinned().map(({ config }) => config.name)]);
      return definitions.names().filter(name => !known.has(name));
    },
    forget: (name: string): void => definitions.forget(name),
    /** Pins the definitions that a server had in its trial, unless the server is already pinned. */
    seen: (config: ServerConfig, offer: Offer): void => definitions.seen(config, offer),
    /** Describes what would be pinned of a server that is about to be added. */
    preview(config: ServerConfig, offer: Offer): JsonObject {
      return {
        pinning: pinningOf(config),
        tools: offer.tool.length,
        prompts: offer.prompt.length,
        instructions: offer.instructions !== undefined && offer.instructions !== '',
        flags: flagsIn(config.name, offer).map(shownFlag),
      };
    },
    /** Compares another version of a server with its accepted definitions or, without pins, with its current lists. */
    compare(before: ServerConfig, after: ServerConfig, offer: Offer): DefinitionComparison {
      const pins = definitions.pinsFor(before);
      const server = pinned().find(({ config }) => config.name === before.name);
      const listed = server ? definitionsIn(offerOf(server)) : [];
      const known = pins ? acceptedIn(pins, listed) : listed;
      const offered = definitionsIn(offer);
      return {
        isKnown: pins !== undefined || listed.length > 0,
        changes: changesBetween(known, offered).map(change => ({
          ...change,
          name: visible(change.name),
          diff: redacted(change.diff),
        })),
        hashes: offered.map(
          ({ kind, name, definition }) => `${kind} ${name} ${orderlessHashOf(definition)}`,
        ),
        flags: flagsIn(after.name, offer).map(shownFlag),
        pins:
          pinningOf(after) === 'off' ? undefined : pinsAfter(pins, entryDigestFor(after), offered),
      };
    },
    /** Returns the accepted definitions of a server, for `accept`; undefined if it has none. */
    accepted: (config: ServerConfig): ServerPins | undefined => definitions.pinsFor(config),
    /** Runs `work`, during which a server with the config entry of these pins gets them. Stores the pins afterwards. */
    async accept(config: ServerConfig, pins: ServerPins, work: () => Promise<void>): Promise<void> {
      const { name } = config;
      const before = definitions.pinsFor(config);
      try {
        using _ = definitions.expect(name, pins);
        await work();
      } catch (error) {
        if (before) await definitions.set(name, before).catch(() => undefined); // If this fails, the server is pinned again.
        throw error;
      }
      await definitions.set(name, pins).catch((error: unknown) => {
        if (!(error instanceof HubError)) throw error;
        log.warn(
          { server: name, error: error.message },
          'accepted definitions could not be written to the lock file',
        );
      });
    },
    /**
     * Accepts or rejects deviations of a server. Resolves with the names when they are in the lock file. Rejects like
     * `Definitions.decide`.
     */
    async decide(
      verdict: 'accept' | 'reject',
      name: string,
      choice: DefinitionChoice,
    ): Promise<JsonObject> {
      const server = find(name);
      const decided = await definitions.decide(verdict, server.config, offerOf(server), choice);
      const names = decided.map(one => (one.kind === 'instructions' ? one.kind : one.name));
      log.info(
        { server: name, names: names.map(one => visible(one)) },
        `definitions: ${verdict}ed`,
      );
      return { server: name, [`${verdict}ed`]: names };
    },
    [Symbol.dispose]() {
      soon?.[Symbol.dispose]();
      serversHeard[Symbol.dispose]();
      for (const one of heard) one[Symbol.dispose]();
    },
  };
}
