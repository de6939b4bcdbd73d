import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { ImportItem } from '#clients';
import { openScratch, planOf } from './machine.ts';

test.for([
  [{ url: 'http://localhost:9191/mcp' }, true],
  [{ url: 'https://127.0.0.1:9191/base/mcp/' }, true],
  [{ url: 'http://[::1]:9191/mcp/notes' }, true],
  [{ command: 'npx', args: ['mcp-remote', 'http://localhost:9191/mcp'] }, true],
  [{ url: 'http://localhost:9191/api' }, false],
  [{ url: 'https://mcp.example/mcp' }, false],
  [{ command: 'npx', args: ['agenthub@1.0.0'] }, false],
] as const)(
  'an entry of connect for another port is not imported as a server: %j',
  async ([entry, isHub]) => {
    await using scratch = await openScratch();
    const mcpServers = { agenthub: entry, other: entry };
    await scratch.put('.cursor/mcp.json', JSON.stringify({ mcpServers }));
    const config = await scratch.put('hub.json', '{"servers": {}}');
    const { items } = await planOf(scratch, { config, dotenv: join(scratch.home, '.env') });
    assert.deepEqual(
      items.map(({ action }) => action),
      isHub ? ['skip', 'add'] : ['add', 'present'],
    );
  },
);

test('a key that .env cannot hold is not imported, nor is one after a quote that is not closed', async () => {
  const entry = { command: 'npx', args: ['@a/b@1.0.0'], env: { TOKEN: `'"\`` } };
  for (const [dotenv, token] of [
    ['', `'"\``],
    ['A="open\n', "it's"],
  ] as const) {
    await using scratch = await openScratch();
    await scratch.put(
      '.cursor/mcp.json',
      JSON.stringify({ mcpServers: { a: { ...entry, env: { TOKEN: token } } } }),
    );
    const config = await scratch.put('hub.json', '{"servers": {}}');
    const files = { config, dotenv: await scratch.put('hub.env', dotenv) };
    const [item] = (await planOf(scratch, files)).items;
    assert.equal(item?.action === 'skip' && item.why.includes('.env'), true, dotenv);
  }
});

/** Creates a machine with these servers in Cursor's file, and a config of the hub. */
async function withServers(mcpServers: object, servers: object = {}, env = {}) {
  const scratch = await openScratch(env);
  await scratch.put('.cursor/mcp.json', JSON.stringify({ mcpServers }));
  const config = await scratch.put('hub.json', JSON.stringify({ servers }));
  const files = { config, dotenv: join(scratch.home, '.env') };
  return { scratch, files, [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose]() };
}

const outcomeOf = (item: ImportItem) =>
  item.action === 'skip' ? item.why : `${item.action} ${item.name}`;

test('an entry does not get the name of a built-in server, which rules of the policy may name', async () => {
  const entry = { command: 'npx', args: ['@a/b@1.0.0'] };
  await using machine = await withServers({ tasks: entry });
  const { items } = await planOf(machine.scratch, machine.files);
  assert.deepEqual(items.map(outcomeOf), ['add tasks-2']);
});

test('limits above the default ones are permissions, without which a server is imported too', async () => {
  const args = (...words: readonly string[]) => ['run', '-i', ...words];
  await using machine = await withServers({
    large: { command: 'docker', args: args('--memory=64g', '--cpus=8', 'a:1') },
    small: { command: 'docker', args: args('--memory=128m', '--cpus=0.5', 'b:1') },
  });
  const { scratch, files } = machine;
  const plan = await planOf(scratch, files);
  const addedIn = ({ items }: typeof plan) => items.filter(item => item.action === 'add');
  assert.deepEqual(
    addedIn(plan).map(({ loosenings }) => loosenings.map(({ name }) => name)),
    [['resources:memory=64g', 'resources:cpus=8'], []],
  );
  const tight = addedIn(await scratch.clients.tighten(plan, files, () => false));
  assert.deepEqual(
    tight.map(({ entry }) => entry['resources']),
    [undefined, { memory: '128m', cpus: 0.5 }],
  );
});

