import { type Cost, type CostOptions, measureCost } from './paired-cost.ts';

/** Compares a hub that pins the definitions of its tools, and hides changed ones, with one that does not. */
export async function measurePins(options: CostOptions, progress: (text: string) => void) {
  const variant = (pinning: 'off' | 'hide') => ({ config: { pinning, audit: { enabled: false } } });
  return await measureCost(
    { off: variant('off'), on: variant('hide') },
    options,
    linesOf,
    progress,
  );
}

/** Definitions are compared when lists are read, so calls may differ by no more than the control. */
const linesOf = (concurrency: number, { cpu, p50 }: Cost): readonly string[] => [
  `${verdict(cpu.added <= cpu.spread)} CPU per call, ${concurrency} at once, pinned tools (at most the control): ${cpu.text}`,
  `${verdict(p50.added <= p50.spread)} p50, ${concurrency} at once (at most the control): ${p50.text}`,
];

const verdict = (isMet: boolean): string => (isMet ? 'ok    ' : 'MISSED');
