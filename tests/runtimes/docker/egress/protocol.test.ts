import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createReportReader, stateLine } from '../../../../hub/runtimes/docker/egress/protocol.ts';
import { subnetAt } from '../../../../hub/runtimes/docker/egress/subnets.ts';

test('the forwarder receives the servers in its network, and their allowed targets', () => {
  const hub = { addresses: ['192.0.2.1'], ports: [9090], backends: [] };
  const line = stateLine(
    7,
    [
      { server: 'a', subnet: subnetAt(0), network: { allow: ['api.com', 'db:5432'] } },
      { server: 'b', subnet: subnetAt(1), network: 'bridge' },
    ],
    hub,
  );
  assert.match(line, /^[^\n]+\n$/);
  assert.deepEqual(JSON.parse(line), {
    apply: 7,
    pool: '10.213.0.0/16',
    servers: [
      {
        name: 'a',
        peer: '10.213.0.2',
        self: '10.213.0.1',
        allow: [
          { name: 'api.com', ports: [80, 443], internal: false },
          { name: 'db', ports: [5432], internal: true },
        ],
      },
      {
        name: 'b',
        peer: '10.213.0.6',
        self: '10.213.0.5',
        allow: [{ name: '*', internal: false }],
      },
    ],
    hub,
  });
});

test('reports are read from chunks of any size, and everything else is ignored', () => {
  const heard: unknown[] = [];
  const reader = createReportReader(report => heard.push(report));
  const traffic = {
    server: 'a',
    allowed: 2,
    blocked: [{ target: 'b.com:80', why: 'is not in it', count: 3 }],
  };
  const text = [
    'd":3}',
    '{"applied":1}',
    JSON.stringify({ traffic }),
    '{"applied":"1"}',
    '{"traffic":{"server":1,"allowed":1,"blocked":[]}}',
    '{"traffic":{"server":"a","allowed":1}}',
    '{"traffic":{"server":"c","allowed":0,"blocked":[1,{"target":"x","why":"y"}]}}',
    '[]',
    '',
  ].join('\n');
  for (const byte of Buffer.from(text)) reader.push(Buffer.from([byte]));
  reader.push(Buffer.alloc(70_000, 'x'));
  reader.push(Buffer.from('\n{"applied":2}\n'));
  assert.deepEqual(heard, [
    { applied: 1 },
    { traffic },
    { traffic: { server: 'c', allowed: 0, blocked: [] } },
    { applied: 2 },
  ]);
});

test('the forwarder is told to keep the lists of other servers', () => {
  const hub = { addresses: [], ports: [], backends: [] };
  const { keeps_others: keeps, servers } = JSON.parse(stateLine(1, [], hub, true));
  assert.deepEqual([keeps, servers], [true, []]);
});
