import { type MountGuard, createLinkResolver } from './mount-guard.ts';
import { type Network, findNetworkTarget } from './network.ts';
import { type Resolved, findTarget, resolveInside } from './paths.ts';
import { bytesOf } from './size.ts';
import type { ServerEntry } from './server-schema.ts';
import type { Path } from './source-map.ts';

/** A server entry, with everything that is needed to normalize it. */
export type EntryDraft = {
  readonly name: string;
  /** Key of the file that contains the entry: the hub's own format, or that of MCP clients. */
  readonly form: 'servers' | 'mcpServers';
  readonly entry: ServerEntry;
  /** Keys that the file sets. All other keys of `entry` have their defaults. */
  readonly written: ReadonlySet<string>;
  readonly home: string;
  /** Returns the folder of the file that sets this key, as files in `extends` have folders of their own. */
  readonly folderOf: (key: 'build' | 'cwd' | 'mounts') => string;
  readonly guard: MountGuard;
  /** Reports a problem at a path inside the entry. `showsValue` puts the value before the text. */
  readonly report: (path: Path, text: string, showsValue?: boolean) => undefined;
};

/** Permissions and limits of a server's container. */
export type Sandbox = Readonly<Awaited<ReturnType<typeof sandboxOf>>>;

const minMemoryBytes = 6 * 1024 * 1024;

/** Short form of a mount: `source:target`, `source:target:ro` or `source:target:rw`. The source may be `C:\folder`. */
const shortMount = /^(.+):(\/[^:]*)(?::(ro|rw))?$/s;

const targetRule =
  'write an absolute path in the container that is not "/" and not in /proc, /sys or /dev';

/** Builds the sandbox of a server. Paths become absolute and symbolic links are resolved. */
export async function sandboxOf(draft: EntryDraft) {
  const { entry, report } = draft;
  const { memory, cpus, pids, scratch, volumes: volumeSize } = entry.resources;
  const found = entry.mounts.map((mount, index) => mountOf(mount, index, draft));
  const mounts = (await Promise.all(found)).flat();
  const volumes = volumesOf(draft);
  const mountLinks = await linksOf(mounts);
  const targets = [...mounts, ...volumes];
  for (const [index, { at, target }] of targets.entries()) {
    if (targets.findIndex(other => other.target === target) < index)
      report(at, `uses the target ${JSON.stringify(target)} a second time: choose another one`);
  }
  const memoryBytes = bytesOf(memory);
  if (memoryBytes < minMemoryBytes || memoryBytes > Number.MAX_SAFE_INTEGER)
    report(['resources', 'memory'], 'write a size of at least 6m, the minimum of Docker', true);
  return {
    network: networkOf(draft),
    mounts: mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly })),
    /** Symbolic links on the paths of the mounts, as written. */
    ...(mountLinks.length > 0 && { mountLinks }),
    volumes: volumes.map(({ name, target }) => ({ name, target })),
    limits: {
      memoryBytes,
      cpus,
      pids,
      scratchBytes: bytesOf(scratch),
      volumeBytes: bytesOf(volumeSize),
    },
    logs: entry.logs,
    user: entry.user === undefined ? undefined : String(entry.user),
  };
}

function networkOf({ entry: { network, runtime }, report }: EntryDraft): Network {
  if (typeof network === 'string') return network;
  for (const [index, target] of network.allow.entries()) {
    const found = findNetworkTarget(target);
    if ('problem' in found) report(['network', 'allow', index], found.problem, true);
  }
  if (runtime === 'process')
    report(
      ['network', 'allow'],
      'cannot be enforced for a process: write "runtime": "docker", or remove it',
    );
  return { allow: network.allow.map(target => target.toLowerCase()) };
}

async function mountOf(written: ServerEntry['mounts'][number], index: number, draft: EntryDraft) {
  const { report } = draft;
  const at = ['mounts', index];
  const short = typeof written === 'string' ? shortMount.exec(written) : undefined;
  if (short === null) {
    report(at, 'write "source:target", "source:target:ro" or "source:target:rw"', true);
    return [];
  }
  const [, from = '', to = '', mode = 'ro'] = short ?? [];
  const isShort = typeof written === 'string';
  const {
    source,
    target,
    read_only: readOnly,
  } = isShort ? { source: from, target: to, read_only: mode === 'ro' } : written;
  const sourceAt = isShort ? at : [...at, 'source'];
  const targetAt = isShort ? at : [...at, 'target'];
  const place = await findSource(source, readOnly, draft);
  if ('refusal' in place) report(sourceAt, place.refusal, true);
  const allowed = allowedTarget(target, targetAt, report);
  return 'refusal' in place || allowed === undefined
    ? []
    : [{ at: targetAt, source: place.real, written: place.written, target: allowed, readOnly }];
}

async function linksOf(mounts: readonly { readonly written: string }[]) {
  const resolveLinks = createLinkResolver();
  const found = await Promise.all(mounts.map(async ({ written }) => await resolveLinks(written)));
  return [...new Set(found.flatMap(({ links }) => links))];
}

/** Resolves the source of a mount. The engine gets the resolved path; `examineMounts` finds links that are created later. */
async function findSource(
  source: string,
  readOnly: boolean,
  { entry, folderOf, home, guard }: EntryDraft,
): Promise<Resolved> {
  if (source === '') return { refusal: 'write the path of a file or folder' };
  const place = await resolveInside(source, { folder: folderOf('mounts'), home });
  if ('refusal' in place) return place;
  const refusal = await guard(place, { readOnly, allowSensitive: entry.allow_sensitive });
  return refusal === undefined ? place : { refusal };
}

function volumesOf({ entry: { volumes }, report }: EntryDraft) {
  const list = Array.isArray(volumes)
    ? volumes.map((volume, index) => ({ ...volume, at: ['volumes', index, 'target'] }))
    : Object.entries(volumes).map(([name, target]) => ({ name, target, at: ['volumes', name] }));
  return list.flatMap(({ name, target, at }) => {
    const allowed = allowedTarget(target, at, report);
    return allowed === undefined ? [] : [{ at, name, target: allowed }];
  });
}

function allowedTarget(target: string, at: Path, report: EntryDraft['report']): string | undefined {
  const allowed = findTarget(target);
  if (allowed === undefined) report(at, targetRule, true);
  return allowed;
}