describe('names that the hub does not allow are changed:', () => {
  test.for([
    ['a b.c', 'a-b-c'],
    ['_-a-', 'a'],
    ['дом', 'server'],
    ['x'.repeat(40), 'x'.repeat(32)],
  ] as const)('%s to %s', async ([written, name]) => {
    await using machine = await withServers({ [written]: { url: 'https://a.example/mcp' } });
    const { items } = await planOf(machine.scratch, machine.files);
    assert.deepEqual(items.map(outcomeOf), [`add ${name}`]);
  });

  test('a name that is in use gets a number, within the length that is allowed', async () => {
    const name = 'x'.repeat(32);
    await using machine = await withServers(
      {
        [name]: { url: 'https://a.example/mcp' },
        [`${name}y`]: { url: 'https://b.example/mcp' },
      },
      { [name]: { image: 'x:1' } },
    );
    const { items } = await planOf(machine.scratch, machine.files);
    assert.deepEqual(items.map(outcomeOf), [`add ${'x'.repeat(30)}-2`, `add ${'x'.repeat(30)}-3`]);
  });
});

test('a server with another version counts as present, but not one with other arguments', async () => {
  await using machine = await withServers(
    {
      npm: { command: 'npx', args: ['@a/b@2.0.0'] },
      pypi: { command: 'uvx', args: ['name==2.0'] },
      other: { command: 'npx', args: ['@a/b@2.0.0', 'x'] },
    },
    { one: { package: '@a/b@1.0.0' }, two: { package: 'uvx:name==1.0' } },
  );
  const { items } = await planOf(machine.scratch, machine.files);
  assert.deepEqual(items.map(outcomeOf), ['present one', 'present two', 'add other']);
});

