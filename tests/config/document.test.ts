import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { loadConfig, readRules } from '#config';

const times = (count: number, text: string) => text.repeat(count);

test.for([
  ['lists', 'deep.json', `{"servers": {"a": ${times(20_000, '[')}${times(20_000, ']')}}}`],
  ['objects', 'deep.json', `${times(20_000, '{"servers":')}1${times(20_000, '}')}`],
  ['lists that nothing closes', 'deep.jsonc', `{"servers": // "x\n ${times(20_000, '[')}`],
  ['lists', 'deep.yaml', `servers: ${times(5_000, '[')}${times(5_000, ']')}`],
  ['objects', 'deep.yaml', `servers: ${times(5_000, '{a: ')}1${times(5_000, '}')}`],
  ['lists in one line', 'deep.yaml', `servers:\n  ${times(20_000, '- ')}1`],
  [
    'indented objects',
    'deep.yaml',
    Array.from({ length: 200 }, (_, i) => `${times(i, ' ')}a:`).join('\n'),
  ],
] as const)('too deep nesting of %s in %s is reported with the file', async ([, name, text]) => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-deep-'));
  try {
    const file = join(folder, name);
    await writeFile(file, text);
    const expected = { code: 'HUB_CONFIG_INVALID', message: new RegExp(`^${file}:\\d+:\\d+: `) };
    await assert.rejects(loadConfig(file, { env: {}, home: folder }), expected);
    const child = join(folder, 'child.json');
    await writeFile(child, JSON.stringify({ extends: name, servers: {} }));
    await assert.rejects(loadConfig(child, { env: {}, home: folder }), expected);
    const { error } = await readRules(file);
    assert.ok(error?.message.startsWith(file), error?.message);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('brackets in strings, comments and plain text do not count as nesting', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-deep-'));
  try {
    for (const [name, text] of [
      [
        'a.json',
        `{/* ${times(300, '[')} */ "servers": {"a": {"image": "i:1", "args": ["${times(300, '{')}\\"["]}}}`,
      ],
      ['a.yaml', `servers:\n  a:\n    image: i:1\n    args:\n${times(300, '      - "a [ b"\n')}`],
    ] as const) {
      const file = join(folder, name);
      await writeFile(file, text);
      const { servers } = await loadConfig(file, { env: {}, home: folder });
      assert.equal(servers.length, 1);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
