import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createConfigEditor, loadConfig } from '#config';
import { freePort } from '#helpers/port';
import { writeWhole } from '#store';
import { type Scratch, hub, openScratch } from '../../clients/machine.ts';
import { type Fake, type FlatNeeds, run } from '../run.ts';

const token = 'planted-token-0123456789';
const key = 'sk-planted0123456789';
const text = `{\n  // mine\n  "mcpServers": {\n    "one": {"command": "npx", "args": ["-y", "@a/one@1.0.0"], "env": {"KEY": "${key}"}},\n  },\n}\n`;

/** Returns the dependencies of commands, over the files of a scratch machine. */
function needsOf({ clients, home }: Scratch, more: FlatNeeds = {}): FlatNeeds {
  const config = join(home, 'hub.json');
  const options = { env: {}, home };
  return {
    openClients: async () => clients,
    findBridge: async () => hub.bridge,
    findHub: async url => ({ url: url ?? hub.url, token: undefined }),
    findConfigFile: async () => config,
    loadConfig: async () => ({ file: config, config: await loadConfig(config, options) }),
    editConfig: async () => createConfigEditor({ readOptions: async () => options, writeWhole }),
    ...more,
  };
}

const terminal: Fake = { columns: 100 };

/** Starts an HTTP server that answers every request with this JSON. */
async function startAnswering(answer: (request: IncomingMessage) => object) {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer(request)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('connect', () => {
  test.for([
    ['http://h:1/mcp/notes', 'server: write --url http://h:1 --server notes'],
    ['https://h/base/mcp/@work/', 'profile: write --url https://h/base --profile work'],
  ] as const)('--url %s is refused with the options to write', async ([url, remedy]) => {
    await using scratch = await openScratch();
    const { code, err } = await run(['connect', 'cursor', '--url', url, '--yes'], needsOf(scratch));
    assert.deepEqual([code, err.includes(`is the address of one ${remedy}`)], [2, true], err);
    assert.deepEqual(await scratch.files(), {});
  });

  test('in a pipe shows the difference, and writes only with --yes', async () => {
    await using scratch = await openScratch();
    await scratch.put('.claude.json', text);
    const { code, out, err } = await run(['connect', 'claude-code'], needsOf(scratch));
    assert.equal(code, 2);
    assert.match(out, /^\+ {4}"agenthub": \{$/m);
    assert.match(err, /nothing was written.*Add --yes.*--dry-run/);
    assert.deepEqual(await scratch.files(), { '.claude.json': text });
    const dry = await run(['connect', 'claude-code', '--dry-run'], needsOf(scratch));
    assert.equal(dry.code, 0);
    assert.equal(dry.out, `${out}\nNothing was written.`);
    assert.deepEqual(await scratch.files(), { '.claude.json': text });
  });

  test.for([
    ['y', true],
    ['Yes', true],
    ['n', false],
    ['', false],
  ] as const)('on a terminal asks, and answer %j writes: %j', async ([answer, isWritten]) => {
    await using scratch = await openScratch();
    await scratch.put('.claude.json', text);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answer;
    };
    const { code, out } = await run(
      ['connect', 'claude-code'],
      needsOf(scratch, { ask }),
      terminal,
    );
    assert.equal(code, 0);
    assert.deepEqual(asked, [`Write ${scratch.home}/.claude.json? [y/N] `]);
    assert.equal(Object.keys(await scratch.files()).length === 2, isWritten);
    assert.match(
      out,
      isWritten ? /wrote.*as it was: .*\.agenthub-backup-1/ : /Nothing was written/,
    );
  });

  test("shows values of the hub's entry only, and never the token", async () => {
    await using scratch = await openScratch();
    const planted = needsOf(scratch, { findHub: async () => ({ url: hub.url, token }) });
    for (const [client, file] of [
      ['claude-code', '.claude.json'],
      ['claude-desktop', '.config/Claude/claude_desktop_config.json'],
      ['raycast', undefined],
    ] as const) {
      if (file) await scratch.put(file, text);
      const shown: string[] = [];
      for (const args of [
        ['connect', client, '--yes'],
        ['connect', client, '--yes', '--json'],
        ['disconnect', client, '--yes'],
      ]) {
        const { code, out, err } = await run(args, planted);
        assert.equal(code, 0, err);
        shown.push(out, err);
        if (file && args[0] === 'connect') {
          const written = await readFile(join(scratch.home, file), 'utf8');
          assert.equal(written.includes(token), client === 'claude-desktop');
        }
      }
      assert.doesNotMatch(shown.join('\n'), /planted/);
      assert.match(shown.join('\n'), /ROUTER_TOKEN|Manage MCP/);
      if (file) assert.equal(await readFile(join(scratch.home, file), 'utf8'), text);
    }
  });

  test('writes the token that the hub made for calls, and shows it nowhere', async () => {
    const made = 'made-'.padEnd(43, 'x');
    const asked: (string | undefined)[] = [];
    await using answering = await startAnswering(request => {
      asked.push(request.url);
      return { token: made, why: 'a server has a network' };
    });
    await using scratch = await openScratch();
    const needs = needsOf(scratch, {
      findHub: async () => ({ url: answering.url, token: undefined }),
    });
    for (const [client, file] of [
      ['claude-code', '.claude.json'],
      ['claude-desktop', '.config/Claude/claude_desktop_config.json'],
    ] as const) {
      const { code, out, err } = await run(['connect', client, '--yes'], needs);
      assert.equal(code, 0, err);
      assert.match(err, /keep the file out of repositories/);
      assert.ok(!`${out}${err}`.includes(made));
      assert.ok((await readFile(join(scratch.home, file), 'utf8')).includes(made));
    }
    assert.deepEqual(asked, ['/clients', '/call-token', '/clients', '/call-token']);
  });

  test('says that no hub answers at the address, and how to start it', async () => {
    await using scratch = await openScratch();
    await scratch.put('.codex/config.toml', '');
    const url = `http://127.0.0.1:${await freePort()}`;
    const away = needsOf(scratch, { findHub: async () => ({ url, token: undefined }) });
    const note = new RegExp(
      `^note: no hub answers at ${url} now: start it with "agenthub serve"$`,
      'm',
    );
    for (const args of [['claude-code'], ['cursor', '--login'], ['--all'], ['raycast']]) {
      const { code, err } = await run(['connect', ...args, '--yes'], away);
      assert.equal(code, 0, err);
      assert.match(err, note);
    }
    const json = await run(['connect', 'claude-code', '--json', '--yes'], away);
    assert.equal(json.err, '');
    await using answering = await startAnswering(() => ({ status: 'ok' }));
    const here = { findHub: async () => ({ url: answering.url, token: undefined }) };
    const { err } = await run(['connect', 'windsurf', '--yes'], needsOf(scratch, here));
    assert.doesNotMatch(err, /no hub answers/);
  });

  test('refuses a server and a profile that the running hub does not have, before anything is written', async () => {
    await using scratch = await openScratch();
    const asked: (string | undefined)[] = [];
    await using answering = await startAnswering(({ url }) => {
      asked.push(url);
      const code = { '/mcp/nope/ping': 'SERVER', '/mcp/@w%C3%B6rk/ping': 'PROFILE' }[url ?? ''];
      if (code === undefined) return { jsonrpc: '2.0', id: 1, result: {} };
      const data = { code: `HUB_${code}_UNKNOWN` };
      return { jsonrpc: '2.0', id: null, error: { code: -32602, message: 'the hub has: a', data } };
    });
    const needs = needsOf(scratch, {
      findHub: async () => ({ url: answering.url, token: undefined }),
    });
    for (const place of [
      ['--server', 'nope'],
      ['--profile', 'wörk'],
    ]) {
      for (const clients of [['claude-code'], ['--all'], ['raycast'], ['obsidian']]) {
        const { code, out, err } = await run(['connect', ...clients, ...place, '--yes'], needs);
        assert.equal(code, 1, out);
        assert.equal(err.trim(), 'the hub has: a');
      }
    }
    assert.deepEqual(await scratch.files(), {});
    const known = await run(['connect', 'claude-code', '--profile', 'work', '--yes'], needs);
    assert.equal(known.code, 0, known.err);
    assert.ok(asked.includes('/mcp/@work/ping'));
  });

  test('--login writes no token, for clients that can log in, and asks the hub for none', async () => {
    await using scratch = await openScratch();
    const needs = needsOf(scratch, { findHub: async () => ({ url: hub.url, token }) });
    const { code, err } = await run(['connect', 'cursor', '--login', '--yes'], needs);
    assert.equal(code, 0, err);
    assert.match(err, /Cursor logs in when it uses the hub: it opens your browser/);
    assert.doesNotMatch(await readFile(join(scratch.home, '.cursor/mcp.json'), 'utf8'), /headers/);
    const byCommand = [
      ['codex', '"codex mcp login hub"'],
      ['claude-code', '"claude mcp login hub"'],
      ['gemini-cli', '"/mcp auth hub"'],
    ] as const;
    for (const [client, command] of byCommand) {
      const added = await run(['connect', client, '--login', '--name', 'hub', '--yes'], needs);
      assert.ok(added.err.includes(`logs in by ${command}: it opens your browser`), added.err);
    }
    const bridged = await run(['connect', 'claude-desktop', '--login', '--yes'], needs);
    assert.deepEqual([bridged.code, /over stdio/.test(bridged.err)], [2, true]);
    const both = await run(['connect', 'cursor', '--login', '--token', '--yes'], needs);
    assert.deepEqual([both.code, /choose one/.test(both.err)], [2, true]);
  });

  test('--json prints one document', async () => {
    await using scratch = await openScratch();
    const file = `${scratch.home}/work/.vscode/mcp.json`;
    const args = ['vscode', '--workspace', '--json'];
    const dry = await run(['connect', ...args, '--dry-run'], needsOf(scratch));
    const entry = { client: 'vscode', file, name: 'agenthub' };
    assert.deepEqual(JSON.parse(dry.out), { ...entry, state: 'planned', notes: [] });
    const done = await run(['connect', ...args, '--yes'], needsOf(scratch));
    assert.deepEqual(JSON.parse(done.out), { ...entry, state: 'connected', notes: [] });
    const again = await run(['connect', ...args, '--yes'], needsOf(scratch));
    assert.deepEqual(JSON.parse(again.out), { ...entry, state: 'unchanged', notes: [] });
    const gone = await run(['disconnect', ...args, '--yes'], needsOf(scratch));
    assert.deepEqual(JSON.parse(gone.out), { ...entry, state: 'disconnected', restored: true });
    const absent = await run(['disconnect', ...args, '--yes'], needsOf(scratch));
    assert.deepEqual(JSON.parse(absent.out), { ...entry, state: 'unchanged', others: [] });
    const paste = await run(['connect', 'raycast', '--json', '--name', 'mine'], needsOf(scratch));
    assert.deepEqual(JSON.parse(paste.out), {
      client: 'raycast',
      paste: { mcpServers: { mine: { type: 'http', url: 'http://localhost:9090/mcp' } } },
      notes: [],
    });
  });

  test('without a client lists the files of all clients, and which have the hub', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor/mcp.json', '{');
    await scratch.put('.codex/config.toml', '');
    await run(['connect', 'claude-code', '--yes'], needsOf(scratch));
    const { code, out } = await run(['connect'], needsOf(scratch));
    assert.equal(code, 0);
    assert.match(out, /^ {2}claude-code +user +connected +\/.*\/\.claude\.json$/m);
    assert.match(out, /^ {2}cursor +user +cannot be read /m);
    assert.match(out, /^ {2}codex +user +not connected /m);
    assert.match(out, /^ {2}vscode +workspace +no file /m);
    const json = await run(['connect', '--json'], needsOf(scratch));
    assert.equal(JSON.parse(json.out).length, 17);
  });

  test.for([
    [['connect', 'cursr'], /"cursr" is not a client\. Did you mean "cursor"\?/],
    [['connect', 'nope'], /^"nope" is not a client\. Clients: claude-code, /],
    [['disconnect'], /<client> is missing/],
    [['connect', 'windsurf', '--workspace'], /Windsurf has no file for one folder/],
    [['connect', 'cursor', '--name', 'a b'], /--name: "a b" is not allowed/],
    [['connect', 'cursor', '--url', 'localhost:9090'], /--url: "localhost:9090" is not allowed/],
    [
      ['connect', 'cursor', '--url', 'http://localhost:0'],
      /ROUTER_PORT: the hub chooses a free port/,
    ],
    [['import', '--all', 'cursor'], /--all: cannot be combined with client names/],
  ] as const)('%j is refused as incorrect usage', async ([args, told]) => {
    await using scratch = await openScratch();
    const { code, err } = await run(args, needsOf(scratch));
    assert.equal(code, 2);
    assert.match(err, told);
    assert.deepEqual(await scratch.files(), {});
  });

  test('leaves a file that it cannot write unchanged, and names it', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor', 'a file where the folder should be');
    const before = await scratch.files();
    const { code, err } = await run(['connect', 'cursor', '--yes'], needsOf(scratch));
    assert.notEqual(code, 0);
    assert.match(err, /\.cursor\/mcp\.json/);
    assert.deepEqual(await scratch.files(), before);
  });
});

