import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type MetricFamily, exposition } from '#telemetry';
import { parseExposition } from './exposition-text.ts';

test('families are written in the format of Prometheus', () => {
  const families: readonly MetricFamily[] = [
    {
      name: 'calls_total',
      help: 'Calls.',
      type: 'counter',
      samples: [
        { labels: { server: 'notes', method: 'tools/call' }, value: 3 },
        { labels: {}, value: 0.5 },
      ],
    },
    { name: 'up', help: 'One line\nand \\ another.', type: 'gauge', samples: [] },
    {
      name: 'seconds',
      help: 'Times.',
      type: 'histogram',
      series: [{ labels: { server: '' }, bounds: [0.000_025, 1], counts: [1, 0, 2], sum: 7.5 }],
    },
  ];
  assert.equal(
    exposition(families),
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{server="notes",method="tools/call"} 3
calls_total 0.5
# HELP seconds Times.
# TYPE seconds histogram
seconds_bucket{server="",le="0.000025"} 1
seconds_bucket{server="",le="1"} 1
seconds_bucket{server="",le="+Inf"} 3
seconds_sum{server=""} 7.5
seconds_count{server=""} 3
`,
  );
  parseExposition(exposition(families));
});

test('characters that would end a line or a label early are escaped', () => {
  const text = exposition([
    {
      name: 'up',
      help: 'One line\nand \\ another.',
      type: 'gauge',
      samples: [{ labels: { server: 'a"b\\c\nd' }, value: 1 }],
    },
  ]);
  assert.equal(
    text,
    '# HELP up One line\\nand \\\\ another.\n# TYPE up gauge\nup{server="a\\"b\\\\c\\nd"} 1\n',
  );
  parseExposition(text);
});

test.for([
  ['up 1', 'no line break at the end'],
  ['up 1\n', 'no family'],
  ['# HELP up Up.\nup 1\n', 'no type'],
  ['# HELP up Up.\n# TYPE up gauge\nup{a="1",a="2"} 1\n', 'a label twice'],
  ['# HELP up Up.\n# TYPE up gauge\nup 1\nup 2\n', 'a sample twice'],
  ['# HELP up Up.\n# TYPE up gauge\nup{a="b"c"} 1\n', 'a quote'],
  ['# HELP up Up.\n# TYPE up gauge\nup one\n', 'no number'],
  ['# HELP up Up.\n# TYPE up gauge\ndown 1\n', 'another family'],
  ['# HELP up Up.\n# TYPE up gauge\n', 'no sample'],
  ['# HELP up Up.\n# TYPE up counter\nup 1\n', 'a counter that is not called one'],
  [
    '# HELP s S.\n# TYPE s histogram\ns_bucket{le="1"} 2\ns_bucket{le="+Inf"} 1\ns_sum 1\ns_count 1\n',
    'buckets that fall',
  ],
  ['# HELP s S.\n# TYPE s histogram\ns_bucket{le="1"} 2\ns_sum 1\ns_count 2\n', 'no last bucket'],
] as const)('the parser of these tests refuses %j: %s', ([text]) => {
  assert.throws(() => parseExposition(text));
});
