import { createHash, randomBytes } from 'node:crypto';
import { type Cost, type CostOptions, measureCost } from './paired-cost.ts';

/** Limits of what access control may add to a call: percent of CPU time, and microseconds of latency. */
const allowedPercent = 8;
const allowedUs = 20;

/** Policy rules that match no call of the benchmark, so that the hub evaluates all of them. */
const rules = Array.from({ length: 10 }, (_, index) => ({
  clients: [`client-${index}`, `other-${index}-*`],
  tools: [`*_delete_${index}*`],
  action: 'deny',
}));

/** Compares a hub with named clients, ten policy rules and the audit log with one without them. */
export async function measureAccess(options: CostOptions, progress: (text: string) => void) {
  const token = randomBytes(32).toString('base64url');
  const digest = createHash('sha256').update(token).digest('hex');
  const off = { config: { audit: { enabled: false } } };
  const on = {
    config: {
      clients: { bench: { token: `sha256:${digest}` } },
      policy: rules,
      audit: { enabled: true },
    },
    token,
  };
  return await measureCost({ off, on }, options, linesOf, progress);
}

function linesOf(concurrency: number, { cpu, p50, off }: Cost): readonly string[] {
  // The limit of latency holds for one call at a time only.
  const isAlone = concurrency === 1;
  return [
    `${verdict(cpu.added <= allowedPercent)} CPU per call, ${concurrency} at once, clients, ten rules and audit (at most +${allowedPercent} %): ${cpu.text}`,
    `${isAlone ? verdict(p50.added <= allowedUs) : '      '} p50, ${concurrency} at once${isAlone ? ` (at most +${allowedUs} us)` : ''}: ${p50.text}`,
    `       CPU per call, ${concurrency} at once, off against a process that was never on: ${off}`,
  ];
}

const verdict = (isMet: boolean): string => (isMet ? 'ok    ' : 'MISSED');
