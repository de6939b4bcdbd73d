import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Naming } from '#config';
import { createRecordingLog } from '#helpers/hub';
import { type Wish, assignNames, createCollisionLog } from '../../hub/routing/names.ts';

const usual: Naming = { separator: '_', maxLength: 46 };

/** Assigns public names to the names that servers want, in the same order. */
const named = (wishes: readonly Wish[], naming = usual) =>
  assignNames(wishes, [...new Set(wishes.map(({ server }) => server))], naming);

const publicNameOf = (wish: Wish, naming: Naming) => named([wish], naming).names[0] ?? '';

describe('a public name', () => {
  const rows: readonly (readonly [Naming['separator'], string, string, string])[] = [
    ['_', 'memory', 'create_entities', 'memory_create_entities'],
    ['__', 'memory', 'create_entities', 'memory__create_entities'],
    ['.', 'memory', 'create_entities', 'memory.create_entities'],
    ['_', 'a-b', 'c-d', 'a-b_c-d'],
    ['_', 'a', 'x'.repeat(44), `a_${'x'.repeat(44)}`],
    // A name over 46 characters is cut to 38, and gets 7 characters of a SHA-256 over server and name.
    ['_', 'a', 'x'.repeat(45), `a_${'x'.repeat(36)}_228ae69`],
    // Characters that clients and model APIs refuse become underscores; a hash of the original name keeps names
    // distinct.
    ['_', 'a', 'read.file', 'a_read_file_d3c8244'],
    ['_', 'a', 'read/file', 'a_read_file_1dcff6d'],
    ['.', 'a', 'read.file', 'a.read.file'],
    ['_', 'a', 'größe', 'a_gr__e_ad6e0ed'],
    ['_', 'a', '', 'a_'],
  ];
  for (const [separator, server, name, expected] of rows)
    test(`of ${server}${separator}${name.slice(0, 20)} is ${expected}`, () => {
      const naming = { separator, maxLength: 46 };
      assert.equal(publicNameOf({ server, name }, naming), expected);
      assert.equal(publicNameOf({ server, name }, naming), expected, 'the same every time');
      assert.ok(expected.length <= 46);
    });

  test("has only allowed characters and the allowed length, whatever the server's tool names are", () => {
    const odd = [
      '\0',
      '😀',
      '../..',
      'a b',
      '"',
      '\\',
      '\n',
      'ａ',
      'x'.repeat(5000),
      '<script>',
      '-',
      '.',
    ];
    for (const separator of ['_', '__', '.'] as const)
      for (const maxLength of [16, 46, 64])
        for (const server of ['s', 'a-long-name-of-a-server-that-fills-the-whole-of-it'])
          for (const name of odd) {
            const found = publicNameOf({ server, name }, { separator, maxLength });
            assert.match(found, separator === '.' ? /^[A-Za-z0-9_.-]+$/ : /^[A-Za-z0-9_-]+$/);
            assert.ok(found.length <= maxLength, found);
          }
  });
});

describe('names for all servers', () => {
  test('an ambiguous one belongs to the longer server name, whichever servers run', () => {
    const servers = ['a', 'a_b'];
    const ofA = { server: 'a', name: 'b_c' };
    const ofAB = { server: 'a_b', name: 'c' };
    const got = { ...ofA, wanted: 'a_b_c', publicName: 'a_b_c_662f0bb' };
    for (const order of [servers, servers.toReversed()])
      for (const [wishes, names] of [
        [[ofA], ['a_b_c_662f0bb']],
        [[ofAB], ['a_b_c']],
        [
          [ofA, ofAB],
          ['a_b_c_662f0bb', 'a_b_c'],
        ],
        [
          [ofAB, ofA],
          ['a_b_c', 'a_b_c_662f0bb'],
        ],
      ] as const)
        assert.deepEqual(assignNames(wishes, order, usual), {
          names,
          collisions: wishes.some(({ server }) => server === 'a') ? [got] : [],
        });
  });

  test('a server whose name begins with that of another has short names', () => {
    const { names, collisions } = named([
      { server: 'github', name: 'search' },
      { server: 'github_enterprise', name: 'search' },
      { server: 'github', name: 'enterprises' },
    ]);
    assert.deepEqual(names, ['github_search', 'github_enterprise_search', 'github_enterprises']);
    assert.deepEqual(collisions, []);
  });

  test('no tool can have the hashed name of another', () => {
    const servers = ['a', 'a_b'];
    const [hashed = ''] = assignNames([{ server: 'a', name: 'b_c' }], servers, usual).names;
    const copy = { server: 'a_b', name: hashed.slice('a_b_'.length) };
    assert.notEqual(assignNames([copy], servers, usual).names[0], hashed);
  });

  test('two names that differ only in replaced characters stay different', () => {
    const { names, collisions } = named([
      { server: 'a', name: 'x.y' },
      { server: 'a', name: 'x/y' },
      { server: 'a', name: 'x_y' },
    ]);
    assert.equal(new Set(names).size, 3);
    assert.equal(names[2], 'a_x_y');
    assert.deepEqual(collisions, []);
  });

  test('all differ, even if a server repeats a name or copies that of another', () => {
    const long = 'x'.repeat(60);
    const wishes = [
      { server: 'a', name: 'b_c' },
      { server: 'a', name: 'b_c_0c1d18f' },
      { server: 'a_b', name: 'c' },
      { server: 'a_b', name: 'c' },
      { server: 'a_b', name: 'c' },
      { server: 'l', name: long },
      { server: 'l', name: long },
      { server: 'l', name: long },
    ];
    const { names } = named(wishes);
    assert.equal(new Set(names).size, wishes.length, names.join(' '));
    for (const name of names) assert.ok(name.length <= 46);
  });

  test('a thousand tools with the same name are named quickly', () => {
    const wishes = Array.from({ length: 1_000 }, () => ({ server: 'a', name: 'same' }));
    // CPU time of this process, so that other load on the machine does not count.
    const started = process.cpuUsage();
    const { names } = named(wishes);
    const { user, system } = process.cpuUsage(started);
    assert.equal(new Set(names).size, wishes.length);
    assert.ok((user + system) / 1_000 < 10_000);
  });
});

const collision = (name: string) => ({
  server: 'a',
  name,
  wanted: `a_${name}`,
  publicName: `a_${name}_1`,
});

test('a collision of names is logged once, even if it is reported repeatedly', () => {
  const { log, logged } = createRecordingLog();
  const tell = createCollisionLog(log);
  const [x, y] = [collision('x'), collision('y')];
  for (const all of [[], [x], [x], [x, y], [y], [x, y]]) tell(all);
  assert.deepEqual(
    logged.map(({ level, fields }) => ({ level, fields })),
    [
      { level: 'warn', fields: { collisions: [x], count: 1 } },
      { level: 'warn', fields: { collisions: [y], count: 1 } },
    ],
  );
});

test('thousands of collisions are one short line in the log', () => {
  const { log, logged } = createRecordingLog();
  const tell = createCollisionLog(log);
  const all = Array.from({ length: 10_005 }, (_, at) => collision(`t${at}`));
  tell(all);
  tell(all);
  assert.deepEqual(
    logged.map(({ fields }) => fields),
    [{ collisions: all.slice(0, 20), count: 10_000 }],
  );
});
