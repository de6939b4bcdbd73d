import { containerEntry } from './containers.ts';
import { type Load, startLoad } from './load/load.ts';
import { median } from './median.ts';
import { startHub } from './subjects/hub.ts';
import { type RuntimeKind, serverFile } from './subjects/subjects.ts';

/** Cost of each byte of a large result, by the size of the result, for one call at a time. */
export type Growth = {
  readonly runtime: RuntimeKind;
  /** Cost of a byte in ns by result size: nearly constant if the cost is linear, growing if not. */
  readonly nsPerByte: ReadonlyMap<number, number>;
  readonly wrong: number;
};

export const largeSizes = [1_000_000, 5_000_000, 10_000_000];

/** Measures calls through the hub with results of 1, 5 and 10 MB, in turns. */
export async function measureGrowth(
  runtime: RuntimeKind,
  { rounds, durationMs }: { readonly rounds: number; readonly durationMs: number },
): Promise<Growth> {
  const entry =
    runtime === 'docker'
      ? containerEntry(serverFile)
      : { command: process.execPath, args: [serverFile] };
  await using hub = await startHub('agenthub-bench-growth', {
    bench: { ...entry, runtime, auto_start: true },
  });
  await using load: Load = await startLoad({
    kind: 'mcp',
    url: `${hub.url}/mcp`,
    tool: 'bench_fill',
  });
  const seen = new Map<number, number[]>(largeSizes.map(bytes => [bytes, []]));
  let wrong = 0;
  // The first round warms up the compiler and the heap.
  for (let round = 0; round <= rounds; round++)
    for (const bytes of largeSizes) {
      const outcome = await load.run({ concurrency: 1, bytes, durationMs });
      wrong += outcome.wrong;
      if (round > 0) seen.get(bytes)?.push((outcome.p50Ms * 1e6) / bytes);
    }
  const nsPerByte = new Map([...seen].map(([bytes, all]) => [bytes, median(all) ?? 0]));
  return { runtime, nsPerByte, wrong };
}
