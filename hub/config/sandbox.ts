import type { Sandbox } from './config.ts';
import { findSandboxEscape } from './sandbox-escapes.ts';
import type { MountGuard } from './mount-guard.ts';
import { type Resolved, findTarget, resolveInside } from './paths.ts';
import type { ServerEntry } from './server-schema.ts';
import { bytesOf } from './size.ts';

type Report = (path: readonly (string | number)[], text: string, showsValue?: boolean) => void;

const mib = 1024 * 1024;

/** `source:target`, `source:target:ro` or `:rw`; the source may be `C:\folder`. */
const shortMount = /^(.+):(\/[^:]*)(?::(ro|rw))?$/s;

const targetRule =
  'write an absolute path in the container that is not "/" and not in /proc, /sys or /dev';

/** Context for resolving paths: the home folder, the base folders, and the engine's socket if it is known. */
export type EntryContext = {
  readonly home: string;
  /** Folder of the file that sets this key. Files in `extends` have their own folders. */
  readonly folderOf: (key: 'cwd' | 'mounts') => string;
  readonly engineSocket: string | undefined;
  readonly guard: MountGuard;
};

/** Builds the sandbox of a server. Paths become absolute and symbolic links are resolved. */
export async function sandboxOf(
  entry: ServerEntry,
  machine: EntryContext,
  report: Report,
): Promise<Sandbox> {
  const written = entry.mounts.map((mount, index) =>
    mountOf(mount, index, { ...machine, allowSensitive: entry.allow_sensitive }, report),
  );
  const mounts = (await Promise.all(written)).flat();
  const volumes = volumesOf(entry.volumes, report);
  const targets = [
    ...mounts.map(({ at, target }) => ({ at, target })),
    ...volumes.map(({ at, target }) => ({ at, target })),
  ];
  for (const [index, { at, target }] of targets.entries()) {
    if (targets.findIndex(other => other.target === target) < index)
      report(at, `uses the target ${JSON.stringify(target)} a second time: choose another one`);
  }
  const memoryBytes = bytesOf(entry.resources.memory);
  if (memoryBytes < 6 * mib || memoryBytes > Number.MAX_SAFE_INTEGER)
    report(['resources', 'memory'], 'write a size of at least 6m, the minimum of Docker', true);
  const { cpus, pids } = entry.resources;
  return {
    network: entry.network,
    mounts: mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly })),
    volumes: volumes.map(({ name, target }) => ({ name, target })),
    limits: {
      memoryBytes,
      cpus,
      pids,
      scratchBytes: bytesOf(entry.resources.scratch),
      volumeBytes: bytesOf(entry.resources.volumes),
    },
    logs: entry.logs,
    user: entry.user === undefined ? undefined : String(entry.user),
  };
}

type Mounting = EntryContext & { readonly allowSensitive: boolean };

async function mountOf(
  written: ServerEntry['mounts'][number],
  index: number,
  machine: Mounting,
  report: Report,
) {
  const at = ['mounts', index];
  const short = typeof written === 'string' ? shortMount.exec(written) : undefined;
  if (short === null) {
    report(at, 'write "source:target", "source:target:ro" or "source:target:rw"', true);
    return [];
  }
  const [, from = '', to = '', mode = 'ro'] = short ?? [];
  const { source, target, readOnly } =
    typeof written === 'string'
      ? { source: from, target: to, readOnly: mode === 'ro' }
      : { source: written.source, target: written.target, readOnly: written.read_only };
  const sourceAt = typeof written === 'string' ? at : [...at, 'source'];
  const targetAt = typeof written === 'string' ? at : [...at, 'target'];
  const place = await findSource(source, readOnly, machine);
  if ('refusal' in place) report(sourceAt, place.refusal, true);
  const allowed = findTarget(target);
  if (allowed === undefined) report(targetAt, targetRule, true);
  return 'refusal' in place || allowed === undefined
    ? []
    : [{ at: targetAt, source: place.real, target: allowed, readOnly }];
}

/** Resolves the source of a mount. The engine gets the resolved path, so that a link created later has no effect. */
async function findSource(source: string, readOnly: boolean, machine: Mounting): Promise<Resolved> {
  if (source === '') return { refusal: 'write the path of a file or folder' };
  const roots = { folder: machine.folderOf('mounts'), home: machine.home };
  const place = await resolveInside(source, roots);
  if ('refusal' in place) return place;
  // Check the path as written too: the engine may run on another machine, with other links.
  for (const path of new Set([place.real, place.written])) {
    const reason = await findSandboxEscape(path, readOnly, machine.engineSocket);
    if (reason !== undefined) return { refusal: reason };
  }
  const { allowSensitive } = machine;
  const refusal = await machine.guard.findRefusal(place, { readOnly, allowSensitive });
  return refusal === undefined ? place : { refusal };
}

function volumesOf(written: ServerEntry['volumes'], report: Report) {
  const list = Array.isArray(written)
    ? written.map((volume, index) => ({ ...volume, at: ['volumes', index, 'target'] }))
    : Object.entries(written).map(([name, target]) => ({ name, target, at: ['volumes', name] }));
  return list.flatMap(({ name, target, at }) => {
    const allowed = findTarget(target);
    if (allowed === undefined) report(at, targetRule, true);
    return allowed === undefined ? [] : [{ at, name, target: allowed }];
  });
}
