/** A family of metrics as it stands at one moment. */
export type Family = {
  readonly name: string;
  /** One sentence. */
  readonly help: string;
} & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | { readonly type: 'histogram'; readonly series: readonly Histogram[] }
);

export type Labels = Readonly<Record<string, string>>;
export type Sample = { readonly labels: Labels; readonly value: number };

export type Histogram = {
  readonly labels: Labels;
  /** The upper bounds of the buckets, ascending, without the last, which has none. */
  readonly bounds: readonly number[];
  /** How many observations are in each bucket alone, and in the one above all bounds at the end. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
};

/** The content type of what `exposition` gives. */
export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

/** Families in the text format of Prometheus, version 0.0.4. Families without a sample are left out. */
export function exposition(families: readonly Family[]): string {
  return families
    .map(family => {
      const lines =
        family.type === 'histogram'
          ? family.series.flatMap(series => histogramLines(family.name, series))
          : family.samples.map(({ labels, value }) => line(family.name, labels, value));
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
    return line(`${name}_bucket`, { ...labels, le: numberText(bound) }, count);
  });
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
}

function line(name: string, labels: Labels, value: number): string {
  const inside = Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(',');
  return `${name}${inside && `{${inside}}`} ${numberText(value)}\n`;
}

const escaped = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** Numbers as Go reads them. */
function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
