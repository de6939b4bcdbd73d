// npm run bench [-- --quick]: measures the claims of speed and prints them. It fails only where a reply
// was wrong: how fast a machine is today is for people to judge.
import { parseArgs } from 'node:util';
import { probeEngine } from '#helpers/engine-probe';
import { findImage } from './containers.ts';
import { idleMemory } from './idle-memory.ts';
import { type Comparison, compareRelays } from './relay-speed.ts';
import { comparisonText, targetText } from './report.ts';
import type { RuntimeKind } from './subjects/subjects.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
});
const speed = values.quick ? { rounds: 3, durationMs: 400 } : { rounds: 7, durationMs: 1_000 };
// What was started is stopped as the process exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const idleLimitMb = 110;
const leastTimesSdkRelay = 4;

const noContainers = (await probeEngine()) ?? (await findImage());
const runtimes: readonly RuntimeKind[] = noContainers ? ['process'] : ['process', 'docker'];

const comparisons: Comparison[] = [];
for (const runtime of runtimes)
  comparisons.push(...(await compareRelays(runtime, speed, text => console.error(text))));
const idle = new Map<RuntimeKind, number | undefined>();
for (const runtime of runtimes) {
  console.error(`${runtime}: idle memory`);
  idle.set(runtime, await idleMemory(runtime));
}

for (const comparison of comparisons) console.log(`\n${comparisonText(comparison)}`);
if (noContainers) console.log(`\nskipped: docker runtime (${noContainers})`);
console.log('\nTargets');
console.log(sdkRelayTarget());
for (const [runtime, seen] of idle)
  console.log(
    targetText(
      `idle memory with 20 servers, ${runtime} runtime, at most ${idleLimitMb} MB`,
      seen === undefined ? undefined : seen <= idleLimitMb,
      seen === undefined ? 'no /proc on this machine' : `${seen.toFixed(0)} MB`,
    ),
  );

const wrong = comparisons
  .flatMap(({ figures }) => [...figures.values()])
  .reduce((sum, figures) => sum + figures.wrong, 0);
console.log(`\nwrong or mixed replies: ${wrong}`);
process.exitCode = wrong === 0 ? 0 : 1;

function sdkRelayTarget(): string {
  const at32 = comparisons.find(
    ({ runtime, job }) => runtime === 'process' && job.concurrency === 32 && job.bytes === 200,
  );
  const [hub, relay] = [at32?.figures.get('hub'), at32?.figures.get('sdk relay')];
  const times = hub && relay && hub.callsPerSecond / relay.callsPerSecond;
  return targetText(
    `calls/s at 32, process runtime, 200 bytes, at least ${leastTimesSdkRelay} times the sdk relay`,
    times === undefined ? undefined : times >= leastTimesSdkRelay,
    `${times?.toFixed(2)} times`,
  );
}
