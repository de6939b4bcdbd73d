import { isEnabled } from './enabled.ts';
import { type LaunchSource, sourceOf, withExtras } from './launch-source.ts';
import { keptResultsOf } from './kept-results.ts';
import { toolSettings } from './policy.ts';
import { resolveInside } from './paths.ts';
import { type EntryDraft, type Sandbox, sandboxOf } from './sandbox.ts';
import { bytesOf } from './size.ts';
import type { ServerEntry } from './server-schema.ts';

const kib = 1024;
const longestLineBytes = 512 * kib * kib;

/** Keys that describe a local process, and so exclude `url`. */
const localKeys =
  'package with python image build system_packages command args env cwd runtime network mounts allow_sensitive volumes resources logs user';

/** The normalized entry of a server, enabled or disabled, with all defaults. */
export type ServerConfig = Readonly<NonNullable<Awaited<ReturnType<typeof normalizeServer>>>> & {
  /** Digest of what the entry launches, equal on every machine (see `originOf`). Contains no secrets. */
  readonly origin?: string | undefined;
  /** Names of variables of `launch.env` whose values contain a secret (`${secret:NAME}`). */
  readonly secretEnv?: readonly string[] | undefined;
  /**
   * Digest of an entry that refers to secrets, without their values, so that a new value of a secret does not change
   * it.
   */
  readonly entryDigest?: string | undefined;
  /**
   * Why secrets of the entry cannot be read. The server cannot be launched, as references to these secrets stay
   * unexpanded.
   */
  readonly secretFaults?: readonly string[] | undefined;
  /**
   * Why a changed entry waits for approval. All other fields are those of the previous entry; a new entry has `enabled:
   * false`.
   */
  readonly heldBack?: string | undefined;
  /** Capabilities that the hub declares to servers up to MCP 2025-11-25. If absent, those that MCP clients can have. */
  readonly hubCapabilities?: object | undefined;
  /** True if no client sees the server's lists, so that the hub does not read them. No key of an entry sets it. */
  readonly isUnlisted?: boolean | undefined;
};

export type LocalLaunch = LaunchSource & {
  readonly kind: 'local';
  readonly runtime: 'auto' | 'docker' | 'process';
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
  readonly sandbox: Sandbox;
};

export type RemoteLaunch = Readonly<NonNullable<ReturnType<typeof remoteLaunch>>>;

/**
 * Converts the alternative notations of an entry to one form, and reports violations of rules that involve several
 * keys. Returns undefined if the entry cannot be launched.
 */
export async function normalizeServer(draft: EntryDraft) {
  const { name, form, entry, report } = draft;
  if (entry.disabled !== undefined && entry.enabled === entry.disabled)
    report(['enabled'], `contradicts "disabled": keep one of them`);
  const restart = restartOf(draft);
  const tags: readonly string[] = entry.tags;
  if (entry.idle_stop !== undefined && entry.instance === 'session')
    report(['idle_stop'], 'is only for "instance": "shared": write "instance_idle" instead');
  const maxLineBytes = bytesOf(entry.max_line);
  if (maxLineBytes < kib || maxLineBytes > longestLineBytes)
    report(['max_line'], 'write a size from 1k to 512m', true);
  if (entry.start !== undefined && entry.auto_start !== undefined)
    report(['start'], 'replaces "auto_start": remove "auto_start"');
  const tools = toolSettings(draft);
  const cache = keptResultsOf(draft);
  const launch = isRemote(draft) ? remoteLaunch(draft) : await localLaunch(draft);
  const own = launch?.kind === 'local' ? launch.own : undefined;
  if (own !== undefined && !erasWithSessions.has(entry.era))
    report(
      ['era'],
      `"modern" cannot be set: ${own} asks the hub for models, which needs a session`,
    );
  return (
    launch && {
      name,
      description: entry.description,
      tags,
      enabled: isEnabled(entry),
      ...startOf(entry, form),
      restart,
      maxRestarts: entry.max_restarts,
      healthCheckIntervalMs: entry.health_check_interval * 1000,
      startTimeoutMs: entry.start_timeout * 1000,
      callTimeoutMs: entry.timeout * 1000,
      inputTimeoutMs: entry.input_timeout * 1000,
      maxLineBytes,
      maxConcurrentCalls: entry.max_concurrent_calls,
      maxQueuedCalls: entry.max_queued_calls,
      /** Maximum number of notifications per second. */
      maxNotifications: entry.max_notifications,
      /** Idle time in ms after which the server is stopped; undefined if it is never stopped. */
      idleStopMs: entry.idle_stop === undefined ? undefined : entry.idle_stop * 1000,
      instance: entry.instance,
      era: own === undefined ? entry.era : 'legacy',
      maxInstances: entry.max_instances,
      instanceIdleMs: entry.instance_idle * 1000,
      launch,
      ...(tools && { tools }),
      ...(cache && { cache }),
      ...(entry.pinning && { pinning: entry.pinning }),
      ...(entry.sampling === 'hub' && { sampling: entry.sampling }),
      ...(own !== undefined && { hubCapabilities: capabilitiesForOwn }),
    }
  );
}

