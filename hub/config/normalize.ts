import type { RemoteLaunch, ServerConfig } from './config.ts';
import { type Report, localLaunch } from './local-launch.ts';
import type { EntryContext } from './sandbox.ts';
import type { ServerEntry } from './server-schema.ts';
import { bytesOf } from './size.ts';

/**
 * The two groups of servers in a file: `servers` (the hub's own format) and `mcpServers` (the format of MCP clients).
 */
export type Form = 'servers' | 'mcpServers';

/** An entry with its name and the context that normalizing needs. */
export type EntryDraft = EntryContext & {
  readonly name: string;
  readonly form: Form;
  readonly entry: ServerEntry;
  /** The keys that the file sets; the other keys have their defaults. */
  readonly written: ReadonlySet<string>;
};

const kib = 1024;
const longestLineBytes = 512 * kib * kib;

/** Keys that describe a local process, and so exclude `url`. */
const localKeys = [
  'package',
  'with',
  'python',
  'image',
  'command',
  'args',
  'env',
  'cwd',
  'runtime',
  'network',
  'mounts',
  'allow_sensitive',
  'volumes',
  'resources',
  'logs',
  'user',
];

/**
 * Converts the alternative notations of an entry to one form. Reports every violated rule that involves several keys.
 * Returns undefined if the entry cannot be launched.
 */
export async function normalizeServer(
  draft: EntryDraft,
  report: Report,
): Promise<ServerConfig | undefined> {
  const { name, form, entry } = draft;
  if (entry.disabled !== undefined && entry.enabled === entry.disabled)
    report(['enabled'], `contradicts "disabled": keep one of them`);
  const restart = restartOf(entry, report);
  if (entry.idle_stop !== undefined && entry.instance === 'session')
    report(['idle_stop'], 'is only for "instance": "shared": write "instance_idle" instead');
  const maxLineBytes = bytesOf(entry.max_line);
  if (maxLineBytes < kib || maxLineBytes > longestLineBytes)
    report(['max_line'], 'write a size from 1k to 512m', true);
  const launch = isRemote(draft, report)
    ? remoteLaunch(draft, report)
    : await localLaunch(draft, report);
  return (
    launch && {
      name,
      description: entry.description,
      tags: entry.tags,
      enabled: isEnabled(entry),
      autoStart: entry.auto_start ?? form === 'mcpServers',
      restart,
      maxRestarts: entry.max_restarts,
      healthCheckIntervalMs: entry.health_check_interval * 1000,
      startTimeoutMs: entry.start_timeout * 1000,
      callTimeoutMs: entry.timeout * 1000,
      inputTimeoutMs: entry.input_timeout * 1000,
      maxLineBytes,
      maxConcurrentCalls: entry.max_concurrent_calls,
      maxQueuedCalls: entry.max_queued_calls,
      maxNotifications: entry.max_notifications,
      idleStopMs: entry.idle_stop === undefined ? undefined : entry.idle_stop * 1000,
      instance: entry.instance,
      era: entry.era,
      maxInstances: entry.max_instances,
      instanceIdleMs: entry.instance_idle * 1000,
      launch,
    }
  );
}

/** False if `disabled` or `enabled` switches the server off. */
export const isEnabled = (entry: Pick<ServerEntry, 'disabled' | 'enabled'>) =>
  entry.disabled !== true && entry.enabled !== false;

/** `restart_on_failure` is the older and coarser key. Both may be set if they do not contradict each other. */
function restartOf(entry: ServerEntry, report: Report): ServerConfig['restart'] {
  const { restart, restart_on_failure: onFailure } = entry;
  if (restart === undefined) return onFailure === false ? 'temporary' : 'permanent';
  if (onFailure !== undefined && onFailure !== (restart !== 'temporary'))
    report(
      ['restart_on_failure'],
      `contradicts "restart" (${JSON.stringify(restart)}): keep one of them`,
    );
  return restart;
}

function transportOf({ transport, type, url }: ServerEntry) {
  const said = transport ?? (type === 'streamable-http' ? 'http' : type);
  return said ?? (url === undefined ? 'stdio' : 'http');
}

function isRemote({ entry }: EntryDraft, report: Report): boolean {
  const { transport, type, url } = entry;
  const transportName = transportOf(entry);
  const other = type === 'streamable-http' ? 'http' : type;
  if (transport !== undefined && other !== undefined && transport !== other)
    report(['type'], `contradicts "transport" (${JSON.stringify(transport)}): keep one of them`);
  if (url !== undefined && transportName === 'stdio')
    report(
      ['url'],
      'cannot be combined with "stdio": remove it, or set "transport" to "http" or "sse"',
    );
  if (url === undefined && transportName !== 'stdio')
    report(['url'], `is missing: "${transportName}" needs the address of the server`);
  return url !== undefined || transportName !== 'stdio';
}

function remoteLaunch({ entry, written }: EntryDraft, report: Report): RemoteLaunch | undefined {
  const { url, headers } = entry;
  for (const key of localKeys.filter(local => url !== undefined && written.has(local)))
    report(
      [key],
      `cannot be combined with "url", which names a remote server: remove one of the two`,
    );
  for (const [header, value] of Object.entries(headers)) {
    // fetch accepts only printable Latin-1 and tabs, and would otherwise fail at the first call.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      report(['headers', header], 'write printable characters, without line breaks', true);
  }
  if (entry.era === 'modern' && transportOf(entry) === 'sse')
    report(['era'], '"modern" cannot be combined with "sse", an older transport: remove it');
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol))
    report(['url'], 'write a URL that starts with http:// or https://', true);
  else if (parsed.username !== '' || parsed.password !== '')
    report(['url'], 'contains a user or password: send it as "Authorization" in "headers"');
  return { kind: 'remote', transport: transportOf(entry) === 'sse' ? 'sse' : 'http', url, headers };
}
