import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { TestRunner, afterAll } from 'vitest';
import type { HubProcess } from '#helpers/hub-process';
import { type Control, startControl } from './control.ts';
import { openEchoSession } from './echo-session.ts';
import { type Call, latenessOf, paceMs } from './lateness.ts';

/** A way to the tool `echo` of a server. */
type Echo = (text: string) => Promise<string>;

/** What became of the calls to a server. */
type Outcome = { readonly calls: readonly Call[]; readonly failures: readonly string[] };

/** Calls that a phase has at least: of fewer, a p99 is the worst one or two. */
const leastCalls = 300;
/** Before the quiet phase: processes that have just started are slow. */
const firstCalls = 100;
/** As `firstCalls`, for hubs that have been called before: only the connections are new. */
const furtherCalls = 20;

/** Started by the first test of a file that needs it, and shared by all of them. */
let control: Promise<Control> | undefined;
/** The quiet phases, by the addresses of the hubs that are called in them. All faults of a hub are compared with one. */
const quietPhases = new Map<string, readonly Outcome[]>();

afterAll(async () => {
  await (await control)?.[Symbol.asyncDispose]();
});

/**
 * Goes on calling servers, each one call at a time, while some work is done, and until each was called `least`
 * times. Calls may fail; the work may not.
 */
export async function whileCalled<T>(
  echoes: readonly Echo[],
  least: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly outcomes: readonly Outcome[] }> {
  let isOver = false;
  const calling = Promise.all(echoes.map(echo => goOn(echo, least, () => isOver)));
  try {
    const result = await work();
    isOver = true;
    return { result, outcomes: await calling };
  } finally {
    isOver = true;
    await calling;
  }
}

async function goOn(echo: Echo, least: number, isOver: () => boolean): Promise<Outcome> {
  const calls: Call[] = [];
  const failures: string[] = [];
  while (calls.length < least || !isOver()) {
    const text = String(calls.length);
    const since = performance.now();
    try {
      const answer = await echo(text);
      if (answer !== text) failures.push(`answered ${answer} to ${text}`);
    } catch (error) {
      failures.push(String(error));
    }
    const endMs = performance.now();
    calls.push({ endMs, tookMs: endMs - since });
    await delay(Math.max(0, since + paceMs - endMs));
  }
  return { calls, failures };
}

/**
 * Lets a fault happen while the neighbour of each hub is called, and a control beside the hubs. Throws where a
 * call failed, or where a neighbour was later than the fault of a server may make it (`latenessOf`).
 */
export async function besideNeighbour<T>(
  hubs: readonly Pick<HubProcess, 'url'>[],
  fault: () => Promise<T>,
): Promise<T> {
  await using ends = new AsyncDisposableStack();
  control ??= startControl();
  const shared = await control;
  const echoes: Echo[] = [text => shared.echo(text)];
  for (const hub of hubs) {
    const session = ends.use(await openEchoSession(`${hub.url}/mcp/neighbour`));
    echoes.push(text => session.echo(text));
  }
  const of = hubs.map(({ url }) => url).join();
  const quiet = quietPhases.get(of) ?? (await quietPhase(echoes));
  // Set again at the end: if the neighbour is late, the repeated test measures a new quiet phase.
  if (quietPhases.delete(of)) await whileCalled(echoes, furtherCalls, nothing);
  const during = await whileCalled(echoes, leastCalls, fault);
  const failures = [...quiet, ...during.outcomes].flatMap(one => one.failures);
  assert.deepEqual(failures, [], 'calls to the neighbour failed');
  for (let hub = 1; hub < echoes.length; hub++) {
    const pairOf = (outcomes: readonly Outcome[]) => ({
      neighbour: outcomes[hub]?.calls ?? [],
      control: outcomes[0]?.calls ?? [],
    });
    const found = latenessOf(pairOf(quiet), pairOf(during.outcomes));
    const said =
      `the neighbour's p99 was ${found.neighbour.toFixed(1)} ms, and ${found.quiet.neighbour.toFixed(1)} ms ` +
      `when it was quiet; the control's ${found.control.toFixed(1)} ms and ${found.quiet.control.toFixed(1)} ms`;
    await TestRunner.getCurrentTest()?.context.annotate(said);
    assert.ok(found.neighbour <= found.most, said);
  }
  quietPhases.set(of, quiet);
  return during.result;
}

async function quietPhase(echoes: readonly Echo[]): Promise<readonly Outcome[]> {
  await whileCalled(echoes, firstCalls, nothing);
  return (await whileCalled(echoes, leastCalls, nothing)).outcomes;
}

const nothing = async () => {};
