import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { describe, test } from 'vitest';
import {
  type ClientName,
  type HubAddress,
  type ClientScope,
  clientNames,
  clients,
  createClients,
  hubEntry,
  configFileOf,
} from '#clients';
import { loadJsonText } from '#config';
import { HubError, isObject } from '#core';
import { type Scratch, hub, openScratch } from './machine.ts';
import { wildJson, wildToml } from './wild-files.ts';

const { readJsonText } = await loadJsonText();

/** All config files of all clients. */
const places = clientNames.flatMap(client =>
  (['user', 'workspace'] as const).flatMap(scope =>
    configFileOf(client, scope, {
      platform: 'linux',
      home: '/h',
      folder: '/w',
      env: {},
      packages: [],
    })
      ? [{ client, scope, title: `${client} (${scope})` }]
      : [],
  ),
);

type Place = { readonly client: ClientName; readonly scope: ClientScope };

const target = ({ client, scope }: Place) => ({ client, scope, name: 'agenthub' });

const fileOf = ({ client, scope }: Place, { machine }: Scratch) =>
  configFileOf(client, scope, machine) ?? assert.fail('it has no file');

async function connect(place: Place, scratch: Scratch, at: HubAddress = hub) {
  const plan = await scratch.clients.planConnect(target(place), at);
  return { plan, backup: await scratch.clients.carryOut(plan) };
}

async function disconnect(place: Place, scratch: Scratch) {
  const plan = await scratch.clients.planDisconnect(target(place), hub);
  return { plan, backup: await scratch.clients.carryOut(plan) };
}

