// npm run bench [-- --quick]: measures the speed claims and prints them. It fails only on a wrong reply: people judge
// how fast a machine is today. `-- against <commit>` compares the working tree with a commit, `-- prompts` measures
// only the prompt caches, `-- telemetry` the cost of traces, and `-- pairs` how well the semantic cache matches prompts
// with a real embedding model (pairs-table.ts). `-- results` rates the checks of improved prompts, `-- access` measures
// the cost of clients, policy and audit, `-- pins` that of pinned tools, `-- egress` what a download adds to the calls
// of others, and `-- agents` what agents cost beside the engine's own start of their image. `-- find` prints how often
// find mode finds the right tool (find-tools.ts). `-- documentation` measures a run of 2,000 files, and what it adds to
// the calls of others.
import { parseArgs } from 'node:util';
import { probeEngine } from '#helpers/engine-probe';
import { useOwnHome } from '#helpers/own-home';
import { measureAccess } from './access-cost.ts';
import { measureAgents } from './agents-cost.ts';
import { compareWithCommit } from './against.ts';
import { findImage } from './containers.ts';
import { measureDocumentation } from './documentation-cost.ts';
import { findEgressImages, measureEgress } from './egress-fair.ts';
import { findPackage, measureFleetStart } from './fleet-start.ts';
import { printFind } from './find-tools.ts';
import { type Findings, gateLines } from './gates.ts';
import { type Growth, measureGrowth } from './growth.ts';
import { idleMemory } from './idle-memory.ts';
import { measureList } from './list-speed.ts';
import { sessionMemory } from './open-sessions.ts';
import { printPairs } from './pairs-table.ts';
import { installPeers } from './peers.ts';
import { measurePins } from './pins-cost.ts';
import { measurePrompts } from './prompts.ts';
import { type Comparison, compareRelays } from './relay-speed.ts';
import { comparisonText } from './report.ts';
import { readResults, resultsTable } from './results-table.ts';
import { startTime } from './start-time.ts';
import { measureTelemetry } from './telemetry.ts';
import type { RuntimeKind } from './subjects/subjects.ts';

process.once('exit', useOwnHome());
if (process.argv[2] === 'pairs') {
  await printPairs(process.argv.slice(3));
  process.exit();
}
if (process.argv[2] === 'find') {
  await printFind(process.argv.slice(3));
  process.exit();
}
if (process.argv[2] === 'results') {
  const half = process.argv[3] ?? 'frozen';
  console.log(resultsTable(readResults().filter(result => result.half === half)));
  process.exit();
}
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const speed = values.quick ? { rounds: 3, durationMs: 300 } : { rounds: 7, durationMs: 700 };
const starts = values.quick ? 3 : 7;
// Exit on signals, as exiting stops all child processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const progress = (text: string) => console.error(text);

if (positionals[0] === 'against') {
  const { lines, wrong } = await compareWithCommit(
    {
      commit: positionals[1] ?? 'HEAD',
      ...(values.quick ? speed : { rounds: 15, durationMs: 700 }),
      runtimes:
        ((await probeEngine()) ?? (await findImage())) ? ['process'] : ['process', 'docker'],
    },
    progress,
  );
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'access' || positionals[0] === 'pins') {
  const measureOne = positionals[0] === 'access' ? measureAccess : measurePins;
  const { lines, wrong } = await measureOne(
    values.quick ? { processes: 1, rounds: 10 } : { processes: 3, rounds: 32 },
    progress,
  );
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'agents') {
  const missing = await probeEngine();
  if (missing) throw new Error(missing);
  const rounds = values.quick
    ? { idle: 10, stopped: 3, agents: 10, heaps: 1 }
    : { idle: 50, stopped: 15, agents: 50, heaps: 3 };
  const { lines, wrong } = await measureAgents(rounds, progress);
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'documentation') {
  const { lines, wrong } = await measureDocumentation(values.quick ? 3 : 15, progress);
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'egress') {
  const missing = (await probeEngine()) ?? (await findEgressImages());
  if (missing) throw new Error(missing);
  const { lines, wrong } = await measureEgress(values.quick ? 10 : 60, progress);
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'prompts') {
  const withRedis = (await probeEngine()) === undefined;
  const { lines, wrong } = await measurePrompts({ quick: values.quick, withRedis });
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
if (positionals[0] === 'telemetry') {
  const { lines, wrong } = await measureTelemetry(speed);
  for (const line of lines) console.log(line);
  process.exit(wrong === 0 ? 0 : 1);
}
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
const prompts = await measurePrompts({
  quick: values.quick,
  withRedis: noContainers === undefined,
});
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
console.log('');
for (const line of prompts.lines) console.log(line);

const wrong = [
  prompts,
  ...comparisons.flatMap(({ figures }) => [...figures.values()]),
  ...growth,
  list,
].reduce((sum, seen) => sum + seen.wrong, 0);
console.log(`\nwrong or mixed replies: ${wrong}`);
process.exitCode = wrong === 0 ? 0 : 1;
