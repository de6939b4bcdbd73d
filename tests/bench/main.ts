// npm run bench [-- --quick]: measures the claims of speed and prints them. It fails only where a reply
// was wrong: how fast a machine is today is for people to judge.
import { parseArgs } from 'node:util';
import { probeEngine } from '#helpers/engine-probe';
import { findImage } from './containers.ts';
import { findPackage, measureFleetStart } from './fleet-start.ts';
import { type Findings, gateLines } from './gates.ts';
import { type Growth, measureGrowth } from './growth.ts';
import { idleMemory } from './idle-memory.ts';
import { measureL1Hit } from './l1-hit.ts';
import { measureLookups } from './l2-lookup.ts';
import { measureList } from './list-speed.ts';
import { sessionMemory } from './open-sessions.ts';
import { installPeers } from './peers.ts';
import { type Comparison, compareRelays } from './relay-speed.ts';
import { comparisonText } from './report.ts';
import { startTime } from './start-time.ts';
import type { RuntimeKind } from './subjects/subjects.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
});
const speed = values.quick ? { rounds: 3, durationMs: 300 } : { rounds: 7, durationMs: 700 };
const starts = values.quick ? 3 : 7;
// What was started is stopped as the process exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const progress = (text: string) => console.error(text);

progress('peers');
const noPeers = await installPeers();
const noContainers = (await probeEngine()) ?? (await findImage());
const runtimes: readonly RuntimeKind[] = noContainers ? ['process'] : ['process', 'docker'];

const comparisons: Comparison[] = [];
for (const runtime of runtimes)
  comparisons.push(
    ...(await compareRelays(runtime, { ...speed, withPeers: noPeers === undefined }, progress)),
  );
const growth: Growth[] = [];
const idleMb = new Map<RuntimeKind, number | undefined>();
for (const runtime of runtimes) {
  progress(`${runtime}: large results`);
  growth.push(await measureGrowth(runtime, speed));
  progress(`${runtime}: idle memory`);
  idleMb.set(runtime, await idleMemory(runtime));
}
progress('list of 1,000 tools');
const list = await measureList(speed);
progress('20 sessions');
const sessionsMb = await sessionMemory();
progress('start');
const startMs = await startTime(starts);
progress('caches of prompts');
const l1Hit = await measureL1Hit({ rounds: speed.rounds, withRedis: noContainers === undefined });
const lookups = await measureLookups({ rounds: values.quick ? 100 : 300 });
const noPackage = noContainers ?? (await findPackage());
if (!noPackage) progress('start of 20 packaged servers');
const fleetStart = noPackage ? undefined : await measureFleetStart(starts);
const findings: Findings = {
  comparisons,
  idleMb,
  growth,
  list,
  sessionsMb,
  startMs,
  fleetStart,
};

for (const comparison of comparisons) console.log(`\n${comparisonText(comparison)}`);
console.log('');
if (noContainers) console.log(`skipped: docker runtime (${noContainers})`);
if (noPackage && !noContainers) console.log(`skipped: start of packaged servers (${noPackage})`);
if (noPeers) console.log(`skipped: supergateway and mcp-proxy (${noPeers})`);
console.log('Gates: what was reached, the figure, and of what it was made');
for (const line of gateLines(findings)) console.log(line);
console.log(
  `\nL1 hit: ${l1Hit.memoryUs.toFixed(1)} us in memory` +
    (l1Hit.redis
      ? `; in Redis ${l1Hit.redis.hitUs.toFixed(0)} us, x${(l1Hit.redis.hitUs / l1Hit.redis.getUs).toFixed(2)} of a bare GET`
      : ''),
);
for (const { scopes, p50Ms, p95Ms, putP50Ms } of lookups)
  console.log(
    `L2 look-up among 10,000 entries in ${scopes} scopes: p50 ${p50Ms.toFixed(2)} ms, p95 ${p95Ms.toFixed(2)} ms; one more entry ${putP50Ms.toFixed(2)} ms`,
  );

const wrong = [
  l1Hit,
  ...comparisons.flatMap(({ figures }) => [...figures.values()]),
  ...growth,
  list,
].reduce((sum, seen) => sum + seen.wrong, 0);
console.log(`\nwrong or mixed replies: ${wrong}`);
process.exitCode = wrong === 0 ? 0 : 1;
