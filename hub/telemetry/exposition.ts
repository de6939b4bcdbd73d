/** A metric with its current samples. */
export type MetricFamily = {
  readonly name: string;
  /** Description in one sentence, shown as `# HELP`. */
  readonly help: string;
} & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | { readonly type: 'histogram'; readonly series: readonly Histogram[] }
);

export type MetricLabels = Readonly<Record<string, string>>;
export type Sample = { readonly labels: MetricLabels; readonly value: number };

type Histogram = {
  readonly labels: MetricLabels;
  /** Upper bounds of the buckets, ascending, without that of the last bucket, which has none. */
  readonly bounds: readonly number[];
  /** Number of observations in each bucket, not cumulative. The last one counts values above all bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
};

/** Content type of the text that `exposition` returns. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in the Prometheus text format 0.0.4. Omits metrics without samples. */
export function exposition(families: readonly MetricFamily[]): string {
  return families
    .map(family => {
      const lines =
        family.type === 'histogram'
          ? family.series.flatMap(series => histogramLines(family.name, series))
          : family.samples.map(({ labels, value }) => sampleLine(family.name, labels, value));
      if (lines.length === 0) return '';
      const help = family.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
      return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n${lines.join('')}`;
    })
    .join('');
}

function histogramLines(name: string, { labels, bounds, counts, sum }: Histogram): string[] {
  let count = 0;
  const buckets = [...bounds, Infinity].map((bound, index) => {
    count += counts[index] ?? 0;
    return sampleLine(`${name}_bucket`, { ...labels, le: formatNumber(bound) }, count);
  });
  return [
    ...buckets,
    sampleLine(`${name}_sum`, labels, sum),
    sampleLine(`${name}_count`, labels, count),
  ];
}

function sampleLine(name: string, labels: MetricLabels, value: number): string {
  const inside = Object.entries(labels)
    .map(([label, text]) => `${label}="${escapeLabel(text)}"`)
    .join(',');
  return `${name}${inside && `{${inside}}`} ${formatNumber(value)}\n`;
}

const escapeLabel = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** Formats a number for Go's ParseFloat, which Prometheus uses. */
function formatNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
