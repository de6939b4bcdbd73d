import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'vitest';

const rules = pathToFileURL(join(import.meta.dirname, '../../images/egress/rules.mjs')).href;

/** Evaluates an expression with the forwarder's rules in a child process. */
function evaluated(expression: string, given: unknown): unknown {
  const script = `import { findEntry, nameInside, nameOf, poolOf, problemOf } from ${JSON.stringify(rules)};
    const given = ${JSON.stringify(given)};
    console.log(JSON.stringify(${expression}));`;
  const words = ['--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' }));
}

test('only names are targets: an address is none, in any notation', () => {
  const names: readonly (readonly [string, string | null])[] = [
    ['api.github.com', 'api.github.com'],
    ['API.GitHub.com.', 'api.github.com'],
    ['db', 'db'],
    ['_srv.a-b.example', '_srv.a-b.example'],
    ['127.0.0.1', null],
    ['2130706433', null],
    ['0x7f000001', null],
    ['0x7f.1', null],
    ['0177.0.0.1', null],
    ['1.example.0x', null],
    ['[::1]', null],
    ['::ffff:127.0.0.1', null],
    ['[::ffff:7f00:1]', null],
    ['a..b', null],
    ['-a.example', null],
    ['a b', null],
    ['a/b', null],
    ['ex\u00e4mple.com', null],
    ['', null],
    ['.', null],
    [`${'a'.repeat(64)}.example`, null],
  ];
  const found = evaluated(
    'given.map(one => nameOf(one) ?? null)',
    names.map(([name]) => name),
  );
  assert.deepEqual(
    found,
    names.map(([, expected]) => expected),
  );
});

test('a list admits names and ports that it has, and a pattern only names below it', () => {
  const allow = [
    { name: 'api.github.com', ports: [80, 443], internal: false },
    { name: '*.npmjs.org', ports: [443], internal: false },
    { name: 'db.internal', ports: [5432], internal: true },
  ];
  const targets: readonly (readonly [string, number, string | null])[] = [
    ['api.github.com', 443, 'api.github.com'],
    ['api.github.com', 80, 'api.github.com'],
    ['api.github.com', 22, null],
    ['github.com', 443, null],
    ['xapi.github.com', 443, null],
    ['registry.npmjs.org', 443, '*.npmjs.org'],
    ['a.b.npmjs.org', 443, '*.npmjs.org'],
    ['registry.npmjs.org', 80, null],
    ['npmjs.org', 443, null],
    ['evilnpmjs.org', 443, null],
    ['db.internal', 5432, 'db.internal'],
    ['db.internal', 5433, null],
  ];
  const found = evaluated(
    `given.targets.map(([name, port]) => findEntry(given.allow, name, port)?.name ?? null)`,
    { allow, targets },
  );
  assert.deepEqual(
    found,
    targets.map(([, , expected]) => expected),
  );
  const all = [{ name: '*', internal: false }, ...allow];
  const entries = evaluated(
    `given.map(([name, port]) => findEntry(${JSON.stringify(all)}, name, port).internal)`,
    [
      ['any.example', 9999],
      ['db.internal', 5432],
    ],
  );
  assert.deepEqual(entries, [false, true], 'an exact target precedes a pattern');
});

