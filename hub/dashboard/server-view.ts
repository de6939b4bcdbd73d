import { type Clock, isObject, tryParseJson, waitAtMost } from '#core';
import type { Usage } from '#runtimes';
import { type ListKind, type Server, describeMisfit, runtimeOf } from '#servers';
import { entryOf, sandboxOf } from './entry.ts';
import type { Rights } from './pieces.ts';

export type ContainerUsage = Pick<Usage, 'memoryBytes' | 'cpuMs'>;

/** Reads the usage of all containers from the engine. */
export interface ContainerUsages {
  /**
   * Returns the usage by server, without servers whose usage is unknown. Takes at most two seconds and never rejects.
   */
  read(): Promise<ReadonlyMap<string, ContainerUsage>>;
}

/** A server in a list, with the rights of the visitor. */
export type ServerRow = ReturnType<ReturnType<typeof createServerViews>['row']>;
export type ServerView = ReturnType<ReturnType<typeof createServerViews>['whole']>;
export type ListedItem = ServerView['offers']['tools'][number];

type Needs = {
  readonly backend: 'docker' | 'process';
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  readonly usages: ContainerUsages;
};

/** Maximum time in ms that a page waits for the engine. */
const waitMs = 50;
export const toolsPerPage = 100;
/** Maximum length of the last log line on a page, in characters. Longer lines are cut. */
const maxLineLength = 500;
/** Maximum number of resources, and of prompts, on the page of a server. */
const maxShown = 100;

/**
 * Maximum length of a text of a list item that is redacted, in characters. Lists show its first sentence, and redacting
 * a listing of several MB would block the hub for seconds.
 */
const maxTextLength = 4_000;

/** Creates the views of servers for pages. `usageChanged` is called after each change of the usage of containers. */
export function createServerViews(needs: Needs, usageChanged: () => void) {
  const { backend, clock, redact } = needs;
  const usage = createUsageViews(needs, usageChanged);

  function row(server: Server, rights: Rights) {
    const { config, status, running } = server;
    const { breaker, queued } = server.admission.snapshot();
    return {
      name: config.name,
      state: status.state,
      /** True if a person stopped the server, so that calls do not start it. */
      isStoppedByHand: status.state === 'stopped' && status.byHand,
      detail: detailOf(server),
      /** Output line that reports the last error, or the last line before that error. Only the owner sees it. */
      lastLine: rights === 'owner' ? lastLineOf(server) : undefined,
      heldBack: config.heldBack && redact(config.heldBack),
      refusedEntry: server.refusedEntry && redact(server.refusedEntry.error.message),
      runsSince: status.state === 'running' ? status.since : undefined,
      isEnabled: config.enabled,
      /** Where the server runs: `hub` for a server in the hub itself, which has no actions. */
      runsOn: runsOn(server),
      restarts: server.restarts,
      breaker: breakerStateOf(breaker?.['state']),
      inFlight: running?.upstream.inFlight() ?? 0,
      queued,
      tools: server.listing.tool.length,
      usage: usage.of(server),
      rights,
    };
  }

  function runsOn({ isBuiltin, config }: Server): 'docker' | 'process' | 'remote' | 'hub' {
    if (isBuiltin) return 'hub';
    return config.launch.kind === 'remote' ? 'remote' : runtimeOf(config.launch, backend);
  }

  function detailOf({ status }: Server): string | undefined {
    if (status.state === 'starting') return redact(status.progress) || undefined;
    return 'why' in status ? redact(status.why) : undefined;
  }

  function lastLineOf({ lastError }: Server): string | undefined {
    const last = lastError?.line ?? lastError?.stderr.trimEnd().split('\n').at(-1)?.trim();
    return last === undefined || last === '' ? undefined : redact(last.slice(0, maxLineLength));
  }

  /** Redacts a server's texts, which may contain secrets. Keeps the name of a tool, as it is the tool's key. */
  function offer(kind: ListKind, bytes: Buffer, key: string) {
    const item = tryParseJson(bytes.toString());
    const { title, description } = isObject(item) ? item : {};
    const shown = (value: unknown) => {
      const text = textOf(value);
      return text === undefined ? undefined : redact(text.trim().slice(0, maxTextLength));
    };
    const name = kind === 'tool' ? key : redact(key);
    return { name, title: shown(title), description: shown(description) };
  }

  function offersOf({ listing }: Server, from: number) {
    const shown = (kind: ListKind, start: number, end: number) =>
      listing[kind].slice(start, end).map(({ bytes, key }) => offer(kind, bytes, key));
    const first = from < listing.tool.length ? from : 0;
    const resources = [...shown('resource', 0, maxShown), ...shown('template', 0, maxShown)];
    return {
      tools: shown('tool', first, first + toolsPerPage),
      toolCount: listing.tool.length,
      from: first,
      resources,
      moreResources: listing.resource.length + listing.template.length - resources.length,
      prompts: shown('prompt', 0, maxShown),
      morePrompts: Math.max(0, listing.prompt.length - maxShown),
    };
  }

  function leftOutOf(server: Server): readonly string[] {
    const misfits = server.misfits();
    const named = misfits.slice(0, maxShown).map(misfit => redact(describeMisfit(misfit)));
    const more = misfits.length - named.length;
    return more > 0 ? [...named, `and ${more} more`] : named;
  }

  return {
    row,
    refresh: () => usage.look(),
    /** Returns all data of a server's page. `from` is the index of the first tool on the page. */
    whole(server: Server, from: number, rights: Rights) {
      const { config, lastError } = server;
      const { breaker } = server.admission.snapshot();
      return {
        ...row(server, rights),
        description: config.description,
        now: clock.now(),
        advice: server.advice.map(redact),
        /** Items that the endpoint of all servers omits, with the reasons. */
        leftOut: leftOutOf(server),
        /** Number of definitions that are hidden until a person accepts them. */
        heldDefinitions: server.held?.size ?? 0,
        lastError: lastError && { at: lastError.at, message: redact(lastError.message) },
        breakerWhy: redact(textOf(breaker?.['why']) ?? '') || undefined,
        about: aboutOf(server),
        latencyMs: server.health?.latencyMs,
        egress: server.egress,
        offers: offersOf(server, from),
        /** Active entry of the server, with defaults and without secrets. */
        config: redact(JSON.stringify(entryOf(config), undefined, 2)),
        sandbox: server.isBuiltin
          ? { isThere: true, rows: [['Runs', 'in the hub itself'] as const] }
          : sandboxOf(config, backend),
        log: rights === 'owner' ? redact(server.stderr()) : undefined,
      };
    },
  };
}

