import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { textOf } from '#dashboard';
import { meter, statsPartial } from '../../hub/dashboard/stats.ts';

type Needs = Parameters<typeof statsPartial>[0];
type Slice = ReturnType<Needs['telemetry']['metrics']['snapshot']>['recent'][number];

const quiet: Slice = { at: 0, calls: 0, errors: 0, p50Ms: undefined, p99Ms: undefined };
const sliceOf = (calls: number, p50Ms?: number, p99Ms = p50Ms): Slice => ({
  ...quiet,
  calls,
  p50Ms,
  p99Ms,
});

async function shown(recent: readonly Slice[], prompts?: Needs['prompts']) {
  const metrics = { snapshot: () => ({ recent, day: [] }) };
  return textOf(await statsPartial({ telemetry: { metrics }, ...(prompts && { prompts }) }));
}

/** Returns the labels of a chart's scale, from bottom to top. */
const scaleOf = (text: string, title: string) => {
  const [, svg = ''] = new RegExp(`aria-label="${title}([^]*?)</svg>`).exec(text) ?? [];
  return Array.from(svg.matchAll(/text-anchor="end">([^<]*)</g), ([, label]) => label).slice(0, 3);
};
const attributesOf = (text: string, pattern: RegExp) =>
  Array.from(text.matchAll(pattern), ([, value]) => Number(value));

describe('the chart of calls', () => {
  test('counts those of the last ten minutes', async () => {
    const recent = [
      { ...quiet, calls: 1_000, errors: 1_000 },
      ...Array.from({ length: 60 }, () => ({ ...quiet, calls: 2, errors: 1 })),
    ];
    assert.match(
      await shown(recent),
      /aria-label="Calls per 10 s: 120 calls and 60 failures since 10 min ago"/,
    );
  });

  test.each([
    [0, ['0', '', '1']],
    [1, ['0', '', '1']],
    [2, ['0', '1', '2']],
    [3, ['0', '', '5']],
    [7, ['0', '5', '10']],
    [11, ['0', '10', '20']],
    [21, ['0', '25', '50']],
    [1_001, ['0', '1,000', '2,000']],
  ] as const)('with at most %d calls in a slot has the scale %j', async (calls, labels) => {
    assert.deepEqual(scaleOf(await shown([quiet, sliceOf(calls)]), 'Calls per 10 s'), labels);
  });

  test('has no bar for a slot without calls, and a visible one for few calls among many', async () => {
    const text = await shown([quiet, sliceOf(1), sliceOf(1_000), quiet]);
    const [, bars = ''] = /<g class="bars first">([^]*?)<\/g>/.exec(text) ?? [];
    assert.deepEqual(attributesOf(bars, / height="([\d.]+)"/g), [1, 102]);
    assert.deepEqual(attributesOf(bars, / x="([\d.]+)"/g), [146.1, 231.6]);
    assert.match(text, /<g class="bars third"><\/g>/);
  });

  test('shows the values of each slot with calls, and their age', async () => {
    const text = await shown([{ ...sliceOf(7), errors: 2 }, quiet, sliceOf(3)]);
    const [, calls = ''] = /Calls per 10 s:[^]*?<g class="slots">([^]*?)<\/g>/.exec(text) ?? [];
    const told = Array.from(calls.matchAll(/<title>([^<]*)</g), ([, one]) => one);
    assert.deepEqual(told, ['20 s ago: calls 7, failed 2', 'now: calls 3, failed 0']);
  });

  test('has a longer range, which its updates keep', async () => {
    const recent = Array.from({ length: 200 }, () => sliceOf(1));
    const metrics = { snapshot: () => ({ recent, day: [] }) };
    const text = textOf(await statsPartial({ telemetry: { metrics } }, '30m'));
    assert.match(text, /180 calls and 0 failures since 30 min ago/);
    assert.match(text, /hx-get="\/dashboard\/stats-partial\?range=30m"/);
    assert.match(text, /aria-current="true" href="\/dashboard\?range=30m#charts"/);
  });

  test('has a range of a day, in slices of five minutes', async () => {
    const day = [...Array.from({ length: 287 }, () => sliceOf(1)), sliceOf(5)];
    const metrics = { snapshot: () => ({ recent: [], day }) };
    const text = textOf(await statsPartial({ telemetry: { metrics } }, '24h'));
    assert.match(text, /Calls per 5 min: 292 calls and 0 failures since 24 h ago/);
    assert.match(
      text,
      /<title>23 h 55 min ago: calls 1, failed 0<[^]*<title>now: calls 5, failed 0</,
    );
    assert.match(text, /hx-get="\/dashboard\/stats-partial\?range=24h"/);
  });

  test('is drawn without errors before anything was measured', async () => {
    const text = await shown([]);
    assert.match(text, /0 calls and 0 failures/);
    assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  });
});

