import type { Metrics } from '#telemetry';
import { chart } from './chart.ts';
import type { PageNeeds } from './dashboard-types.ts';
import { count, duration, percent } from './format.ts';
import { type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { empty, fragment } from './pieces.ts';

type Slice = ReturnType<Metrics['snapshot']>['recent'][number];
type HitRate = { readonly name: string; readonly hits: number; readonly misses: number };

const sliceMs = 10_000;
/** Number of slices on the charts: ten minutes. */
const maxSlices = 60;

/** Calls, their durations and cache hit rates, which reload themselves. */
export async function statsPartial({ telemetry, prompts }: PageNeeds): Promise<Html> {
  const slices = telemetry.metrics.snapshot().recent.slice(-maxSlices);
  const since = `${duration(slices.length * sliceMs)} ago`;
  return fragment(
    { id: 'stats', from: '/dashboard/stats-partial', event: 'stats' },
    html`<section aria-labelledby="charts"><h2 id="charts">Calls</h2><div class="charts">
${callChart(slices, since)}${latencyChart(slices, since)}${hits(await hitRatesOf(prompts))}</div></section>`,
  );
}

async function hitRatesOf(prompts: PageNeeds['prompts']): Promise<readonly HitRate[]> {
  const loaded = await prompts?.health?.loaded()?.catch(() => undefined); // The failed start is logged.
  if (!loaded) return [];
  const { exact, semantic } = await loaded.enhancer.stats();
  const equal = { name: 'Equal prompts', hits: exact.hits + exact.joined, misses: exact.misses };
  if (!semantic) return [equal];
  return [equal, { name: 'Similar prompts', hits: semantic.hits, misses: semantic.misses }];
}

function callChart(slices: readonly Slice[], since: string): Html {
  const calls = slices.reduce((sum, slice) => sum + slice.calls, 0);
  const errors = slices.reduce((sum, slice) => sum + slice.errors, 0);
  return chart({
    title: 'Calls per 10 s',
    summary: `${count(calls)} calls and ${count(errors)} failures since ${since}`,
    kind: 'bars',
    series: [
      { name: 'calls', tone: 'first', values: slices.map(slice => slice.calls) },
      { name: 'failed', tone: 'third', values: slices.map(slice => slice.errors) },
    ],
    format: value => (value < 1 && value > 0 ? '' : count(value)),
    since,
  });
}

function latencyChart(slices: readonly Slice[], since: string): Html {
  const last = slices.findLast(({ p50Ms }) => p50Ms !== undefined);
  return chart({
    title: 'Call duration',
    summary:
      last?.p50Ms === undefined
        ? `no calls since ${since}`
        : `lately ${duration(last.p50Ms)} at the median, ${duration(last.p99Ms ?? last.p50Ms)} at the 99th percentile`,
    kind: 'lines',
    series: [
      { name: 'p50', tone: 'first', values: slices.map(({ p50Ms }) => p50Ms) },
      { name: 'p99', tone: 'second', values: slices.map(({ p99Ms }) => p99Ms) },
    ],
    format: value => (value === 0 ? '0' : short(value)),
    since,
  });
}

const short = (milliseconds: number): string =>
  milliseconds < 1000 ? `${Number(milliseconds.toPrecision(2))} ms` : `${milliseconds / 1000} s`;

function hits(rates: readonly HitRate[]): Html {
  const content =
    rates.length === 0
      ? empty('No prompts yet.', html`<p>Hit rates appear once prompts were improved.</p>`)
      : html`<ul class="meters">${rates.map(meter)}</ul>`;
  return html`<figure class="chart"><figcaption>Cache hits<a id="cache-details" href="${paths.caches}">Details</a></figcaption>${content}</figure>`;
}

export function meter({ name, hits: found, misses }: HitRate): Html {
  const asked = found + misses;
  const share = asked === 0 ? 0 : found / asked;
  const told = asked === 0 ? 'not used yet' : `${percent(share)} of ${count(asked)}`;
  return html`<li><span>${name}</span><span class="note">${told}</span><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6"/><rect class="fill" width="${Math.round(share * 1000) / 10}" height="6"/></svg></li>`;
}
