import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'vitest';
import type { CliNeeds, ServeOptions } from '#cli';
import { loadConfig, schemaJson } from '#config';
import { HubError } from '#core';
import { type Outcome, run as runCli } from './run.ts';

const shipped = fileURLToPath(new URL('../../configs/mcp-servers.json', import.meta.url));

async function run(
  args: readonly string[],
  needs: Partial<CliNeeds> = {},
  signal = AbortSignal.timeout(20_000),
): Promise<Outcome> {
  return await runCli(
    args,
    {
      loadConfig: async (file = shipped) => ({
        file,
        config: await loadConfig(file, { env: {}, home: '/home/user' }),
      }),
      ...needs,
    },
    { signal },
  );
}

describe('used rightly', () => {
  test('serve hands the tags to the app', async () => {
    const asked: ServeOptions[] = [];
    const startApp = async (options: ServeOptions) => {
      asked.push(options);
      return { address: 'http://127.0.0.1:9090', stop: async () => {} };
    };
    await run(['serve', '--tags', 'work, notes'], { startApp }, AbortSignal.abort());
    assert.deepEqual(asked, [{ tags: ['work', 'notes'] }]);
    const { code, err } = await run(['serve', '--tags', 'work,,notes']);
    assert.equal(code, 2);
    assert.match(err, /--tags: "work,,notes" is not allowed/);
  });

  test('connect-stdio hands on where the hub is, and ends with its client', async () => {
    const asked: object[] = [];
    const connectStdio = async (options: object) => void asked.push(options);
    const args = ['connect-stdio', '--url', 'https://hub.example', '--server', 'notes'];
    assert.deepEqual(await run(args, { connectStdio }), { code: 0, out: '', err: '' });
    assert.equal((await run(['connect-stdio'], { connectStdio })).code, 0);
    assert.deepEqual(asked, [{ url: 'https://hub.example', server: 'notes' }, {}]);
  });

  test('connect-stdio exits with 1 and the message where no hub answers', async () => {
    const connectStdio = async () => {
      throw new HubError('HUB_CONNECT_FAILED', 'no hub answers');
    };
    const ended = await run(['connect-stdio'], { connectStdio });
    assert.deepEqual(ended, { code: 1, out: '', err: 'no hub answers' });
  });

  test.for(['--help', '-h', 'help'])('%s lists the commands', async arg => {
    const { code, out } = await run([arg]);
    assert.equal(code, 0);
    for (const name of ['serve', 'connect-stdio', 'check', 'schema'])
      assert.match(out, new RegExp(`^  ${name} `, 'm'));
  });

  test('--version tells the version', async () => {
    assert.deepEqual(await run(['--version']), { code: 0, out: '1.2.3', err: '' });
  });

  test('serve --help lists its options', async () => {
    const { code, out } = await run(['serve', '--help']);
    assert.equal(code, 0);
    assert.match(out, /--config <file>/);
    assert.match(out, /--port <number>/);
  });

  test('schema prints the JSON Schema', async () => {
    assert.deepEqual(await run(['schema']), { code: 0, out: schemaJson().trimEnd(), err: '' });
  });

  test('check tells what the config says, a line for each server', async () => {
    const { code, out, err } = await run(['check']);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    const [first, ...lines] = out.split('\n');
    assert.equal(first, `${shipped}: fine, 4 servers`);
    assert.equal(lines.length, 4);
    assert.match(
      lines[0] ?? '',
      /^ {2}memory +npm @modelcontextprotocol\/server-memory@\S+ +starts with the hub$/,
    );
  });
});

test('check tells what to think about on stderr, a line each, and is content', async () => {
  const config = await loadConfig(shipped, { env: {}, home: '/home/user' });
  const servers = config.servers.map(server =>
    server.launch.kind === 'local'
      ? {
          ...server,
          launch: { ...server.launch, package: { ecosystem: 'npm', spec: 'x' } as const },
        }
      : server,
  );
  const needs = { loadConfig: async () => ({ file: 'hub.json', config: { ...config, servers } }) };
  const { code, out, err } = await run(['check'], needs);
  assert.equal(code, 0);
  assert.match(out, /^hub\.json: fine, 4 servers/);
  assert.equal(err.split('\n').length, 4);
  assert.match(err, /^warning: memory: the package x has no version, [^\n]*$/m);
});

