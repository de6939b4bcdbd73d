import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silent, systemClock } from '#core';
import { type Vectors, createEmbeddedVectors } from '#vectors';
import { type Dice, createDice, idOf, vectorOf } from '../vectors/random.ts';

type Lookups = {
  readonly scopes: number;
  /** Time of a lookup in a scope that is in memory already, in ms. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Time of one loop over as many numbers, which every lookup needs, in ms. */
  readonly bareMs: number;
  /** Time of the first lookup in a scope, which reads the scope from the file, in ms: median over all scopes. */
  readonly firstMs: number;
  /** Time to add an entry to a full scope, in ms. */
  readonly putP50Ms: number;
  /** Maximum delay of a timer in the same process during the measurement, in ms. */
  readonly maxDelayMs: number;
};

type Size = { readonly entries: number; readonly dimensions: number; readonly scopes: number };

const collection = 'bench';
const forever = 4_000_000_000_000;
const putsMeasured = 100;
const bareRounds = 50;

/** Measures lookups among 10,000 entries of 768 numbers in the embedded store, in one scope and in ten. */
export async function measureLookups({
  rounds,
}: {
  readonly rounds: number;
}): Promise<readonly Lookups[]> {
  const found: Lookups[] = [];
  for (const scopes of [1, 10]) {
    await using opened = await openBench();
    const size = { entries: 10_000, dimensions: 768, scopes };
    found.push(await measure(opened.file, size, rounds));
  }
  return found;
}

async function measure(file: string, size: Size, rounds: number): Promise<Lookups> {
  const dice = createDice(1);
  const full = await openStore(file);
  await fill(full, size, dice);
  await full.stop();
  const vectors = await openStore(file);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const scopes = Array.from({ length: size.scopes }, (_, scope) => String(scope));
  const first = await timesOf(scopes, scope => look(vectors, scope, size, dice));
  const asked = Array.from({ length: rounds }, (_, round) => String(round % size.scopes));
  const warm = await timesOf(asked, scope => look(vectors, scope, size, dice));
  const puts = await timesOf(asked.slice(0, putsMeasured), scope =>
    put(vectors, scope, size, dice),
  );
  delay.disable();
  await vectors.stop();
  return {
    scopes: size.scopes,
    p50Ms: quantile(warm, 0.5),
    p95Ms: quantile(warm, 0.95),
    bareMs: bareScan(size),
    firstMs: quantile(first, 0.5),
    putP50Ms: quantile(puts, 0.5),
    maxDelayMs: delay.max / 1e6,
  };
}

/** Returns the time in ms for the products of one vector with all vectors of a scope: median of several rounds. */
function bareScan({ entries, dimensions, scopes }: Size): number {
  const all = new Float32Array((entries / scopes) * dimensions).fill(0.1);
  const times: number[] = [];
  for (let round = 0; round < bareRounds; round++) {
    const vector = new Float32Array(dimensions).fill(round / bareRounds);
    const since = performance.now();
    let best = -Infinity;
    for (let from = 0; from < all.length; from += dimensions) {
      let score = 0;
      for (let at = 0; at < dimensions; at++) score += (all[from + at] ?? 0) * (vector[at] ?? 0);
      if (score > best) best = score;
    }
    times.push(performance.now() - since);
  }
  return quantile(times, 0.5);
}

/**
 * Fills a new store, reopens it, searches it, and removes everything. Resolves with the duration of each turn of the
 * event loop meanwhile, in ms, on Linux without the time spent waiting for a processor. The work is the same each time,
 * so differences come from the machine.
 */
export async function turnsOf(file: string, size: Size): Promise<readonly number[]> {
  const dice = createDice(1);
  const turns: number[] = [];
  const full = await openStore(file);
  let ended = false;
  const watching = (async () => {
    for (let before = runMs(); !ended;) {
      await nextTurn();
      const now = runMs();
      turns.push(now - before);
      before = now;
    }
  })();
  await fill(full, size, dice);
  await full.stop();
  const vectors = await openStore(file);
  for (let round = 0; round < 3 * size.scopes; round++)
    await look(vectors, String(round % size.scopes), size, dice);
  await vectors.removeTag('0');
  await vectors.removeTag();
  await vectors.stop();
  ended = true;
  await watching;
  return turns;
}

/** Returns a time in ms that does not advance while this thread is ready and waits for a processor. */
function runMs(): number {
  let waitedNs = 0;
  try {
    // The fields: time run, time waited for a processor (both in ns), and number of time slices.
    waitedNs = Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]);
  } catch {
    // schedstat exists on Linux only.
  }
  return performance.now() - waitedNs / 1e6;
}

async function openBench() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-bench-'));
  return {
    file: join(folder, 'vectors.db'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function openStore(file: string): Promise<Vectors> {
  const vectors = createEmbeddedVectors(file, { clock: systemClock, log: silent });
  await vectors.start(new AbortController().signal);
  return vectors;
}

/** Adds entries in turn to all scopes. The last entries fill each scope to its limit. */
async function fill(vectors: Vectors, size: Size, dice: Dice): Promise<void> {
  for (let entry = 0; entry < size.entries; entry++) {
    await put(vectors, String(entry % size.scopes), size, dice);
    await nextTurn();
  }
}

async function put(vectors: Vectors, scope: string, size: Size, dice: Dice): Promise<void> {
  const payload = {
    scope,
    tag: scope,
    expires_at: forever,
    answer: 'A better prompt. '.repeat(40),
  };
  const point = { id: idOf(dice), vector: vectorOf(dice, size.dimensions), payload };
  await vectors.put(collection, point, { scope, maxPerScope: size.entries / size.scopes });
}

async function look(vectors: Vectors, scope: string, size: Size, dice: Dice): Promise<void> {
  const options = { scope, limit: 3, minScore: -1 };
  await vectors.near(collection, vectorOf(dice, size.dimensions), options);
}

async function timesOf<T>(items: readonly T[], work: (item: T) => Promise<void>) {
  const times: number[] = [];
  for (const item of items) {
    const since = performance.now();
    await work(item);
    times.push(performance.now() - since);
    await nextTurn();
  }
  return times;
}

/** Returns the quantile of the values for this part, from 0 to 1. */
const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
