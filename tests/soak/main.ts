// npm run soak [-- --seconds 600 --seed 1]: runs the churn of a hub for ten minutes, and reports leaks. With
// PROBE_SNAPSHOTS=folder the hub writes heap snapshots there, before and after.
import { parseArgs } from 'node:util';
import { useOwnHome } from '#helpers/own-home';
import { churn, leftOver } from './churn.ts';

process.once('exit', useOwnHome());
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const seed = Number(values.seed);
const seconds = Number(values.seconds);
const say = (line: string) => void process.stdout.write(`${line}\n`);
say(`churn for ${seconds} s, --seed ${seed}`);
const churned = await churn({
  seconds,
  leastCalls: 0,
  seed,
  servers: 20,
  clients: 30,
  report: line => say(`  ${line}`),
});
const { before, after, calls, unexpected, done } = churned;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
say(`${calls} calls, ${unexpected.length} things went otherwise than they had to`);
say(`done: ${JSON.stringify(done)}`);
say(`descriptors: ${before.descriptors.length} before, ${after.descriptors.length} after`);
say(`heap: ${megabytes(before.heap)} before, ${megabytes(after.heap)} after`);
say(`resident: ${megabytes(before.rss)} before, ${megabytes(after.rss)} after`);
const problems = [...unexpected, ...leftOver(churned)];
for (const problem of problems) say(`  ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
