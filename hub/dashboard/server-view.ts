import { type Clock, isObject } from '#core';
import { type ListKind, type Misfit, type Server, describeMisfit, runtimeOf } from '#servers';
import { entryOf } from './entry.ts';
import { sandboxOf } from './sandbox.ts';
import type { Rights } from './pieces.ts';
import type { UsageViews } from './usage.ts';

type Needs = {
  readonly backend: 'docker' | 'process';
  readonly clock: Pick<Clock, 'now'>;
  readonly redact: (text: string) => string;
  readonly usage: UsageViews;
};

export type ServerViews = ReturnType<typeof createServerViews>;
/** A server in a list, with the rights of the visitor. */
export type ServerRow = ReturnType<ServerViews['row']>;
export type ServerView = ReturnType<ServerViews['whole']>;
export type ListedItem = ServerView['offers']['tools'][number];

export const toolsPerPage = 100;
/** Maximum number of resources, and of prompts, on the page of a server. */
const maxShown = 100;

export function createServerViews({ backend, clock, redact, usage }: Needs) {
  function row(server: Server, rights: Rights) {
    const { config, status, running, isBuiltin } = server;
    const { launch } = config;
    const { breaker, queued } = server.admission.snapshot();
    return {
      name: config.name,
      state: status.state,
      /** What the server is doing, or why it does not run. */
      detail: detailOf(server),
      runsSince: status.state === 'running' ? status.since : undefined,
      isEnabled: config.enabled,
      /** `hub`: in the hub itself, without actions. */
      runsOn: isBuiltin
        ? ('hub' as const)
        : launch.kind === 'remote'
          ? ('remote' as const)
          : runtimeOf(launch, backend),
      restarts: server.restarts,
      breaker: breakerStateOf(breaker?.['state']),
      inFlight: running?.upstream.inFlight() ?? 0,
      queued,
      tools: server.listing.tool.length,
      usage: usage.of(server),
      rights,
    };
  }

  function detailOf({ status }: Server): string | undefined {
    if (status.state === 'starting') return redact(status.progress) || undefined;
    if ('why' in status) return redact(status.why);
    return status.state === 'stopped' && status.byHand ? 'by hand' : undefined;
  }

  /** Redacts texts of servers, which may contain secrets. The name of a tool, which is its key, stays unchanged. */
  function offer(kind: ListKind, bytes: Buffer, key: string) {
    const { title, description } = parsed(bytes, redact);
    return {
      name: kind === 'tool' ? key : redact(key),
      title: textOf(title),
      description: textOf(description),
    };
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

  function leftOutOf(misfits: readonly Misfit[]): readonly string[] {
    const named = misfits.slice(0, maxShown).map(describeMisfit);
    const more = misfits.length - named.length;
    return more > 0 ? [...named, `and ${more} more`] : named;
  }

  return {
    row,
    /** `from`: index of the first tool on the page. */
    whole(server: Server, from: number, rights: Rights) {
      const { config, lastError, refusedEntry } = server;
      const { breaker } = server.admission.snapshot();
      return {
        ...row(server, rights),
        description: config.description,
        now: clock.now(),
        advice: server.advice.map(redact),
        /** Items that clients do not get on the endpoint of all servers, and why. */
        leftOut: leftOutOf(server.misfits()).map(redact),
        heldBack: config.heldBack && redact(config.heldBack),
        /** Why the current entry in the config is not applied. */
        refusedEntry: refusedEntry && redact(refusedEntry.error.message),
        lastError: lastError && { at: lastError.at, message: redact(lastError.message) },
        breakerWhy: redact(textOf(breaker?.['why']) ?? '') || undefined,
        /** Facts from the server's own description and from the hub: container, pid, URL. */
        about: aboutOf(server),
        latencyMs: server.health?.latencyMs,
        offers: offersOf(server, from),
        /** The active entry, with defaults and without secrets. */
        config: redact(JSON.stringify(entryOf(config), undefined, 2)),
        sandbox: server.isBuiltin
          ? { isThere: true, rows: [['Runs', 'in the hub itself'] as const] }
          : sandboxOf(config, backend),
        /** The end of its stderr, for the owner only. */
        log: rights === 'owner' ? redact(server.stderr()) : undefined,
      };
    },
  };
}

/** A list item with redacted texts; undefined if it is not an object. */
export function parsed(
  bytes: Buffer,
  redact: (text: string) => string,
): { readonly [name: string]: unknown } {
  const value: unknown = JSON.parse(bytes.toString(), (_key, inside: unknown) =>
    typeof inside === 'string' ? redact(inside) : inside,
  );
  return isObject(value) ? value : {};
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

/** Converts `containerId` to words. */
const labelOf = (name: string) =>
  `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)}`;

function aboutOf({ running, config }: Server): readonly (readonly [name: string, value: string])[] {
  const { serverInfo, instance } = running ?? {};
  const program = serverInfo
    ? ([
        ['Program', `${serverInfo.implementation.name} ${serverInfo.implementation.version}`],
        ['Protocol', serverInfo.protocolVersion],
      ] as const)
    : [];
  const about = Object.entries(instance?.about ?? {}).map(
    ([name, value]) =>
      [labelOf(name), typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return [...program, ...about, ['Restart', restartTexts[config.restart]]];
}
