import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadConfig } from '#config';
import { HubError } from '#core';

// Each file in fixtures/configs contains an input, a line "----", and the result: the config, or the code and message
// of the error. UPDATE_GOLDEN=1 rewrites the results, for review by a person.
const folder = join(import.meta.dirname, '../fixtures/configs');
const rule = '----\n';
const env = { TOKEN: 's3cret', EMPTY: '', TWO: '2', CLIENT_TOKEN: 'a-token-of-a-client' };

let scratch = '';
beforeAll(async () => {
  // The hub resolves links in mounts, and on some systems the temporary folder is a link.
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-config-')));
});
afterAll(async () => {
  await rm(scratch, { recursive: true, force: true });
});

async function outcomeOf(file: string): Promise<string> {
  const path = join(scratch, file);
  const outcome = await loadConfig(path, { env, home: '/home/user' }).then(
    config => `${JSON.stringify(config, undefined, 2)}\n`,
    (error: unknown) => {
      assert.ok(error instanceof HubError, String(error));
      return `${error.code}\n${error.message}\n`;
    },
  );
  return outcome.replaceAll(scratch, '<folder>');
}

describe('golden files', async () => {
  for (const golden of (await readdir(folder)).sort()) {
    test(golden, async () => {
      const text = await readFile(join(folder, golden), 'utf8');
      const [input = '', expected = ''] = text.split(rule);
      const file = golden.replace(/\.txt$/, '');
      await writeFile(join(scratch, file), input);
      const outcome = await outcomeOf(file);
      if (process.env['UPDATE_GOLDEN'])
        await writeFile(join(folder, golden), `${input}${rule}${outcome}`);
      else assert.equal(outcome, expected);
      assert.ok(!outcome.startsWith('HUB_') || !outcome.includes(env.TOKEN), 'shows a secret');
    });
  }
});

test('a problem in each of 5,000 servers is found in linear time, not in the square of them', async () => {
  /** CPU time of a check with a problem in each server, in ms, which other processes do not lengthen. */
  async function check(servers: number): Promise<number> {
    const entries = Array.from({ length: servers }, (_, at) => [
      `s${at}`,
      { package: 'p@1.2.3', colour: 1 },
    ]);
    const text = JSON.stringify({ servers: Object.fromEntries(entries) }, undefined, 1);
    await writeFile(join(scratch, 'many.json'), text);
    const before = process.cpuUsage();
    const lines = (await outcomeOf('many.json')).trimEnd().split('\n');
    const { user, system } = process.cpuUsage(before);
    assert.equal(lines.length, 1 + servers);
    const last = `<folder>/many.json:${4 * servers + 1}:4: servers.s${servers - 1}.colour: unknown key`;
    assert.ok(lines.at(-1)?.startsWith(last), lines.at(-1));
    return (user + system) / 1_000;
  }
  await check(1_250);
  const [few, many] = [await check(1_250), await check(5_000)];
  assert.ok(many < 10 * few, `${many} ms for four times the servers of ${few} ms`);
});

