import type { RemoteLaunch, ServerConfig } from './config.ts';
import { localLaunch } from './local-launch.ts';
import type { EntryDraft } from './sandbox.ts';
import type { ServerEntry } from './server-schema.ts';
import { bytesOf } from './size.ts';

const kib = 1024;
const longestLineBytes = 512 * kib * kib;

/** Keys that describe a local process, and so exclude `url`. */
const localKeys =
  'package with python image command args env cwd runtime network mounts allow_sensitive volumes resources logs user';

/**
 * Converts the alternative notations of an entry to one form. Reports every violated rule that involves several keys.
 * Returns undefined if the entry cannot be launched.
 */
export async function normalizeServer(draft: EntryDraft): Promise<ServerConfig | undefined> {
  const { name, form, entry, report } = draft;
  if (entry.disabled !== undefined && entry.enabled === entry.disabled)
    report(['enabled'], `contradicts "disabled": keep one of them`);
  const restart = restartOf(draft);
  if (entry.idle_stop !== undefined && entry.instance === 'session')
    report(['idle_stop'], 'is only for "instance": "shared": write "instance_idle" instead');
  const maxLineBytes = bytesOf(entry.max_line);
  if (maxLineBytes < kib || maxLineBytes > longestLineBytes)
    report(['max_line'], 'write a size from 1k to 512m', true);
  const launch = isRemote(draft) ? remoteLaunch(draft) : await localLaunch(draft);
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
export const isEnabled = (entry: { readonly disabled?: unknown; readonly enabled?: unknown }) =>
  entry.disabled !== true && entry.enabled !== false;

/** `restart_on_failure` is the older and coarser key. Both may be set if they do not contradict each other. */
function restartOf({ entry, report }: EntryDraft): ServerConfig['restart'] {
  const { restart, restart_on_failure: onFailure } = entry;
  if (restart === undefined) return onFailure === false ? 'temporary' : 'permanent';
  if (onFailure !== undefined && onFailure !== (restart !== 'temporary'))
    report(['restart_on_failure'], `contradicts "restart" ("${restart}"): keep one of them`);
  return restart;
}

const typeOf = ({ type }: ServerEntry) => (type === 'streamable-http' ? 'http' : type);

const transportOf = (entry: ServerEntry) =>
  entry.transport ?? typeOf(entry) ?? (entry.url === undefined ? 'stdio' : 'http');

/** "modern" servers have no HTTP with SSE, which MCP deprecated in 2025-03-26. */
const erasOverSse: ReadonlySet<ServerConfig['era']> = new Set(['auto', 'legacy']);

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

function remoteLaunch({ entry, written, report }: EntryDraft): RemoteLaunch | undefined {
  const { url, headers } = entry;
  for (const key of localKeys.split(' '))
    if (url !== undefined && written.has(key))
      report(
        [key],
        `cannot be combined with "url", which names a remote server: remove one of the two`,
      );
  for (const [header, value] of Object.entries(headers)) {
    // fetch accepts only printable Latin-1 and tabs, and would otherwise fail at the first call.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      report(['headers', header], 'write printable characters, without line breaks', true);
  }
  if (transportOf(entry) === 'sse' && !erasOverSse.has(entry.era))
    report(['era'], '"modern" cannot be combined with "sse", an older transport: remove it');
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol))
    report(['url'], 'write a URL that starts with http:// or https://', true);
  else if (parsed.username !== '' || parsed.password !== '')
    report(['url'], 'contains a user or password: send it as "Authorization" in "headers"');
  return { kind: 'remote', transport: transportOf(entry) === 'sse' ? 'sse' : 'http', url, headers };
}
