import assert from 'node:assert/strict';

/** Metric family, as parsed from the text. */
type Parsed = {
  readonly type: string;
  readonly help: string;
  /** Values by sample name and labels, verbatim, in the order of the text. */
  readonly samples: ReadonlyMap<string, number>;
};

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
const sampleLine = new RegExp(
  String.raw`^(${metricName})(?:\{(${label}(?:,${label})*)?\})? (NaN|[+-]Inf|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$`,
);

/**
 * Parses the Prometheus text format 0.0.4 strictly. Fails with the line that violates the format.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function parseExposition(text: string): ReadonlyMap<string, Parsed> {
  assert.ok(text.endsWith('\n'), 'the last line ends with a line break');
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  let current: string | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = new RegExp(String.raw`^# (HELP|TYPE) (${metricName}) (.*)$`).exec(line);
    if (comment) {
      const [, kind, name = '', rest = ''] = comment;
      if (kind === 'HELP') {
        assert.ok(!families.has(name), `${name} is told of in one place: ${line}`);
        assert.match(rest, /^(?:[^\\]|\\[\\n])*$/, `escapes are known: ${line}`);
        families.set(name, { type: '', help: rest, samples: new Map() });
      } else {
        const family = families.get(name);
        assert.ok(family && family.type === '' && current === name, `TYPE follows HELP: ${line}`);
        assert.match(rest, /^(counter|gauge|histogram|summary|untyped)$/, line);
        family.type = rest;
      }
      current = name;
      continue;
    }
    const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? assert.fail(line);
    const family = families.get(current ?? '');
    assert.ok(family && current !== undefined && family.type !== '', `has a family: ${line}`);
    const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    assert.ok(
      suffixes.some(suffix => name === `${current}${suffix}`),
      `is of the family before it: ${line}`,
    );
    const names = labels === '' ? [] : [...labels.matchAll(new RegExp(label, 'g'))].map(String);
    const keys = names.map(one => one.slice(0, one.indexOf('=')));
    assert.equal(new Set(keys).size, keys.length, `no label stands twice: ${line}`);
    const key = `${name}{${names.join(',')}}`;
    assert.ok(!family.samples.has(key), `no sample stands twice: ${line}`);
    family.samples.set(key, Number(value.replace('Inf', 'Infinity')));
  }
  for (const [name, family] of families) {
    assert.notEqual(family.type, '', `${name} has a type`);
    assert.ok(family.samples.size > 0, `${name} has samples`);
    if (family.type === 'histogram') checkHistogram(name, family.samples);
    if (family.type === 'counter') {
      assert.match(name, /_total$/, 'counters are named so');
      for (const value of family.samples.values()) assert.ok(value >= 0, `${name} is ${value}`);
    }
  }
  return families;
}

/** Checks that the bounds and counts of each series ascend, up to +Inf, whose count is the total. */
function checkHistogram(name: string, samples: ReadonlyMap<string, number>): void {
  const series = new Map<string, [bound: number, count: number][]>();
  for (const [key, count] of samples) {
    const bound = /[{,]le="([^"]*)"/.exec(key)?.[1];
    if (bound === undefined) continue;
    const own = key.replace(/,?le="[^"]*"/, '').replace('_bucket', '');
    const buckets = series.get(own) ?? [];
    buckets.push([Number(bound.replace('Inf', 'Infinity')), count]);
    series.set(own, buckets);
  }
  assert.ok(series.size > 0, `${name} has buckets`);
  for (const [own, buckets] of series) {
    const labels = own.slice(own.indexOf('{'));
    for (const [index, [bound, count]] of buckets.entries()) {
      const [lower, below] = buckets[index - 1] ?? [-Infinity, 0];
      assert.ok(bound > lower && count >= below, `${own}: le=${bound} has ${count} after ${below}`);
    }
    const [last, all] = buckets.at(-1) ?? [];
    assert.equal(last, Infinity, `${own} ends with +Inf`);
    assert.equal(samples.get(`${name}_count${labels}`), all, `${own}: the count is that of +Inf`);
    assert.ok((samples.get(`${name}_sum${labels}`) ?? -1) >= 0, `${own} has a sum`);
  }
}