test('addresses are refused by what they are, and private ones unless the target is exact', () => {
  const both = (why: string) => [why, why] as const;
  const addresses: readonly (readonly [string, readonly [string | null, string | null]])[] = [
    ['203.0.113.7', [null, null]],
    ['8.8.8.8', [null, null]],
    ['2606:4700::1111', [null, null]],
    ['10.1.2.3', ['is a private address', null]],
    ['172.17.0.1', ['is a private address', null]],
    ['192.168.1.1', ['is a private address', null]],
    ['100.64.0.1', ['is a private address', null]],
    ['198.18.0.1', ['is a private address', null]],
    ['fd12::1', ['is a private address', null]],
    ['127.0.0.1', both('is a loopback address')],
    ['127.8.8.8', both('is a loopback address')],
    ['169.254.169.254', both('is a link-local or metadata address')],
    ['100.100.100.200', both('is a link-local or metadata address')],
    ['168.63.129.16', both('is a link-local or metadata address')],
    ['192.0.0.192', both('is a link-local or metadata address')],
    ['224.0.0.251', both('is a multicast address')],
    ['239.255.255.250', both('is a multicast address')],
    ['0.0.0.0', both('is a reserved address')],
    ['255.255.255.255', both('is a reserved address')],
    ['fd00:ec2::254', both('is a metadata address')],
    ['::1', both('is not a public address')],
    ['::', both('is not a public address')],
    ['fe80::1', both('is not a public address')],
    ['ff02::1', both('is not a public address')],
    ['::ffff:8.8.8.8', both('is not a public address')],
    ['64:ff9b::808:808', both('is not a public address')],
    ['2002:7f00:1::', both('is not a public address')],
    ['2001::1', both('is not a public address')],
    ['10.213.4.2', both('is an address of servers')],
    ['198.51.100.9', ['is an address of the machine of the hub', null]],
    ['203.0.113.250', both('is the forwarder itself')],
  ];
  const found = evaluated(
    `given.map(address => [false, true].map(isInternal => problemOf(address, 443, {
      isInternal, pool: poolOf('10.213.0.0/16'), own: new Set(['203.0.113.250']), host: new Set(['198.51.100.9']),
      hub: { ports: [9090], backends: [{ address: '10.9.9.9', port: 6379 }] },
    }) ?? null))`,
    addresses.map(([address]) => address),
  );
  assert.deepEqual(
    found,
    addresses.map(([, expected]) => expected),
  );
});

test('the hub and its services are refused, exact target or not', () => {
  const found = evaluated(
    `given.map(([address, port]) => problemOf(address, port, {
      isInternal: true, pool: poolOf('10.213.0.0/16'), own: new Set(), host: new Set(['172.17.0.1']),
      hub: { ports: [9090], backends: [{ address: '10.9.9.9', port: 6379 }] },
    }) ?? null)`,
    [
      ['172.17.0.1', 9090],
      ['172.17.0.1', 5432],
      ['10.9.9.9', 6379],
      ['10.9.9.9', 6380],
    ],
  );
  assert.deepEqual(found, [
    'is the hub, or a service of it',
    null,
    'is a service of the hub',
    null,
  ]);
});

test('the name at the start of a connection is found in a TLS hello and in an HTTP request', () => {
  const name = Buffer.from('db.example');
  const length = (value: number) => Buffer.from([value >> 8, value & 255]);
  const list = Buffer.concat([Buffer.from([0]), length(name.length), name]);
  const sni = Buffer.concat([length(0), length(list.length + 2), length(list.length), list]);
  const padding = Buffer.concat([length(21), length(3), Buffer.alloc(3)]);
  const body = Buffer.concat([Buffer.alloc(34), Buffer.from([0]), length(2), length(0x1301)]);
  const extensions = Buffer.concat([padding, sni]);
  const hello = Buffer.concat([
    Buffer.from([0x16, 3, 1, 0, 0, 1, 0, 0, 0]),
    body,
    Buffer.from([1, 0]),
    length(extensions.length),
    extensions,
  ]);
  const inside = (bytes: Buffer) =>
    evaluated(`nameInside(Buffer.from(given, 'base64')) ?? null`, bytes.toString('base64'));
  assert.equal(inside(hello), 'db.example');
  assert.equal(inside(hello.subarray(0, -3)), null);
  assert.equal(inside(hello.subarray(0, 20)), null);
  assert.equal(
    inside(Buffer.from('GET / HTTP/1.1\r\nA: b\r\nhost: Api.Example:80\r\n')),
    'api.example',
  );
  assert.equal(inside(Buffer.from('GET / HTTP/1.1\r\nHost: api.exam')), null);
  assert.equal(inside(Buffer.from('SSH-2.0-x\r\n')), null);
});
