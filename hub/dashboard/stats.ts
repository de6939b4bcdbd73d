import type { Metrics } from '#telemetry';
import { count, duration, percent } from './format.ts';
import { type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { empty, fragment } from './pieces.ts';

type Slice = ReturnType<Metrics['snapshot']>['recent'][number];
type CacheHits = {
  readonly exact: Readonly<Record<'hits' | 'joined' | 'misses', number>>;
  readonly semantic: Readonly<Record<'hits' | 'misses', number>> | undefined;
};
type LoadedPrompts = { readonly enhancer: { readonly stats: () => Promise<CacheHits> } };
type Needs = {
  readonly telemetry: {
    readonly metrics: {
      readonly snapshot: () => Readonly<Record<'recent' | 'day', readonly Slice[]>>;
    };
  };
  /** Enhancer of prompts, for its statistics. `loaded` returns undefined until the enhancer is used. */
  readonly prompts?: {
    readonly health?: { readonly loaded: () => Promise<LoadedPrompts> | undefined };
  };
};
type HitRate = { readonly name: string; readonly hits: number; readonly misses: number };

/** Time ranges of the charts: name in the query, label, source of the slices, their number, and their length in ms. */
const ranges = [
  ['', '10 min', 'recent', 60, 10_000],
  ['30m', '30 min', 'recent', 180, 10_000],
  ['24h', '24 h', 'day', 288, 300_000],
] as const;

type Range = {
  readonly slices: readonly Slice[];
  readonly sliceMs: number;
  readonly since: string;
};

/**
 * Shows charts of calls, durations and cache hit rates, which reload themselves. `wanted` is the name of a time range.
 */
export async function statsPartial({ telemetry, prompts }: Needs, wanted = ''): Promise<Html> {
  const [name, , source, maxSlices, sliceMs] = ranges.find(([one]) => one === wanted) ?? ranges[0];
  const slices = telemetry.metrics.snapshot()[source].slice(-maxSlices);
  const since = `${agoOf(slices.length * sliceMs)} ago`;
  const range = { slices, sliceMs, since };
  const content = html`<section aria-labelledby="charts"><div class="heading"><h2 id="charts">Calls</h2><div class="chips" role="group" aria-label="Time range"><ul>${ranges.map(([one, text]) => html`<li><a class="chip" id="charts-${text.replace(' ', '-')}"${one === name && html` aria-current="true"`} href="${withQuery(paths.overview, { range: one })}#charts">${text}</a></li>`)}</ul></div></div><div class="charts">
${callChart(range)}${latencyChart(range)}${hits(await hitRatesOf(prompts))}</div></section>`;
  return fragment('stats', withQuery('/dashboard/stats-partial', { range: name }), content);
}

async function hitRatesOf(prompts: Needs['prompts']): Promise<readonly HitRate[]> {
  const loaded = await prompts?.health?.loaded()?.catch(() => undefined); // The hub has logged the failed start.
  if (!loaded) return [];
  const { exact, semantic } = await loaded.enhancer.stats();
  const equal = { name: 'Equal prompts', hits: exact.hits + exact.joined, misses: exact.misses };
  if (!semantic) return [equal];
  return [equal, { name: 'Similar prompts', hits: semantic.hits, misses: semantic.misses }];
}

/** Formats the length of a slice, such as `10 s` or `5 min`. */
const shortly = (ms: number) => (ms < 60_000 ? `${ms / 1_000} s` : duration(ms));
const agoOf = (ms: number) => (ms === 86_400_000 ? '24 h' : duration(ms));

function callChart({ slices, sliceMs, since }: Range): Html {
  const calls = slices.reduce((sum, slice) => sum + slice.calls, 0);
  const errors = slices.reduce((sum, slice) => sum + slice.errors, 0);
  return chart({
    title: `Calls per ${shortly(sliceMs)}`,
    summary: `${count(calls)} calls and ${count(errors)} failures since ${since}`,
    kind: 'bars',
    series: [
      { name: 'calls', tone: 'first', values: slices.map(slice => slice.calls) },
      { name: 'failed', tone: 'third', values: slices.map(slice => slice.errors) },
    ],
    // Numbers of calls are whole: a tick at a fraction gets no label.
    format: value => (Number.isInteger(value) ? count(value) : ''),
    since,
    sliceMs,
  });
}

function latencyChart({ slices, sliceMs, since }: Range): Html {
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
    sliceMs,
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

type Series = {
  readonly name: string;
  readonly tone: 'first' | 'second' | 'third';
  /** One value per time slot, oldest first; undefined for a slot without data. */
  readonly values: readonly (number | undefined)[];
};

type Chart = Readonly<Record<'title' | 'summary' | 'since', string>> & {
  readonly kind: 'lines' | 'bars';
  readonly series: readonly Series[];
  readonly sliceMs: number;
  readonly format: (value: number) => string;
};

/** Minimum of the scale's upper end, so that small values do not fill the chart. */
const minLimit = 1;
const width = 400;
const height = 132;
const left = 52;
const right = 6;
const top = 8;
const bottom = 22;

/** Draws a chart as SVG without inline styles. `since` is the age of the oldest value, in words. */
function chart({ title, summary, since, kind, series, sliceMs, format }: Chart): Html {
  const values = series.flatMap(one => one.values.map(value => value ?? 0));
  const limit = niceLimit(Math.max(minLimit, ...values));
  const yOf = (value: number) => round(height - bottom - (value / limit) * (height - top - bottom));
  const ruled = [0, 0.5, 1].map(share => {
    const y = yOf(limit * share);
    return html`<line class="rule" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}"/><text x="${left - 6}" y="${y + 3.5}" text-anchor="end">${format(limit * share)}</text>`;
  });
  const drawn = series.map(one => (kind === 'bars' ? bars(one, yOf) : lines(one, yOf)));
  const key =
    series.length > 1 &&
    html`<ul class="key">${series.map(({ name, tone }) => html`<li class="${tone}">${name}</li>`)}</ul>`;
  return html`<figure class="chart"><figcaption>${title}<output class="note"></output>${key}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}: ${summary}">${ruled}${drawn}${slots(series, sliceMs, format)}<text x="${left}" y="${height - 5}">${since}</text><text x="${width - right}" y="${height - 5}" text-anchor="end">now</text></svg></figure>`;
}

/** Draws an area over each time slot with data, with its values as a tooltip. */
function slots(series: readonly Series[], sliceMs: number, format: Chart['format']): Html {
  const [first] = series;
  const slotCount = first?.values.length ?? 0;
  const step = (width - left - right) / Math.max(1, slotCount);
  const shown = Array.from({ length: slotCount }, (_, index) => {
    const values = series.map(({ name, values: all }) => [name, all[index]] as const);
    if (values.every(([, value]) => value === undefined || value === 0)) return undefined;
    const ageMs = (slotCount - 1 - index) * sliceMs;
    const told = values
      .map(([name, value]) => `${name} ${value === undefined ? 'none' : format(value) || '0'}`)
      .join(', ');
    return html`<rect x="${round(left + index * step)}" y="${top}" width="${round(step)}" height="${height - top - bottom}"><title>${ageMs === 0 ? 'now' : `${duration(ageMs)} ago`}: ${told}</title></rect>`;
  });
  return html`<g class="slots">${shown}</g>`;
}

function bars({ tone, values }: Series, yOf: (value: number) => number): Html {
  const step = (width - left - right) / Math.max(1, values.length);
  const floor = yOf(0);
  return html`<g class="bars ${tone}">${values.map((value, index) => {
    if (value === undefined || value === 0) return undefined;
    const y = Math.min(yOf(value), floor - 1);
    return html`<rect x="${round(left + index * step + step * 0.1)}" y="${y}" width="${round(step * 0.8)}" height="${round(floor - y)}"/>`;
  })}</g>`;
}

/** Draws a line. A value between two missing ones becomes a dot. */
function lines({ tone, values }: Series, yOf: (value: number) => number): Html {
  const step = (width - left - right) / Math.max(1, values.length);
  let path = '';
  let isDown = false;
  const dots: Html[] = [];
  for (const [index, value] of values.entries()) {
    if (value !== undefined) {
      const x = round(left + (index + 0.5) * step);
      const y = yOf(value);
      path += `${isDown ? 'L' : 'M'}${x} ${y}`;
      if (!isDown && values[index + 1] === undefined)
        dots.push(html`<circle cx="${x}" cy="${y}" r="1.8"/>`);
    }
    isDown = value !== undefined;
  }
  return html`<g class="lines ${tone}"><path d="${path}"/>${dots}</g>`;
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Returns the smallest number that is at least `value` and 1, 2 or 5 times a power of ten. */
function niceLimit(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, Number.MIN_VALUE)));
  const factor = [1, 2, 5, 10].find(one => one * power >= value) ?? 10;
  return factor * power;
}
