import type { Sandbox } from './config.ts';
import { type Roots, findTarget, holdsEngineSocket, resolveInside } from './paths.ts';
import type { ServerEntry } from './schema.ts';
import { bytesOf } from './size.ts';

type Report = (path: readonly (string | number)[], text: string, showsValue?: boolean) => void;

const mib = 1024 * 1024;

/** `source:target`, `source:target:ro` or `:rw`; the source may be `C:\folder`. */
const shortMount = /^(.+):(\/[^:]*)(?::(ro|rw))?$/s;

const targetRule =
  'write an absolute path in the container that is not "/" and not in /proc, /sys or /dev';

/** What the container of a server may do, with paths made absolute. */
export function sandboxOf(entry: ServerEntry, roots: Roots, report: Report): Sandbox {
  const mounts = entry.mounts.flatMap((mount, index) => mountOf(mount, index, roots, report));
  const volumes = volumesOf(entry.volumes, report);
  const targets = [
    ...mounts.map(({ at, target }) => ({ at, target })),
    ...volumes.map(({ at, target }) => ({ at, target })),
  ];
  for (const [index, { at, target }] of targets.entries()) {
    if (targets.findIndex(other => other.target === target) < index)
      report(at, `puts a second thing at ${JSON.stringify(target)}: choose another target`);
  }
  const memoryBytes = bytesOf(entry.resources.memory);
  if (memoryBytes < 6 * mib || memoryBytes > Number.MAX_SAFE_INTEGER)
    report(
      ['resources', 'memory'],
      'write a size of at least 6m, the least that Docker takes',
      true,
    );
  const { cpus, pids } = entry.resources;
  return {
    network: entry.network,
    mounts: mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly })),
    volumes: volumes.map(({ name, target }) => ({ name, target })),
    limits: { memoryBytes, cpus, pids },
    logs: entry.logs,
    user: entry.user === undefined ? undefined : String(entry.user),
  };
}

function mountOf(
  written: ServerEntry['mounts'][number],
  index: number,
  roots: Roots,
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
  const inside = source === '' ? undefined : resolveInside(source, roots);
  if (inside === undefined)
    report(
      sourceAt,
      'the source leaves its folder; write it without "..", or as an absolute path',
      true,
    );
  else if (holdsEngineSocket(inside))
    report(
      sourceAt,
      "it holds the engine's socket, which gives power over this machine; mount something else",
      true,
    );
  const allowed = findTarget(target);
  if (allowed === undefined) report(targetAt, targetRule, true);
  return inside === undefined || allowed === undefined
    ? []
    : [{ at: targetAt, source: inside, target: allowed, readOnly }];
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