describe('files that cannot be read', () => {
  test('an absent file is reported as absent', async () => {
    assert.equal(
      await outcomeOf('absent.json'),
      'HUB_CONFIG_MISSING\n<folder>/absent.json: there is no such file. Write one with "agenthub init", or name another with --config or MCP_SERVERS_CONFIG\n',
    );
  });

  test.for([
    ['empty.json', '', '1:1: the file is empty: write {"servers": {}}'],
    ['blank.yaml', ' \n\n', '1:1: the file is empty: write servers: {}'],
    ['null.json', 'null', '1:1: the file is empty: write {"servers": {}}'],
  ] as const)('%s is reported as empty', async ([file, text, message]) => {
    await writeFile(join(scratch, file), text);
    assert.equal(await outcomeOf(file), `HUB_CONFIG_INVALID\n<folder>/${file}:${message}\n`);
  });

  test.for([
    ['notepad.json', '\uFEFF{"servers": {}}'],
    ['powershell.json', '{"servers": {}}'],
    ['notepad.yaml', '\uFEFFservers: {}'],
  ] as const)('%s in UTF-16 is refused with the encoding to use', async ([file, text]) => {
    await writeFile(join(scratch, file), text, 'utf16le');
    const message =
      '1:1: it is in UTF-16, as "Unicode" in Notepad and ">" in Windows PowerShell write it. Save it as UTF-8';
    assert.equal(await outcomeOf(file), `HUB_CONFIG_INVALID\n<folder>/${file}:${message}\n`);
    await writeFile(join(scratch, file), Buffer.from(text, 'utf16le').swap16());
    assert.equal(await outcomeOf(file), `HUB_CONFIG_INVALID\n<folder>/${file}:${message}\n`);
  });

  test.for([
    ['latin.json', '{"servers": {}}\n// Schl\u00fcssel', '2:8'],
    ['latin.yaml', '# Gr\u00f6\u00dfe\nservers: {}\n', '1:5'],
  ] as const)('%s in Latin-1 is refused at its first other character', async ([file, text, at]) => {
    await writeFile(join(scratch, file), text, 'latin1');
    const message = `${at}: it is not UTF-8, but Latin-1, Windows-1252 ("ANSI" in Notepad) or another encoding. Save it as UTF-8`;
    assert.equal(await outcomeOf(file), `HUB_CONFIG_INVALID\n<folder>/${file}:${message}\n`);
    await writeFile(join(scratch, file), text.replace('\u00fc', '\uFFFD'));
    assert.match(await outcomeOf(file), /"servers": \[\]/, 'a replacement character is allowed');
  });

  test.for([
    ['hello', '1:1: not valid JSON: a word or character that is not JSON'],
    ['  // kept\n@@@', '2:1: not valid JSON: a word or character that is not JSON'],
    ['}', '1:1: not valid JSON: a value is missing here'],
    [Buffer.from([0xff, 0xfe, 0, 0x7b, 0]), '1:1: it is in UTF-16'],
    [Buffer.alloc(64), '1:1: not valid JSON: '],
  ] as const)('%j is reported as invalid, not as empty', async ([bytes, message]) => {
    await writeFile(join(scratch, 'damaged.json'), bytes);
    const outcome = await outcomeOf('damaged.json');
    assert.match(outcome, /^HUB_CONFIG_INVALID\n<folder>\/damaged\.json:/);
    assert.ok(outcome.includes(message), outcome);
    assert.doesNotMatch(outcome, /empty/);
  });

  test('a file with only comments is reported as empty', async () => {
    await writeFile(join(scratch, 'comments.jsonc'), '// to come\n/* more */\n');
    assert.match(await outcomeOf('comments.jsonc'), /the file is empty: write \{"servers": \{\}\}/);
  });

  test('a volume without a path is refused with the form to write', async () => {
    const entry = { image: 'any:1', volumes: ['vol1'] };
    await writeFile(join(scratch, 'volume.json'), JSON.stringify({ servers: { x: entry } }));
    assert.match(
      await outcomeOf('volume.json'),
      /servers\.x\.volumes\[0\]: "vol1" is not allowed: write \{"name": "\/path"\} instead of the list/,
    );
  });

  test('extras in the name of a package are refused with the key for them', async () => {
    const entry = { package: 'uvx:tool[all]==1.0' };
    await writeFile(join(scratch, 'extras.json'), JSON.stringify({ servers: { x: entry } }));
    assert.match(
      await outcomeOf('extras.json'),
      /servers\.x\.package: "uvx:tool\[all\]==1\.0" is not allowed: write "uvx:tool==1\.0", and the extras as "with": \["tool\[all\]"\] \(agenthub add --with "tool\[all\]"\)/,
    );
  });

  test('a folder is not a file', async () => {
    await mkdir(join(scratch, 'folder.json'));
    assert.equal(
      await outcomeOf('folder.json'),
      'HUB_CONFIG_INVALID\n<folder>/folder.json: it is a folder. Name a file in it\n',
    );
  });

  test('an unknown extension is refused, as it decides the format', async () => {
    assert.match(await outcomeOf('servers.toml'), /must end in \.json, \.jsonc, \.yaml or \.yml/);
  });
});

test('a byte order mark, as from editors on Windows, is ignored', async () => {
  await writeFile(join(scratch, 'mark.json'), '\uFEFF{"servers": {}}');
  assert.deepEqual(JSON.parse(await outcomeOf('mark.json')).servers, []);
});

test('aliases that multiply are refused before they fill the memory', async () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const inside =
      level === 0 ? 'x' : Array.from({ length: 12 }, () => `*a${level - 1}`).join(', ');
    return `a${level}: &a${level} [${inside}]`;
  });
  await writeFile(join(scratch, 'bomb.yaml'), levels.join('\n'));
  assert.match(await outcomeOf('bomb.yaml'), /too many values, or aliases that contain each other/);
});

test.each([
  ['"1m"', 'write a number of seconds from 1 to 86400, without quotes'],
  ['0', 'write a number of seconds from 1 to 86400'],
  ['90000', 'write a number of seconds from 1 to 86400'],
])('the problem of the period %s names its unit', async (per, remedy) => {
  const text = `{"servers": {}, "clients": {"cursor": {"rate": {"calls": 1, "per": ${per}}}}}`;
  await writeFile(join(scratch, 'rate.json'), text);
  const told = await outcomeOf('rate.json');
  assert.ok(told.includes(`clients.cursor.rate.per: ${per} is not allowed: ${remedy}\n`), told);
});

test('problems are in the data of the error, with their paths', async () => {
  const file = join(scratch, 'data.json');
  await writeFile(file, '{"servers": {"memory": {"comand": "x", "max_restarts": -1}}}');
  await assert.rejects(loadConfig(file, { env, home: '/home/user' }), (error: unknown) => {
    assert.ok(error instanceof HubError);
    assert.deepEqual(error.data['problems'], [
      {
        path: 'servers.memory.comand',
        message: `${file}:1:25: servers.memory.comand: unknown key. Did you mean "command"?`,
      },
      {
        path: 'servers.memory.max_restarts',
        message: `${file}:1:40: servers.memory.max_restarts: -1 is not allowed: write a number of at least 0`,
      },
    ]);
    return true;
  });
});