describe('connect --all', () => {
  test('connects the clients that are installed on this machine, after one question', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor/mcp.json', text);
    await scratch.put('.codex/auth.json', '{}');
    await scratch.put('.config/Code/User/mcp.json', '{');
    const before = await scratch.files();
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return asked.length === 1 ? 'n' : 'y';
    };
    await run(['connect', '--all'], needsOf(scratch, { ask }), terminal);
    assert.deepEqual(await scratch.files(), before);
    const { code, out, err } = await run(['connect', '--all'], needsOf(scratch, { ask }), terminal);
    assert.equal(code, 1);
    assert.match(err, /VS Code: .*mcp\.json:1:\d+: not valid JSON/);
    assert.match(out, /In VS Code|Switch it on in the MCP settings of Cursor/);
    assert.equal(asked.length, 2);
    assert.equal(
      asked[1],
      `Write ${scratch.home}/.cursor/mcp.json, ${scratch.home}/.codex/config.toml? [y/N] `,
    );
    const after = await scratch.files();
    const connected = Object.keys(after).filter(path => /localhost:9090/.test(after[path] ?? ''));
    assert.deepEqual(new Set(connected), new Set(['.cursor/mcp.json', '.codex/config.toml']));
    const again = await run(['connect', '--all', '--yes', '--json'], needsOf(scratch));
    assert.deepEqual(
      JSON.parse(again.out).map(({ client, state }: Record<string, unknown>) => [client, state]),
      [
        ['vscode', 'failed'],
        ['cursor', 'unchanged'],
        ['codex', 'unchanged'],
      ],
    );
  });

  test.for([
    [['--all', 'cursor'], /--all: cannot be combined with a client/],
    [['--all', '--workspace'], /--all: cannot be combined with --workspace/],
  ] as const)('%j is refused', async ([args, message]) => {
    await using scratch = await openScratch();
    const { code, err } = await run(['connect', ...args], needsOf(scratch));
    assert.equal(code, 2);
    assert.match(err, message);
  });

  test('says so if no client is installed', async () => {
    await using scratch = await openScratch();
    const { code, out } = await run(['connect', '--all', '--yes'], needsOf(scratch));
    assert.deepEqual([code, out], [0, 'No client was found on this machine.']);
  });
});

