import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, until } from '#helpers/hub-process';
import { becomesTruthful, createScene } from '../faults/scene.ts';
import { entryOf } from './entry.ts';
import type { RoundMessage, RoundOptions, RoundOutcome } from './round.ts';

type ChurnOptions = {
  readonly seconds: number;
  /** Minimum number of calls in a round (see `RoundOptions`). */
  readonly leastCalls: number;
  readonly seed: number;
  readonly servers: number;
  readonly clients: number;
  /** Called with a line of text for each event. */
  readonly report: (line: string) => void;
};

/** Memory of the hub after a forced collection, in bytes, `heap` without code, and its open descriptors. */
type Held = {
  readonly heap: number;
  readonly rss: number;
  /** Target of each open descriptor. */
  readonly descriptors: readonly string[];
};

type Churned = RoundOutcome & { readonly before: Held; readonly after: Held };

const probe = join(import.meta.dirname, 'probe.mjs');
/** Time limit in ms for a hub to collect garbage and write its measurements. */
const measureMs = 60_000;
/** Minimum duration of the first round, which makes all kinds of changes once. */
const leastFirstSeconds = 10;

/**
 * Kills, restarts, changes, installs and removes servers of one hub at random while clients connect, call and
 * disconnect. Compares the hub's memory and descriptors before and after. The same seed makes the same choices.
 */
export async function churn(options: ChurnOptions): Promise<Churned> {
  const { seconds, leastCalls, seed, servers, clients, report } = options;
  const names = Array.from({ length: servers }, (_, at) => `server-${at + 1}`);
  const probeFile = join(tmpdir(), `agenthub-soak-${process.pid}.json`);
  await using scene = await createScene({
    servers: Object.fromEntries(names.map(name => [name, entryOf(0)])),
    env: { NODE_OPTIONS: `--import ${probe}`, PROBE_FILE: probeFile, LOG_LEVEL: 'warn' },
  });
  const hub = await scene.start();
  const { url, configFile, ownerHeaders } = hub;
  const { hubName } = scene;
  const common = { hub: { url, configFile, ownerHeaders }, hubName, engineHost, names, clients };
  const filters = JSON.stringify({ label: [`com.docker.compose.project=${hubName}`] });
  /** Resolves when all replaced containers are removed: the hub is attached to each container. */
  const areReplaced = async () =>
    await until(
      () => scene.docker.listContainers({ all: true, filters }),
      // The neighbour has a container too.
      found => found.length === servers + 1,
      measureMs,
    );
  try {
    // A first round of everything, so that what is created once, such as compiled code, does not count as a leak.
    const firstSeconds = Math.max(leastFirstSeconds, seconds / 3);
    const first = await run(
      { ...common, seconds: firstSeconds, leastCalls: 0, seed: seed + 1 },
      report,
    );
    await areReplaced();
    const before = await measure(hub, probeFile);
    const { calls, unexpected, done } = await run({ ...common, seconds, leastCalls, seed }, report);
    await areReplaced();
    const after = await measure(hub, probeFile);
    // Check the scene only now, so that this process has no connection to the hub during the measurement.
    await becomesTruthful(scene);
    return { before, after, calls, unexpected: [...first.unexpected, ...unexpected], done };
  } finally {
    await rm(probeFile, { force: true });
  }
}

/** Returns the open descriptors. The audit log continues in a new file when one is full, so its number is removed. */
const filesOf = ({ descriptors }: Held): readonly string[] =>
  descriptors.map(what => what.replace(/audit-\d+/, 'audit'));

/** Maximum growth of the heap by the churn, as a factor. */
const mostGrowth = 1.05;

/** Returns what the hub holds after the churn and did not hold before, a sentence each; empty if nothing leaked. */
export function leftOver({ before, after }: Pick<Churned, 'before' | 'after'>): readonly string[] {
  const growth = after.heap / before.heap;
  return [
    ...(growth > mostGrowth ? [`the heap is ${growth.toFixed(3)} of what it was`] : []),
    ...difference(filesOf(after), filesOf(before)).map(what => `opened: ${what}`),
    ...difference(filesOf(before), filesOf(after)).map(what => `closed: ${what}`),
  ];
}

/** Returns the elements of the first list that are not in the second, with duplicates. */
function difference(one: readonly string[], other: readonly string[]): readonly string[] {
  const left = [...other];
  return one.filter(what => {
    const at = left.indexOf(what);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

async function run(options: RoundOptions, report: (line: string) => void): Promise<RoundOutcome> {
  const child = fork(join(import.meta.dirname, 'round.ts'), { execArgv: [] });
  let outcome: RoundOutcome | undefined;
  let failure = 'it told nothing';
  child.on('message', (message: RoundMessage) => {
    if ('line' in message) report(message.line);
    else if ('error' in message) failure = message.error;
    else outcome = message.outcome;
  });
  child.send(options);
  await once(child, 'exit');
  if (!outcome) throw new Error(`a round failed: ${failure}`);
  return outcome;
}

async function measure(hub: HubProcess, file: string): Promise<Held> {
  // A session ends at once when its client ends it, but its resources are released a moment later.
  await delay(2_000);
  await rm(file, { force: true });
  process.kill(hub.pid, 'SIGUSR2');
  return await until(
    () => readFile(file, 'utf8').then(JSON.parse, () => undefined),
    found => found !== undefined,
    measureMs,
  );
}