describe('the chart of durations', () => {
  const lineOf = (text: string) => /<g class="lines first">([^]*?)<\/g>/.exec(text)?.[1] ?? '';

  test('shows the latest duration as text', async () => {
    const text = await shown([sliceOf(1, 50, 90), sliceOf(1, 4, 8), quiet]);
    assert.match(text, /"Call duration: lately 4\.0 ms at the median, 8\.0 ms at the 99th/);
    assert.match(await shown([quiet]), /"Call duration: no calls since 10 s ago"/);
    assert.match(
      await shown([{ ...quiet, p50Ms: 4 }]),
      /4\.0 ms at the median, 4\.0 ms at the 99th/,
    );
  });

  test('has a scale in milliseconds, then in seconds', async () => {
    const rows = [
      [0.3, ['0', '0.5 ms', '1 ms']],
      [40, ['0', '25 ms', '50 ms']],
      [900, ['0', '500 ms', '1 s']],
      [4_000, ['0', '2.5 s', '5 s']],
    ] as const;
    for (const [p50Ms, labels] of rows)
      assert.deepEqual(scaleOf(await shown([sliceOf(1, p50Ms)]), 'Call duration'), labels);
  });

  test('breaks its line where there was no call, and has a dot for a single value', async () => {
    const line = lineOf(await shown([sliceOf(1, 5), quiet, sliceOf(1, 5), sliceOf(1, 10), quiet]));
    const [, path = ''] = /path d="([^"]*)"/.exec(line) ?? [];
    assert.equal(path.replaceAll(/[\d. ]+/g, '.'), 'M.M.L.');
    assert.equal(attributesOf(line, /<circle cx="([\d.]+)"/g).length, 1);
  });

  test('ends in a dot if only the last value is single', async () => {
    assert.match(lineOf(await shown([quiet, sliceOf(1, 5)])), /<circle/);
  });
});

describe('the hit rates of the caches', () => {
  const exact = { hits: 1, joined: 2, misses: 3 };
  const health = (
    stats: () => Promise<{
      exact: typeof exact;
      semantic: { hits: number; misses: number } | undefined;
    }>,
  ) => ({
    health: { loaded: async () => ({ enhancer: { stats } }) },
  });

  test('count calls that waited for the same prompt as hits', async () => {
    const text = await shown(
      [],
      health(async () => ({ exact, semantic: undefined })),
    );
    assert.match(text, /Equal prompts<\/span><span class="note">50 % of 6</);
    assert.doesNotMatch(text, /Similar prompts/);
  });

  test('have one for similar prompts if a rule uses that cache', async () => {
    const semantic = { hits: 1, misses: 999 };
    const text = await shown(
      [],
      health(async () => ({ exact, semantic })),
    );
    assert.match(text, /Similar prompts<\/span><span class="note">0\.1 % of 1,000</);
  });

  test.each<readonly [what: string, prompts: Needs['prompts']]>([
    ['improves no prompts', undefined],
    ['tells nothing of them', {}],
    ['has improved none yet', { health: { loaded: () => undefined } }],
    ['failed to load them', { health: { loaded: () => Promise.reject(new Error('no')) } }],
  ])('are absent if the hub %s', async (_what, prompts) => {
    assert.match(await shown([], prompts), /No prompts yet\./);
  });

  test('of a cache that was never used are not shown as 0', () => {
    assert.match(textOf(meter({ name: 'a', hits: 0, misses: 0 })), /not used yet[^]*width="0"/);
    assert.match(textOf(meter({ name: 'a', hits: 0, misses: 1 })), /0 % of 1/);
  });
});
