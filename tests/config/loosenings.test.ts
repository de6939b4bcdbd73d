import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Environment, type Loosening, findLoosenings, loadConfig } from '#config';
import type { JsonObject } from '#core';

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'loosenings-')));
});
afterAll(async () => await rm(folder, { recursive: true }));

async function looseningsOf(
  entry: JsonObject,
  others: JsonObject = {},
  env: Environment = { KEY: 'k', HOST: 'a.example', OTHER: 'o' },
): Promise<readonly Loosening[]> {
  const file = join(folder, 'servers.json');
  await writeFile(file, JSON.stringify({ servers: { own: entry, ...others } }));
  const { servers } = await loadConfig(file, { env, home: folder });
  const [own] = servers;
  if (!own) throw new Error('the entry has no config');
  return findLoosenings(entry, own, servers);
}

const package_ = '@org/server@1.0.0';

describe('loosenings of an entry', () => {
  const cases: readonly (readonly [string, JsonObject, readonly string[], readonly string[]])[] = [
    ['none', { package: package_, args: ['x'], env: { A: '1' } }, [], []],
    ['a process', { package: package_, runtime: 'process' }, ['runtime:process'], []],
    ['a network', { package: package_, network: 'bridge' }, ['network:bridge'], []],
    [
      'a list of targets',
      { package: package_, network: { allow: ['api.com', 'db:1'] } },
      ['network:api.com', 'network:db:1'],
      [],
    ],
    ['completions of the hub', { package: package_, sampling: 'hub' }, ['sampling:hub'], []],
    ['completions of clients', { package: package_, sampling: 'client' }, [], []],
    ['a mount', { package: package_, mounts: ['./a:/a'] }, [], ['mount:FOLDER/a:/a:ro']],
    [
      'writable mounts in both forms',
      { package: package_, mounts: ['a:/a:rw', { source: 'b', target: '/b', read_only: false }] },
      ['mount:FOLDER/a:/a:rw', 'mount:FOLDER/b:/b:rw'],
      [],
    ],
    ['user 0', { package: package_, user: 0 }, ['user:0'], []],
    ['user 00', { package: package_, user: '00' }, ['user:00'], []],
    ['root by name', { package: package_, user: 'root' }, ['user:root'], []],
    ['group 0', { package: package_, user: '1000:0' }, ['user:1000:0'], []],
    ['a user that the image names', { package: package_, user: 'app' }, ['user:app'], []],
    ['a user by number', { package: package_, user: '1000:1000' }, [], ['user:1000:1000']],
    [
      'variables wherever they are filled in, each once',
      {
        image: 'i:${KEY}',
        command: '/bin/${OTHER}',
        args: ['${KEY}', '${ABSENT:-x}'],
        env: { A: 'a${OTHER}b' },
        cwd: '/${HOST}',
      },
      ['variable:KEY', 'variable:OTHER', 'variable:ABSENT', 'variable:HOST'],
      [],
    ],
    [
      'a variable in a mount',
      { package: package_, mounts: ['/srv/${KEY}:/a'] },
      ['variable:KEY'],
      ['mount:/srv/${KEY}:/a:ro'],
    ],
    [
      'secrets, and an address with one',
      { url: 'https://h/${secret:KEY}', headers: { A: 'Bearer ${secret:KEY}${KEY}' } },
      ['secret:KEY', 'variable:KEY'],
      ['url:https://h/${secret:KEY}', 'header:A'],
    ],
    [
      'a secret in a mount',
      { package: package_, mounts: ['/srv/${secret:KEY}:/a'] },
      ['secret:KEY'],
      ['mount:/srv/${secret:KEY}:/a:ro'],
    ],
    ['a dollar sign that is none', { package: package_, args: ['$${KEY}'] }, [], []],
    ['text that is not filled in', { package: package_, description: '${KEY}' }, [], []],
    [
      'headers, and an address with variables',
      { url: 'https://${HOST}/?k=${KEY}', headers: { Authorization: 'Bearer ${KEY}', 'X-A': '1' } },
      ['variable:HOST', 'variable:KEY'],
      ['url:https://${HOST}/?k=${KEY}', 'header:Authorization', 'header:X-A'],
    ],
  ];

  it.each(cases)('%s', async (_, entry, confirmed, others) => {
    const found = await looseningsOf(entry);
    const named = (needs: boolean) =>
      found
        .filter(one => one.needsConfirmation === needs)
        .map(({ name }) => name.replace(folder, 'FOLDER'));
    expect(named(true).toSorted()).toEqual([...confirmed].toSorted());
    expect(named(false).toSorted()).toEqual([...others].toSorted());
    expect(new Set(found.map(({ name }) => name)).size).toBe(found.length);
    for (const { message } of found) expect(message).toMatch(/^[A-Z].*\.$/);
  });

  it('name a volume that another server has', async () => {
    const others = { memory: { package: '@modelcontextprotocol/server-memory@1.0.0' } };
    const entry = { package: package_, volumes: { 'memory-data': '/d', mine: '/m' } };
    const found = await looseningsOf(entry, others);
    expect(found.map(({ name }) => name)).toEqual(['volume:memory-data']);
    expect(found[0]?.message).toContain('the server memory');
  });

  it('show no value of a variable', async () => {
    const env = { KEY: 'shh-1', OTHER: '/shh-2', HOST: 'shh-3.example' };
    const entries: readonly JsonObject[] = [
      {
        command: '${KEY}',
        args: ['${KEY}'],
        runtime: 'process',
        mounts: [
          '${OTHER}:/a',
          '${OTHER:-/x}:/d:rw',
          { source: '${OTHER}', target: '/b', read_only: false },
          { source: '/srv', target: '${OTHER}' },
        ],
      },
      { url: 'https://${HOST}/', headers: { A: '${KEY}' } },
    ];
    for (const entry of entries) {
      const found = await looseningsOf(entry, {}, env);
      expect(found.length).toBeGreaterThan(2);
      expect(JSON.stringify(found)).not.toContain('shh');
    }
  });

  it('show where a variable is used', async () => {
    const found = await looseningsOf({ package: package_, env: { A: '${KEY}' }, args: ['${KEY}'] });
    expect(found[0]?.message).toContain('(in args[0], env.A)');
  });
});