describe('import', () => {
  test('without clients lists the servers it finds, and writes nothing', async () => {
    await using scratch = await openScratch();
    await scratch.put('.claude.json', text);
    await scratch.put('hub.json', '{"servers": {}}');
    const before = await scratch.files();
    const { code, out } = await run(['import'], needsOf(scratch));
    assert.equal(code, 0);
    assert.match(out, /^ {2}\+ one: npm package @a\/one@1\.0\.0$/m);
    assert.match(out, /^Keys that are moved: MCP_ONE_KEY$/m);
    assert.match(out, /To add these to the hub, name clients/);
    assert.doesNotMatch(out, /planted/);
    assert.deepEqual(await scratch.files(), before);
  });

  test('says so if it finds no servers', async () => {
    await using scratch = await openScratch();
    await scratch.put('.claude.json', '{"mcpServers": {}}');
    await scratch.put('hub.json', '{"servers": {}}');
    const { code, out } = await run(['import'], needsOf(scratch));
    assert.equal(code, 0);
    assert.match(out, /There is nothing to add\.$/);
    assert.doesNotMatch(out, /To add these/);
  });

  test('--connect without a server to import, or without a hub, tells that it connected nothing', async () => {
    await using scratch = await openScratch();
    const needs = needsOf(scratch, {
      findHub: async () => ({ url: `http://127.0.0.1:${await freePort()}`, token: undefined }),
    });
    const move = ['import', 'claude-code', '--connect', '--yes'];
    await scratch.put('.claude.json', '{"mcpServers": {}}');
    await scratch.put('hub.json', '{"servers": {"one": {"package": "@a/one@1.0.0"}}}');
    const empty = await run(move, needs);
    assert.match(empty.out, /nothing to add\. To add the hub .*: agenthub connect <client>$/);
    await scratch.put('.claude.json', text.replace(/, "env": .*?}/, ''));
    const { code, out } = await run([...move, '--json'], needs);
    const { written, connected, kept } = JSON.parse(out);
    assert.deepEqual([code, written, connected, kept.length], [1, false, [], 1]);
  });

  test('asks, writes, and prints one document with --json', async () => {
    await using scratch = await openScratch();
    await scratch.put('.claude.json', text.replace('KEY', 'PLAIN').replace(key, 'x'));
    const config = await scratch.put('hub.json', '{"servers": {}}');
    const refused = await run(['import', 'claude-code'], needsOf(scratch));
    assert.equal(refused.code, 2);
    assert.equal(await readFile(config, 'utf8'), '{"servers": {}}');
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'n';
    };
    const args = ['import', 'claude-code', '--remove', '--no-trial'];
    await run(args, needsOf(scratch, { ask }), terminal);
    assert.deepEqual(asked, [
      `Add 1 server to ${config} and remove 1 server from ${scratch.home}/.claude.json? [y/N] `,
    ]);
    const nowhere = { findHub: async () => ({ url: 'http://localhost:1', token: undefined }) };
    const { code, out } = await run([...args, '--yes', '--json'], needsOf(scratch, nowhere));
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(out), {
      config,
      servers: [
        {
          client: 'claude-code',
          file: `${scratch.home}/.claude.json`,
          name: 'one',
          action: 'add',
          as: 'one',
          asks: [],
          dropped: [],
          hints: [],
        },
      ],
      variables: [],
      secrets: [],
      written: true,
      backups: [],
      failed: [],
      // No hub runs at the URL, so the client keeps its own server.
      kept: [
        {
          name: 'one',
          why: 'no hub is running at http://localhost:1. Start it ("agenthub serve"), and repeat this command',
        },
      ],
      connected: [],
    });
    assert.match(await readFile(config, 'utf8'), /@a\/one@1\.0\.0/);
  });

  test('continues past a file that it cannot parse, and exits with 1', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor/mcp.json', '{');
    await scratch.put('.claude.json', text.replace(key, 'x').replace('KEY', 'PLAIN'));
    const config = await scratch.put('hub.json', '{"servers": {}}');
    const { code, err } = await run(['import', '--all', '--yes', '--no-trial'], needsOf(scratch));
    assert.equal(code, 1);
    assert.match(err, /mcp\.json:1:\d+: not valid JSON/);
    assert.match(await readFile(config, 'utf8'), /"one"/);
  });
});