test('the shipped config is valid and pins every version', async () => {
  const shipped = join(import.meta.dirname, '../../configs/mcp-servers.default.json');
  const { servers } = await loadConfig(shipped, { env: {}, home: '/home/user' });
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['memory', 'sequential-thinking', 'context7', 'desktop-commander', 'ollama'],
  );
  for (const { name, launch, autoStart, description } of servers) {
    assert.equal(autoStart, name !== 'ollama');
    assert.ok(description !== undefined && launch.kind === 'local');
    // The entry of the hub's own server has no package.
    if (launch.own === 'ollama-mcp') continue;
    assert.ok(launch.package);
    assert.match(launch.package.spec, /@\d+\.\d+\.\d+$/);
  }
});

describe('secrets', () => {
  const entry = { command: 'x', args: [] as const };
  async function loadWith(config: object, values: Readonly<Record<string, string>>) {
    const file = join(scratch, 'secrets.json');
    await writeFile(file, JSON.stringify(config));
    const asked: string[] = [];
    const loaded = await loadConfig(file, {
      env,
      home: '/home/user',
      async secrets(names) {
        asked.push(...names);
        return new Map(Object.entries(values).map(([name, value]) => [name, { value }]));
      },
    });
    return { ...loaded, asked };
  }

  test('are read once and together, and the variables that contain them are named', async () => {
    const one = { ...entry, env: { A: 'x${secret:KEY}', B: '${TOKEN}', C: '${secret:NOPE:-c}' } };
    const two = { url: 'https://host', headers: { Authorization: 'Bearer ${secret:KEY}' } };
    const { servers, asked } = await loadWith({ servers: { one, two } }, { KEY: 'k3y' });
    assert.deepEqual(asked, ['KEY', 'NOPE']);
    assert.ok(servers[0]?.launch.kind === 'local' && servers[1]?.launch.kind === 'remote');
    assert.deepEqual(servers[0].launch.env, { A: 'xk3y', B: env.TOKEN, C: 'c' });
    assert.deepEqual(servers[0].secretEnv, ['A', 'C']);
    assert.deepEqual(servers[1].launch.headers, { Authorization: 'Bearer k3y' });
    assert.equal(servers[1].secretEnv, undefined);
  });

  test('may be the client secret of a login; if missing, only its server fails', async () => {
    const oauth = { client_id: 'hub', client_secret: '${secret:CLIENT}' };
    const one = { url: 'https://host', oauth };
    const given = await loadWith({ servers: { one } }, { CLIENT: 's3cret' });
    const launch = given.servers[0]?.launch;
    assert.ok(launch?.kind === 'remote');
    assert.deepEqual(launch.oauth, { client_id: 'hub', client_secret: 's3cret' });
    const { servers } = await loadWith({ servers: { one, two: entry } }, {});
    assert.deepEqual(servers[0]?.secretFaults, [
      'secret CLIENT is not set. Run agenthub secret set CLIENT',
    ]);
    assert.equal(servers[1]?.secretFaults, undefined);
  });

  test('that are missing fail only the servers that use them', async () => {
    const one = { url: '${secret:URL}', headers: { A: '${secret:KEY}', B: '${secret:KEY}' } };
    const { servers } = await loadWith({ servers: { one, two: entry } }, {});
    assert.deepEqual(servers[0]?.secretFaults, [
      'secret URL is not set. Run agenthub secret set URL',
      'secret KEY is not set. Run agenthub secret set KEY',
    ]);
    assert.equal(servers[1]?.secretFaults, undefined);
  });

  test('of a disabled server are not read, and may be missing', async () => {
    const one = { ...entry, disabled: true, env: { A: '${secret:KEY}' } };
    const { servers, asked } = await loadWith({ servers: { one } }, {});
    assert.deepEqual(asked, []);
    assert.equal(servers[0]?.secretFaults, undefined);

    const two = { ...entry, env: { A: '${secret:KEY}' } };
    const shared = await loadWith({ servers: { one, two } }, { KEY: 'value' });
    assert.deepEqual(shared.servers[0], servers[0], 'one does not depend on the secrets of two');
  });

  test('may be the token of a client', async () => {
    const config = { clients: { cursor: { token: '${secret:CURSOR}' } }, servers: {} };
    const { clients } = await loadWith(config, { CURSOR: 'x'.repeat(16) });
    assert.match(clients?.[0]?.tokenDigest ?? '', /^[\da-f]{64}$/);
    await assert.rejects(loadWith(config, {}), /clients\.cursor\.token: secret CURSOR is not set/);
  });

  test('may be the token of the hub, which must be set', async () => {
    const config = { token: '${secret:HUB}', servers: {} };
    assert.equal((await loadWith(config, { HUB: 'x'.repeat(16) })).token, 'x'.repeat(16));
    await assert.rejects(loadWith(config, {}), {
      code: 'HUB_CONFIG_INVALID',
      message: /secrets\.json:1:2: token: secret HUB is not set\. Run agenthub secret set HUB$/,
    });
  });
});