describe('used wrongly', () => {
  test.for([
    [[], 'agenthub: a command is missing'],
    [['sevre'], 'agenthub: "sevre" is not a command'],
    [['--port'], 'agenthub: "--port" is not an option'],
    [['serve', '--prot', '1'], "agenthub: Unknown option '--prot'"],
    [['serve', '--port'], "agenthub: Option '--port <value>' argument missing"],
    [['serve', 'now'], "agenthub: Unexpected argument 'now'"],
    [['check', '--port', '1'], "agenthub: Unknown option '--port'"],
    [
      ['serve', '--port', '70000'],
      '--port: "70000" is not allowed: write a number from 0 to 65535',
    ],
  ] as const)('%j exits with 2: %s', async ([args, message]) => {
    const { code, out, err } = await run(args);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.ok(err.startsWith(message), err);
  });

  test('a hint says where to look', async () => {
    assert.match((await run(['serve', '--prot'])).err, /Run "agenthub serve --help" for help/);
    assert.match((await run(['sevre'])).err, /Run "agenthub --help" for help/);
  });

  test('check exits with 2 and the message alone where the file is wrong', async () => {
    const { code, out, err } = await run(['check', '--config', '/absent/servers.json']);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.match(err, /^\/absent\/servers\.json: there is no such file\. [^\n]*$/);
  });
});

describe('serve', () => {
  test('runs until the signal aborts, and stops what it started', async () => {
    const ending = new AbortController();
    const seen: (ServeOptions | string)[] = [];
    const { code, out } = await run(
      ['serve', '--config', 'hub.yaml', '--port', '0'],
      {
        async startApp(options) {
          seen.push(options);
          setImmediate(() => ending.abort());
          const stop = async () => void seen.push('stopped');
          return { address: 'http://127.0.0.1:9090', stop };
        },
      },
      ending.signal,
    );
    assert.deepEqual(seen, [{ configFile: 'hub.yaml', port: 0 }, 'stopped']);
    assert.deepEqual(
      { code, out },
      { code: 0, out: 'AgentHub answers at http://127.0.0.1:9090/mcp' },
    );
  });

  test('--stdio ends with its client, and keeps stdout for messages', async () => {
    const seen: (ServeOptions | string)[] = [];
    const { promise: clientGone, resolve } = Promise.withResolvers<void>();
    const { code, out, err } = await run(['serve', '--stdio', '--port', '0'], {
      async startApp(options) {
        seen.push(options);
        setImmediate(resolve);
        const stop = async () => void seen.push('stopped');
        return { address: 'http://127.0.0.1:9090', clientGone, stop };
      },
    });
    assert.deepEqual(seen, [{ stdio: true, port: 0 }, 'stopped']);
    assert.deepEqual(
      { code, out, err },
      { code: 0, out: '', err: 'AgentHub answers at http://127.0.0.1:9090/mcp' },
    );
  });

  test('shows a login link on a terminal and in a container, and in no other output', async () => {
    const link = 'http://localhost:9090/dashboard/login?code=secret';
    const seen = async (columns: number | undefined, inContainer: boolean) => {
      const ending = new AbortController();
      const startApp = async () => {
        setImmediate(() => ending.abort());
        const address = 'http://localhost:9090';
        return { address, inContainer, loginLink: () => link, stop: async () => {} };
      };
      const fake = { signal: ending.signal, ...(columns !== undefined && { columns }) };
      const { out, err } = await runCli(['serve'], { startApp }, fake);
      assert.equal(err, '');
      return out.split('\n')[1];
    };
    const shown = `Dashboard: ${link} (works once, for ten minutes; "npx agenthub open" gives another)`;
    assert.equal(await seen(200, false), shown);
    assert.equal(await seen(undefined, true), shown);
    assert.equal(await seen(undefined, false), 'Dashboard: run "npx agenthub open" to log in');
  });

  test('without options leaves the choice to the settings', async () => {
    const seen: ServeOptions[] = [];
    const startApp = async (options: ServeOptions) => {
      seen.push(options);
      return { address: '', stop: async () => {} };
    };
    await run(['serve'], { startApp }, AbortSignal.abort());
    assert.deepEqual(seen, [{}]);
  });

  test('is no failure when it is stopped before it listens', async () => {
    const startApp = async (_options: ServeOptions, signal: AbortSignal) => {
      signal.throwIfAborted();
      return assert.fail('went on');
    };
    const { code, err } = await run(['serve'], { startApp }, AbortSignal.abort());
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test.for([
    ['HUB_CONFIG_INVALID', 2],
    ['HUB_LISTEN_REFUSED', 2],
    ['HUB_PORT_TAKEN', 1],
    ['HUB_ENGINE_UNREACHABLE', 1],
  ] as const)('%s exits with %i', async ([error, expected]) => {
    const startApp = async () => {
      throw new HubError(error, 'what happened, and what to do');
    };
    const { code, err } = await run(['serve'], { startApp });
    assert.deepEqual({ code, err }, { code: expected, err: 'what happened, and what to do' });
  });

  test('a bug is not dressed up as a message', async () => {
    const startApp = async () => {
      throw new TypeError('a bug');
    };
    await assert.rejects(run(['serve'], { startApp }), /a bug/);
  });
});