const textOf = (value: unknown) =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;

const breakerStateOf = (state: unknown) =>
  state === 'closed' || state === 'open' || state === 'half_open' ? state : undefined;

const restartTexts = {
  permanent: 'whenever it ends',
  transient: 'when it failed',
  temporary: 'never',
} as const;

const labelOf = (name: string) =>
  `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)}`;

function aboutOf({ running, config }: Server): readonly (readonly [name: string, value: string])[] {
  const restart = ['Restart', restartTexts[config.restart]] as const;
  if (!running) return [restart];
  const { implementation, protocolVersion } = running.serverInfo;
  const about = Object.entries(running.instance.about).map(
    ([name, value]) =>
      [labelOf(name), typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return [
    ['Program', `${implementation.name} ${implementation.version}`],
    ['Protocol', protocolVersion],
    ...about,
    restart,
  ];
}

/** Creates a cache of the usage of containers. `changed` is called after each change of the cache. */
export function createUsageViews(
  { usages, clock }: Pick<Needs, 'usages' | 'clock'>,
  changed: () => void,
) {
  type Sample = { readonly atMs: number; readonly usages: Awaited<ReturnType<typeof usages.read>> };
  let before: Sample | undefined;
  let last: Sample | undefined;

  async function ask(): Promise<void> {
    const found = await usages.read();
    // The source returns the same object if nothing changed.
    if (found === last?.usages) return;
    [before, last] = [last, { atMs: clock.monotonic(), usages: found }];
    if (found.size > 0) changed();
  }

  /**
   * Returns the average CPU share between the last two samples. Undefined if the container was restarted between them.
   */
  function cpuShareOf(name: string, now: ContainerUsage): number | undefined {
    const then = before?.usages.get(name);
    if (!before || !last || !then || now.cpuMs < then.cpuMs) return undefined;
    return (now.cpuMs - then.cpuMs) / Math.max(1, last.atMs - before.atMs);
  }

  return {
    /**
     * Returns the usage of a server, with `cpuShare` as a fraction of one CPU core. Undefined if the usage is unknown.
     */
    of({ config: { name, launch }, running }: Server) {
      const usage = last?.usages.get(name);
      if (!usage || !running) return undefined;
      return {
        memoryBytes: usage.memoryBytes,
        memoryLimitBytes: launch.kind === 'local' ? launch.sandbox.limits.memoryBytes : 0,
        cpuShare: cpuShareOf(name, usage),
      };
    },
    /** Refreshes the cache in the background. Resolves when the engine has answered, or after a timeout. */
    look: () => waitAtMost(waitMs, ask(), clock),
  };
}