/** Converts `start`, or the older key `auto_start`, which can express only two of its three values. */
function startOf({ start, auto_start: autoStart }: ServerEntry, form: EntryDraft['form']) {
  if (start === undefined) return { autoStart: autoStart ?? form === 'mcpServers' };
  return { autoStart: start === 'hub', ...(start === 'manual' && { isManual: true }) };
}

/** Declares to `ollama-mcp` that the hub answers its requests for models. */
const capabilitiesForOwn: object = { experimental: { 'agenthub/models': {} } };

/**
 * Converts `restart`, or the older and less precise `restart_on_failure`. Both may be set if they do not contradict
 * each other.
 */
function restartOf({ entry, report }: EntryDraft): NonNullable<ServerEntry['restart']> {
  const { restart, restart_on_failure: onFailure } = entry;
  if (restart === undefined) return onFailure === false ? 'temporary' : 'permanent';
  if (onFailure !== undefined && onFailure !== (restart !== 'temporary'))
    report(['restart_on_failure'], `contradicts "restart" ("${restart}"): keep one of them`);
  return restart;
}

const typeOf = ({ type }: ServerEntry) => (type === 'streamable-http' ? 'http' : type);

const transportOf = (entry: ServerEntry) =>
  entry.transport ?? typeOf(entry) ?? (entry.url === undefined ? 'stdio' : 'http');

/** Eras (protocol generations) that have sessions and HTTP with SSE. */
const erasWithSessions: ReadonlySet<ServerEntry['era']> = new Set(['auto', 'legacy']);

function isRemote({ entry, report }: EntryDraft): boolean {
  const { url } = entry;
  const type = typeOf(entry);
  const transport = transportOf(entry);
  if (type !== undefined && type !== transport)
    report(['type'], `contradicts "transport" ("${transport}"): keep one of them`);
  if (url !== undefined && transport === 'stdio')
    report(
      ['url'],
      'cannot be combined with "stdio": remove it, or set "transport" to "http" or "sse"',
    );
  if (url === undefined && transport !== 'stdio')
    report(['url'], `is missing: "${transport}" needs the address of the server`);
  return url !== undefined || transport !== 'stdio';
}

function remoteLaunch({ entry, written, report }: EntryDraft) {
  const { url, headers, oauth } = entry;
  for (const key of localKeys.split(' '))
    if (url !== undefined && written.has(key))
      report(
        [key],
        `cannot be combined with "url", which names a remote server: remove one of the two`,
      );
  for (const [header, value] of Object.entries(headers)) {
    // fetch rejects characters other than tabs and printable Latin-1, but only at the first call.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      report(['headers', header], 'write printable characters, without line breaks', true);
  }
  if (transportOf(entry) === 'sse' && !erasWithSessions.has(entry.era))
    report(['era'], '"modern" cannot be combined with "sse", an older transport: remove it');
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol))
    report(['url'], 'write a URL that starts with http:// or https://', true);
  else if (parsed.username !== '' || parsed.password !== '')
    report(['url'], 'contains a user or password: send it as "Authorization" in "headers"');
  const transport = transportOf(entry) === 'sse' ? 'sse' : 'http';
  checkOAuth(oauth, report);
  return { kind: 'remote', transport, url, headers, ...(oauth && { oauth }) } as const;
}

function checkOAuth(oauth: ServerEntry['oauth'], report: EntryDraft['report']): void {
  if (!oauth) return;
  if (oauth.client_secret !== undefined && oauth.client_id === undefined)
    report(['oauth', 'client_secret'], 'needs "client_id"');
  const { client_metadata_url: document } = oauth;
  const parsed = document === undefined ? undefined : URL.parse(document);
  if (document !== undefined && (parsed?.protocol !== 'https:' || parsed.pathname === '/'))
    report(['oauth', 'client_metadata_url'], 'write an https URL with a path', true);
}

/** Returns how the hub launches a local server; undefined if the entry does not define what to run. */
async function localLaunch(draft: EntryDraft): Promise<LocalLaunch | undefined> {
  const { entry, written, report } = draft;
  if (written.has('headers')) report(['headers'], 'is only for "url": remove it');
  const found = await sourceOf(draft);
  const source = found && withExtras(found, draft);
  const sandbox = await sandboxOf(draft);
  if (!source) return undefined;
  const runtimeRule = `"process" cannot run an image: write "docker", or "command" without an image`;
  if (source.image !== undefined && entry.runtime === 'process') report(['runtime'], runtimeRule);
  return {
    kind: 'local',
    runtime: entry.runtime,
    ...source,
    env: entry.env,
    workingDirectory: await workingDirectory(draft, source),
    sandbox,
  };
}

async function workingDirectory(
  { entry: { cwd }, folderOf, home, report }: EntryDraft,
  { image, build }: LaunchSource,
): Promise<string | undefined> {
  if (cwd === undefined) return undefined;
  // The working directory is a folder in the image, not on this machine.
  if (image !== undefined || build) {
    if (!cwd.startsWith('/')) report(['cwd'], 'write an absolute path in the image', true);
    return cwd;
  }
  const place = await resolveInside(cwd, { folder: folderOf('cwd'), home });
  return 'refusal' in place ? report(['cwd'], place.refusal, true) : place.real;
}