test.for([
  ['not an object', 1, /./],
  ['a program of this machine', { command: '/opt/own', args: [] }, /^it runs "\/opt\/own" from/],
  ['a git reference', { command: 'uvx', args: ['--from', 'git+https://x/y', 'z'] }, /git/],
  ['an option of docker', { command: 'docker', args: ['exec', 'x'] }, /"docker" command/],
  ['what the hub refuses', { url: 'ftp://host/x' }, /^url: "ftp:/],
] as const)('an entry with %s is skipped, and others are added', async ([, entry, why]) => {
  await using machine = await withServers({ one: entry, two: { url: 'https://a.example/mcp' } });
  const { items } = await planOf(machine.scratch, machine.files);
  const [skipped, added] = items.map(outcomeOf);
  assert.match(skipped ?? '', why);
  assert.equal(added, 'add two');
});

describe('settings that are not allowed', () => {
  const run = (...options: readonly string[]) => ({
    command: 'docker',
    args: ['run', ...options, 'evil/files:1'],
  });
  const env = { TOKEN: 's3cret', FOLDER: '/srv' };

  /** Imports a server of Claude Code of which only these settings are allowed. Returns the resulting entry. */
  async function tightened(entry: object, ...allowed: readonly string[]) {
    await using scratch = await openScratch(env);
    await scratch.put('.claude.json', JSON.stringify({ mcpServers: { one: entry } }));
    const config = await scratch.put(
      'hub.json',
      '{"servers": {"other": {"image": "o:1", "volumes": {"data": "/d"}}}}',
    );
    const files = { config, dotenv: join(scratch.home, '.env') };
    const plan = await planOf(scratch, files);
    const { items } = await scratch.clients.tighten(plan, files, (server, { name }) => {
      assert.equal(server, 'one');
      return allowed.includes(name);
    });
    const [item] = items;
    assert.ok(item);
    if (item.action !== 'add') return outcomeOf(item);
    const { auto_start: _, image, ...rest } = item.entry;
    assert.equal(image, 'evil/files:1');
    return { rest, dropped: item.dropped.map(({ name }) => name) };
  }

  test.for([
    ['network:bridge', ['--network', 'host'], { network: 'bridge' }],
    ['user:0:0', ['-u', '0:0'], { user: '0:0' }],
    ['mount:/srv:/a:ro', ['-v', '/srv:/a:ro'], { mounts: ['/srv:/a:ro'] }],
    ['volume:data', ['-v', 'data:/a'], { volumes: { data: '/a' } }],
    ['variable:TOKEN', ['-e', 'TOKEN'], { env: { TOKEN: '${TOKEN:-}' } }],
  ] as const)(
    '%s is removed from the entry, and kept if it is allowed',
    async ([name, options, kept]) => {
      assert.deepEqual(await tightened(run(...options)), { rest: {}, dropped: [name] });
      assert.deepEqual(await tightened(run(...options), name), { rest: kept, dropped: [] });
    },
  );

  test('are removed one by one', async () => {
    assert.deepEqual(
      await tightened(
        run('-v', '/srv:/a:ro', '-v', '/srv:/b:rw', '-v', '/srv:/c:ro'),
        'mount:/srv:/a:ro',
        'mount:/srv:/c:ro',
      ),
      { rest: { mounts: ['/srv:/a:ro', '/srv:/c:ro'] }, dropped: ['mount:/srv:/b:rw'] },
    );
  });

  test('include a mount whose source contains an allowed variable', async () => {
    const mount = 'mount:${FOLDER}/x:/a:rw';
    const entry = run('-v', '${FOLDER}/x:/a');
    assert.deepEqual(await tightened(entry, 'variable:FOLDER'), { rest: {}, dropped: [mount] });
    assert.deepEqual(await tightened(entry, 'variable:FOLDER', mount), {
      rest: { mounts: ['${FOLDER}/x:/a:rw'] },
      dropped: [],
    });
  });

  test.for([
    [{ command: 'npx', args: ['@a/b@1.0.0', '${TOKEN}'] }, 'variable:TOKEN'],
    [{ url: 'https://${TOKEN}.example/mcp' }, 'variable:TOKEN'],
  ] as const)('skip a server that cannot run without them: %j', async ([entry, name]) => {
    assert.match(
      JSON.stringify(await tightened(entry)),
      new RegExp(`cannot run without .*${name}.* --allow 'one/${name}'`),
    );
  });
});

test('keys of a server that is skipped at the end are not written to .env', async () => {
  await using machine = await withServers({}, {}, { TOKEN: 's3cret' });
  const { scratch, files } = machine;
  const args = (token: string) => ['@a/b@1.0.0', '--token', 'sk-planted0123456789', token];
  await scratch.put(
    '.claude.json',
    JSON.stringify({ mcpServers: { one: { command: 'npx', args: args('${TOKEN}') } } }),
  );
  const plan = await planOf(scratch, files);
  assert.equal(plan.variables.length, 1);
  const { variables } = await scratch.clients.tighten(plan, files, () => false);
  assert.deepEqual(variables, []);
});

test('one server of several clients is added once, and a different one of its name says how it differs', async () => {
  await using machine = await withServers({
    notes: { command: 'npx', args: ['@a/notes@1.0.0', 'x'], env: { API_KEY: 'k' } },
  });
  const { scratch, files } = machine;
  const same = { command: 'npx', args: ['-y', '@a/notes', 'x'], env: { API_KEY: 'k' } };
  const other = { command: 'npx', args: ['-y', '@a/notes', 'y'], env: { API_KEY: 'other' } };
  await scratch.put(
    '.claude.json',
    JSON.stringify({
      mcpServers: { memo: same },
      projects: { '/p': { mcpServers: { notes: other } }, '/q': { allowedTools: [] }, '/r': 1 },
    }),
  );
  const { items } = await planOf(scratch, files);
  assert.deepEqual(items.map(outcomeOf), ['add memo', 'add notes', 'present memo']);
  const [memo, project, twin] = items;
  assert.ok(twin?.action === 'present' && twin.twin === memo?.found);
  assert.equal(project?.found.folder, '/p');
  await scratch.put(
    '.codex/config.toml',
    '[mcp_servers.notes]\ncommand = "npx"\nargs = ["@a/z"]\n',
  );
  const again = (await planOf(scratch, files)).items.at(-1);
  assert.ok(again?.action === 'add');
  assert.deepEqual(again.conflict, { name: 'notes', differs: ['package', 'args', 'env'] });
});

test.each([
  [{}, 'present it'],
  [{ disabledTools: ['x'] }, 'present it'],
  [{ disabledTools: ['x', 'y'] }, 'add b'],
])(
  'a server with tools off that are on in its twin is an entry of its own: %j',
  async (off, is) => {
    await using machine = await withServers(
      { b: { command: 'npx', args: ['a'], ...off } },
      { it: { package: 'a', tools: { deny: ['x'] } } },
    );
    const { items } = await planOf(machine.scratch, machine.files);
    assert.deepEqual(items.map(outcomeOf), [is]);
  },
);

test('a server with the name of its twin says that it differs in its tools', async () => {
  await using machine = await withServers(
    { it: { command: 'npx', args: ['a'], disabledTools: ['x'] } },
    { it: { package: 'a' } },
  );
  const [item] = (await planOf(machine.scratch, machine.files)).items;
  assert.ok(item?.action === 'add');
  assert.deepEqual([item.name, item.conflict], ['it-2', { name: 'it', differs: ['tools'] }]);
});