describe('the program itself', () => {
  const bin = join(import.meta.dirname, '../../../bin/agenthub.mjs');

  /** Runs the program on a scratch machine: with pipes, or on a pseudo-terminal if something is typed. */
  async function agenthub(scratch: Scratch, args: readonly string[], typed?: string) {
    const line = [process.execPath, bin, ...args];
    const [command = '', ...rest] =
      typed === undefined
        ? line
        : ['script', '-qec', `exec ${line.map(word => `'${word}'`).join(' ')}`, '/dev/null'];
    const child = spawn(command, rest, {
      cwd: scratch.machine.folder,
      env: { PATH: process.env['PATH'], HOME: scratch.home, TERM: 'xterm' },
    });
    let out = '';
    let isTyped = false;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        if (typed === undefined || isTyped || !out.includes('[y/N] ')) return;
        isTyped = true;
        // Keeps stdin open: its end would be typed as Ctrl-D, and might be read before the signal arrives.
        child.stdin.write(typed);
      });
    if (typed === undefined) child.stdin.end();
    const [code] = await once(child, 'close');
    return { code, out };
  }

  test('asks on a terminal, in colours, and connects and disconnects', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor/mcp.json', text);
    const { code, out } = await agenthub(scratch, ['connect', 'cursor'], 'y\n');
    assert.equal(code, 0, out);
    // eslint-disable-next-line no-control-regex
    assert.match(out, /\u001b\[32m\+ {4}"agenthub": \{/);
    assert.doesNotMatch(out, /planted/);
    const written = await readFile(join(scratch.home, '.cursor/mcp.json'), 'utf8');
    assert.match(written, /"url": "http:\/\/localhost:9090\/mcp"/);
    const gone = await agenthub(scratch, ['disconnect', 'cursor', '--yes']);
    assert.equal(gone.code, 0, gone.out);
    assert.deepEqual(await scratch.files(), { '.cursor/mcp.json': text });
  });

  test.for([
    ['n\n', 0],
    // Ctrl-D (end of the input), and Ctrl-C.
    ['\u0004', 0],
    ['\u0003', 1],
  ] as const)('writes nothing if the answer is %j', async ([typed, expected]) => {
    await using scratch = await openScratch();
    const { code, out } = await agenthub(scratch, ['connect', 'codex'], typed);
    assert.equal(code, expected, out);
    assert.deepEqual(await scratch.files(), {});
  });

  test('imports keys into the .env of the folder where the hub runs', async () => {
    await using scratch = await openScratch();
    await scratch.put('.cursor/mcp.json', text);
    await mkdir(join(scratch.machine.folder, 'configs'));
    const config = join(scratch.machine.folder, 'configs/mcp-servers.json');
    await writeFile(config, '{"servers": {}}');
    const { code, out } = await agenthub(
      scratch,
      'import cursor --yes --no-trial --keys env'.split(' '),
    );
    assert.equal(code, 0, out);
    assert.doesNotMatch(out, /planted/);
    const dotenv = await readFile(join(scratch.machine.folder, '.env'), 'utf8');
    assert.equal(dotenv, `MCP_ONE_KEY=${key}\n`);
    const checked = await agenthub(scratch, ['check']);
    assert.match(checked.out, /one +npm @a\/one@1\.0\.0 +starts with the hub/);
  });
});
