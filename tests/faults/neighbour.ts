import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { TestRunner, afterAll } from 'vitest';
import type { HubProcess } from '#helpers/hub-process';
import { type Control, startControl } from './control.ts';
import { openEchoSession } from './echo-session.ts';
import { type Call, latenessOf, paceMs } from './lateness.ts';

/** Calls the tool `echo` of a server. */
type Echo = (text: string) => Promise<string>;

/** Calls to a server, and the messages of those that failed. */
type Outcome = { readonly calls: readonly Call[]; readonly failures: readonly string[] };

/** Minimum number of calls in a phase. With fewer, the p99 would be the worst one or two. */
const leastCalls = 300;
/** Number of calls before the quiet phase, as processes that have just started are slow. */
const firstCalls = 100;
/** Same as `firstCalls`, for hubs that were called before: only their connections are new. */
const furtherCalls = 20;

/** Control shared by all tests of a file. The first test that needs it starts it. */
let control: Promise<Control> | undefined;
/** Quiet phases by the URLs of the hubs called in them. All faults of a hub are compared with the same one. */
const quietPhases = new Map<string, readonly Outcome[]>();

afterAll(async () => {
  await (await control)?.[Symbol.asyncDispose]();
});

/**
 * Calls servers continuously, one call at a time each, until `work` is done and each was called `least` times. Calls
 * may fail; rejects if `work` does.
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
 * Runs a fault while the neighbour of each hub, and a control beside the hubs, are called. Fails if a call fails, or if
 * a neighbour is later than a fault may make it (`latenessOf`).
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
  // Stored again at the end. If the neighbour is late, the phase is dropped, so that a retry of the test measures a new
  // one.
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