/** Returns true if `other` results from `text` by insertions only. */
function isWithin(text: string, other: string): boolean {
  let at = 0;
  for (const character of text) {
    at = other.indexOf(character, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

function parsed({ client }: Place, text: string): unknown {
  const plain = text.replace(/^\uFEFF/, '');
  if (clients[client].format === 'toml')
    return structuredClone(parseToml(plain, { integersAsBigInt: 'asNeeded' }));
  return readJsonText({ file: 'it', text: plain }).value;
}

function serversIn(place: Place, text: string): Readonly<Record<string, unknown>> {
  const whole = parsed(place, text);
  const [group = ''] = clients[place.client].servers;
  const servers = isObject(whole) ? whole[group] : undefined;
  return isObject(servers) ? servers : {};
}

describe.for(places)('the file of $title', place => {
  const wild =
    clients[place.client].format === 'toml'
      ? wildToml
      : wildJson(clients[place.client].servers.join('.'));

  test.for(wild)(
    'with $what changes by nothing else, and disconnect restores every byte',
    async ({ text }) => {
      await using scratch = await openScratch();
      const file = fileOf(place, scratch);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      const before = await scratch.files();
      const { backup = '' } = await connect(place, scratch);

      const connected = await readFile(file, 'utf8');
      assert.deepEqual(serversIn(place, connected)['agenthub'], hubEntry(place.client, hub));
      assert.equal(await readFile(backup, 'utf8'), text);
      if (text.trim() !== '')
        assert.ok(isWithin(text, connected), 'something was taken out or moved');
      if (text.trim() !== '')
        assert.equal(connected.includes('\r\n'), text.includes('\r\n'), 'line breaks');
      assert.doesNotMatch(connected.replaceAll('\r\n', ''), text.includes('\r\n') ? /\n/ : /\r/);

      const again = await connect(place, scratch);
      assert.equal(again.plan.after, again.plan.before);
      assert.equal(again.backup, undefined);
      await disconnect(place, scratch);
      assert.deepEqual(await scratch.files(), before);
    },
  );

  test.for(wild)(
    "with $what that was edited since loses only the hub's entry at disconnect",
    async ({ text }) => {
      await using scratch = await openScratch();
      const file = fileOf(place, scratch);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      await connect(place, scratch);
      const isToml = clients[place.client].format === 'toml';
      const since = `${await readFile(file, 'utf8')}${isToml ? '\n# since' : '\n// since\n'}`;
      await writeFile(file, since);

      const { backup = '' } = await disconnect(place, scratch);
      const after = await readFile(file, 'utf8');
      assert.equal(await readFile(backup, 'utf8'), since);
      assert.ok(after.endsWith(isToml ? '# since' : '// since\n'), 'what came since is there');
      const { agenthub, ...others } = serversIn(place, since);
      assert.ok(agenthub);
      assert.deepEqual(serversIn(place, after), others);
      assert.ok(isWithin(after, since), 'something was put in or moved');
      const gone = since.length - after.length;
      assert.ok(gone > 0 && gone < 400, `${gone} characters went`);
    },
  );

  test('that is absent is created, and removed at disconnect', async () => {
    await using scratch = await openScratch();
    const { backup } = await connect(place, scratch);
    const file = relative(scratch.home, fileOf(place, scratch));
    assert.equal(backup, undefined);
    assert.deepEqual(Object.keys(await scratch.files()), [file]);
    await disconnect(place, scratch);
    assert.deepEqual(await scratch.files(), {});
    const { plan } = await disconnect(place, scratch);
    assert.equal(plan.before, undefined);
  });

  test('that is a link is written at its target, with the mode of the target', async () => {
    await using scratch = await openScratch();
    const real = await scratch.put('dotfiles/real', '');
    await chmod(real, 0o640);
    const file = fileOf(place, scratch);
    await mkdir(dirname(file), { recursive: true });
    await symlink(relative(dirname(file), real), file);
    const { backup = '' } = await connect(place, scratch);
    assert.ok((await lstat(file)).isSymbolicLink());
    assert.equal(backup, `${file}.agenthub-backup-1`);
    for (const path of [real, backup]) assert.equal((await stat(path)).mode & 0o777, 0o640);
    assert.ok(serversIn(place, await readFile(real, 'utf8'))['agenthub']);
    await disconnect(place, scratch);
    assert.ok((await lstat(file)).isSymbolicLink());
    assert.equal(await readFile(real, 'utf8'), '');
  });

  test('that is a broken link is created at its target, and removed at disconnect', async () => {
    await using scratch = await openScratch();
    const file = fileOf(place, scratch);
    await mkdir(dirname(file), { recursive: true });
    await symlink(join(scratch.home, 'elsewhere'), file);
    await connect(place, scratch);
    assert.ok(
      serversIn(place, await readFile(join(scratch.home, 'elsewhere'), 'utf8'))['agenthub'],
    );
    await disconnect(place, scratch);
    assert.ok((await lstat(file)).isSymbolicLink());
    await assert.rejects(stat(file));
  });

  test('that cannot be parsed is refused with line and column, and left unchanged', async () => {
    await using scratch = await openScratch();
    const file = fileOf(place, scratch);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '{\n  "a": = sk-planted0123456789\n');
    const before = await scratch.files();
    const refused = await connect(place, scratch).catch((error: unknown) => error);
    assert.ok(refused instanceof HubError);
    assert.equal(refused.code, 'HUB_CONFIG_INVALID');
    assert.match(refused.message, /:[12]:\d+: not valid (?:JSON|TOML): /);
    assert.ok(refused.message.startsWith(`${file}:`));
    assert.doesNotMatch(refused.message, /planted/);
    assert.deepEqual(await scratch.files(), before);
  });

  test('that has the hub at another address gets the new entry, and disconnect restores the first one', async () => {
    await using scratch = await openScratch();
    const file = fileOf(place, scratch);
    const [first] = wild.toReversed();
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, first?.text ?? '');
    const before = await scratch.files();
    await connect(place, scratch, { ...hub, url: 'http://localhost:9191' });
    await connect(place, scratch);
    assert.deepEqual(
      serversIn(place, await readFile(file, 'utf8'))['agenthub'],
      hubEntry(place.client, hub),
    );
    assert.equal(Object.keys(await scratch.files()).length, 3);
    await disconnect(place, scratch);
    assert.deepEqual(await scratch.files(), before);
  });

  test('that has the hub under another name is not written', async () => {
    await using scratch = await openScratch();
    const other = { ...target(place), name: 'mine' };
    await scratch.clients.carryOut(await scratch.clients.planConnect(other, hub));
    const { plan } = await connect(place, scratch);
    assert.deepEqual([plan.after, plan.name], [plan.before, 'mine']);
    const gone = await scratch.clients.planDisconnect(target(place), hub);
    assert.deepEqual([gone.after, gone.others], [gone.before, ['mine']]);
  });
});

test('keys that a person added beside the address are kept', async () => {
  await using scratch = await openScratch();
  const old = {
    url: 'http://localhost:1/mcp',
    headers: { A: 'b' },
    alwaysAllow: ['x'],
    timeout: 5,
  };
  const file = await scratch.put(
    '.cursor/mcp.json',
    JSON.stringify({ mcpServers: { agenthub: old } }),
  );
  const place = { client: 'cursor', scope: 'user' } as const;
  await connect(place, scratch);
  const entry = serversIn(place, await readFile(file, 'utf8'))['agenthub'];
  assert.deepEqual(entry, { url: 'http://localhost:9090/mcp', alwaysAllow: ['x'], timeout: 5 });
});

test.for([
  ['.cursor/mcp.json', 'cursor', '[]'],
  ['.cursor/mcp.json', 'cursor', '{"mcpServers": []}'],
  ['.cursor/mcp.json', 'cursor', '{"mcpServers": null}'],
  ['.cursor/mcp.json', 'cursor', '{"mcpServers": {}, "mcpServers": "x"}'],
  ['.cursor/mcp.json', 'cursor', '// only a comment'],
  ['.codex/config.toml', 'codex', 'mcp_servers = 1'],
  ['.codex/config.toml', 'codex', 'mcp_servers = { one = { command = "a" } }'],
  ['.codex/config.toml', 'codex', 'mcp_servers = { agenthub = { url = "x" } }'],
] as const)('%s with %s is refused, and left unchanged', async ([path, client, text]) => {
  await using scratch = await openScratch();
  await scratch.put(path, text);
  const before = await scratch.files();
  await assert.rejects(connect({ client, scope: 'user' }, scratch), HubError);
  assert.deepEqual(await scratch.files(), before);
});

/** Returns the hub's entry in every form of TOML. */
const tomlForms = (url: string) => [
  `mcp_servers.agenthub.url = "${url}"\nmcp_servers.agenthub.enabled = false # why\nmodel = "o4"\n`,
  `[mcp_servers]\nagenthub.url = "${url}"\n"agenthub".enabled = false\n\n[other]\nx = 1\n`,
  `["mcp_servers".'agenthub']\nurl = "${url}"\n# inside\nenabled = false\n\n[mcp_servers.agenthub.http_headers]\nA = "b"\n\n[z]\ny = 1\n`,
  `[mcp_servers.agenthub.http_headers]\nA = "b"\n[a]\nx = 1\n[mcp_servers.agenthub]\nurl = """\n${url}"""\nenabled = false\n`,
];
const codex = { client: 'codex', scope: 'user' } as const;
const cursor = { client: 'cursor', scope: 'user' } as const;

test.for(tomlForms('http://127.0.0.1:9191/mcp'))(
  'in TOML every form of the entry is found, and its other keys are kept: %j',
  async text => {
    await using scratch = await openScratch();
    const file = await scratch.put('.codex/config.toml', text);
    await connect(codex, scratch);
    const servers = serversIn(codex, await readFile(file, 'utf8'));
    assert.deepEqual(servers['agenthub'], { url: 'http://localhost:9090/mcp', enabled: false });
    await disconnect(codex, scratch);
    const after = await readFile(file, 'utf8');
    assert.equal(serversIn(codex, after)['agenthub'], undefined);
    assert.doesNotMatch(after, /agenthub|enabled/);
  },
);

test('Codex with an empty inline table of servers gets the hub, and its own text again at disconnect', async () => {
  await using scratch = await openScratch();
  const before = 'model = "o4"\nmcp_servers = {}\n';
  const file = await scratch.put('.codex/config.toml', before);
  await connect(codex, scratch);
  const text = await readFile(file, 'utf8');
  assert.equal(text, 'model = "o4"\n\n[mcp_servers.agenthub]\nurl = "http://localhost:9090/mcp"\n');
  await disconnect(codex, scratch);
  assert.equal(await readFile(file, 'utf8'), before);
});

test('connect does not rewrite an integer that JSON cannot represent; disconnect removes the entry', async () => {
  await using scratch = await openScratch();
  const large = 'limit = 9007199254740993\n';
  const text = `[mcp_servers.agenthub]\nurl = "https://other.example/mcp"\n${large}`;
  const file = await scratch.put('.codex/config.toml', text);
  await assert.rejects(connect(codex, scratch), {
    code: 'HUB_CONFIG_CONFLICT',
    message: `${file}: mcp_servers.agenthub contains an integer beyond 2^53, which cannot be kept exactly. Write a smaller one, or remove it`,
  });
  assert.deepEqual(await scratch.files(), { '.codex/config.toml': text });

  await writeFile(file, 'model = "o4"\n');
  await connect(codex, scratch);
  await writeFile(file, (await readFile(file, 'utf8')) + large);
  await disconnect(codex, scratch);
  assert.equal(await readFile(file, 'utf8'), 'model = "o4"\n');
});

const foreign: readonly (readonly [path: string, text: string, place: Place])[] = [
  ...tomlForms('https://other.example/mcp').map(
    text => ['.codex/config.toml', text, codex] as const,
  ),
  ...[
    '{"mcpServers":{"agenthub":{"command":"mine"}},"k":1}',
    '{\r\n\t"mcpServers": {"agenthub": { /* mine */ "command":"mine","timeout":5, }, },\r\n}',
    '{"mcpServers": {"a": {}, "agenthub": {"url": "http://localhost:3000/api"}, "b": {}}}\n',
    '{"mcpServers": {"agenthub": null}}',
  ].map(text => ['.cursor/mcp.json', text, cursor] as const),
];

test.for(foreign)(
  'an entry of another server in %s is restored byte for byte: %j',
  async ([path, text, place]) => {
    await using scratch = await openScratch();
    await scratch.put(path, text);
    await connect(place, scratch, { ...hub, url: 'http://localhost:9191' });
    await connect(place, scratch);
    const connected = (await scratch.files())[path] ?? '';
    assert.match(JSON.stringify(serversIn(place, connected)['agenthub']), /localhost:9090\/mcp/);
    await disconnect(place, scratch);
    assert.deepEqual(await scratch.files(), { [path]: text });
  },
);

test('an entry of another server is restored into a file that was changed since, too', async () => {
  await using scratch = await openScratch();
  const mine = { command: 'mine', args: ['a'], env: { KEY: 'x' } };
  const text = JSON.stringify({ mcpServers: { agenthub: mine, one: {} } });
  const file = await scratch.put('.cursor/mcp.json', text);
  await connect(cursor, scratch);
  await writeFile(file, (await readFile(file, 'utf8')).replace('"one"', '"two"'));
  await disconnect(cursor, scratch);
  assert.deepEqual(serversIn(cursor, await readFile(file, 'utf8')), { agenthub: mine, two: {} });

  // The user removes the server by hand before the hub is added.
  await writeFile(file, '{"mcpServers": {"two": {}}}');
  await connect(cursor, scratch);
  await writeFile(file, (await readFile(file, 'utf8')).replace('"two"', '"six"'));
  await disconnect(cursor, scratch);
  assert.deepEqual(serversIn(cursor, await readFile(file, 'utf8')), { six: {} });
});

test.for([
  [
    '.cursor/mcp.json',
    'cursor',
    '{"mcpServers": {"agenthub": {"url": "a"}, "agenthub": {"url": "b"}}}',
    'Edit it by hand',
  ],
  [
    '.codex/config.toml',
    'codex',
    'mcp_servers = { agenthub = { url = "x" } }',
    'Write each server there as a table of its own, [mcp_servers.NAME], and repeat this',
  ],
] as const)(
  'an entry that cannot be removed alone stays, with the reason: %s',
  async ([path, client, text, remedy]) => {
    await using scratch = await openScratch();
    await scratch.put(path, text);
    const before = await scratch.files();
    await assert.rejects(disconnect({ client, scope: 'user' }, scratch), (error: unknown) => {
      assert(error instanceof HubError && error.code === 'HUB_CONFIG_CONFLICT');
      assert.match(error.message, /agenthub is written in a way /);
      return error.message.endsWith(`. ${remedy}`);
    });
    assert.deepEqual(await scratch.files(), before);
  },
);

test('what another program writes meanwhile is not overwritten, and no backup is left', async () => {
  await using scratch = await openScratch();
  const file = await scratch.put('.claude.json', '{"mcpServers": {}}');
  const place = { client: 'claude-code', scope: 'user' } as const;
  const plan = await scratch.clients.planConnect(target(place), hub);
  await writeFile(file, '{"mcpServers": {"new": {}}}');
  await assert.rejects(scratch.clients.carryOut(plan), { code: 'HUB_CONFIG_CONFLICT' });
  assert.deepEqual(await scratch.files(), { '.claude.json': '{"mcpServers": {"new": {}}}' });
});

test.for(['EACCES', 'EROFS', 'ENOSPC', 'EBUSY'])(
  'if writing fails with %s, all files are unchanged',
  async code => {
    await using scratch = await openScratch();
    await scratch.put('.codex/config.toml', 'model = "o4"');
    const before = await scratch.files();
    const failing = createClients({
      machine: scratch.machine,
      writeWhole: async () => {
        throw Object.assign(new Error(code), { code });
      },
      readOptions: async () => ({ env: {}, home: scratch.home }),
      recordsFolder: async () => scratch.records,
      now: () => 0,
      openSecrets: async () => assert.fail('no secret is stored'),
    });
    const place = { client: 'codex', scope: 'user' } as const;
    const plan = await failing.planConnect(target(place), hub);
    const told = {
      code: 'HUB_CONFIG_UNWRITABLE',
      message: /config\.toml cannot be written and is unchanged: /,
    };
    await assert.rejects(failing.carryOut(plan), told);
    assert.deepEqual(await scratch.files(), before);
  },
);
