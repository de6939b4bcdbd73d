import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'vitest';
import { loadConfig, schemaJson } from '#config';
import { HubError } from '#core';
import { type FlatNeeds, type Outcome, run as runCli } from './run.ts';

const shipped = fileURLToPath(new URL('../../configs/mcp-servers.default.json', import.meta.url));

async function run(
  args: readonly string[],
  needs: FlatNeeds = {},
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

describe('correct usage', () => {
  test('connect-stdio passes on the address of the hub, and ends with its client', async () => {
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

  test('an error shows each line of the output of a server or installer once', async () => {
    const { err } = await run(['connect-stdio'], {
      async connectStdio() {
        const message =
          'the image for p@9 could not be built:\nnpm error A\nnpm error B. Correct it';
        const data = { output: 'building an image\nnpm error A\nnpm error B' };
        throw new HubError('HUB_IMAGE_BUILD_FAILED', message, { data });
      },
    });
    assert.equal(
      err,
      'the image for p@9 could not be built:\nnpm error A\nnpm error B. Correct it\n  | building an image',
    );
  });

  test.for(['--help', '-h', 'help'])('%s lists the commands', async arg => {
    const { code, out } = await run([arg]);
    assert.equal(code, 0);
    for (const name of ['serve', 'connect-stdio', 'check', 'schema'])
      assert.match(out, new RegExp(`^  ${name} `, 'm'));
  });

  test.for(['--version', '-v', 'version'])('%s prints the version', async arg => {
    assert.deepEqual(await run([arg]), { code: 0, out: '1.2.3', err: '' });
  });

  test('without a command the help is printed', async () => {
    assert.deepEqual(await run([]), await run(['--help']));
  });

  test.for([
    ['ls', 'list'],
    ['ps', 'list'],
    ['status', 'list'],
    ['rm', 'remove'],
  ] as const)('%s is another name of %s, and its help says so', async ([alias, name]) => {
    const help = await run([alias, '--help']);
    assert.deepEqual(help, await run([name, '--help']));
    assert.match(help.out, new RegExp(`^Also called: .*\\b${alias}\\b`, 'm'));
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
});

describe('incorrect usage', () => {
  test.for([
    [['sevre'], 'agenthub: "sevre" is not a command'],
    [['--port'], 'agenthub: "--port" is not an option'],
    [['serve', '--prot', '1'], "agenthub: Unknown option '--prot'"],
    [['serve', '--port'], "agenthub: Option '--port <value>' argument missing"],
    [
      ['agent'],
      'agenthub: <action> is missing: list, send, chat, logs, cancel, stop, remove, configure',
    ],
    [['check', '--config', ''], 'agenthub: --config is empty'],
    [['connect-stdio', '--server', ''], 'agenthub: --server is empty'],
    [['docs', '/projects/app', '--vault='], 'agenthub: --vault is empty'],
    [['list', '--url', ''], 'agenthub: --url is empty'],
    [['serve', 'now'], "agenthub: Unexpected argument 'now'"],
    [['check', '--port', '1'], "agenthub: Unknown option '--port'"],
    [
      ['remove', 'memory', '--yes'],
      `agenthub: Unknown option '--yes'. A word that begins with "-" goes after "--"`,
    ],
    ...['--yes', '-y'].map(
      option =>
        [
          ['add', 'memory', option],
          `agenthub: Unknown option '${option}'. To allow a setting without a question, name it: --allow NAME`,
        ] as const,
    ),
    [['remove', 'memory', '--hel'], `agenthub: Unknown option '--hel'. Did you mean "--help"?`],
    [
      ['import', '--undo', 'cursor'],
      '--undo: restores all files of the latest import. Leave out the clients',
    ],
    [
      ['import', '--undo', '--write', 'files'],
      '--undo: restores all files of the latest import. Leave out --write',
    ],
    [
      ['serve', '--port', '70000'],
      '--port: "70000" is not allowed: write a number from 0 to 65535',
    ],
  ] as const)('%j exits with 2: %s', async ([args, message]) => {
    const { code, out, err } = await run(args);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.ok(err.startsWith(message), err);
  });

  test.for([
    ['policy --tool x', '--tool: "agenthub policy" does not take it, only "agenthub policy test"'],
    [
      'secret list --store file',
      '--store: "agenthub secret list" does not take it, only "agenthub secret set"',
    ],
    [
      'audit verify --since 1h',
      '--since: "agenthub audit verify" does not take it, only "agenthub audit"',
    ],
    [
      'pins files --yes',
      '--yes: "agenthub pins files" does not take it, only "agenthub pins accept" and "agenthub pins reject"',
    ],
    [
      'tools files --server notes',
      '--server: "agenthub tools files" does not take it, only "agenthub tools", "agenthub tools enable" and "agenthub tools disable"',
    ],
    [
      'agent send ada hello --model x',
      '--model: "agenthub agent send" does not take it, only "agenthub agent configure"',
    ],
    [
      'agent list -n 5',
      '--lines: "agenthub agent list" does not take it, only "agenthub agent logs"',
    ],
    [
      'task run sum --verdict pass',
      '--verdict: "agenthub task run" does not take it, only "agenthub task report-judge"',
    ],
    [
      'task setup-task --target x',
      '--target: "agenthub task setup-task" does not take it, only "agenthub task new"',
    ],
  ])('%s is refused, because another action takes the option', async ([line = '', message]) => {
    const { code, out, err } = await run(line.split(' '));
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.equal(err.split('\n')[0], `agenthub: ${message}`);
  });

  test.for([
    ['agent remove ada bob -y', 'remove ID'],
    ['agent stop ada bob', 'stop ID'],
    ['agent chat ada bob', 'chat ID'],
    ['agent cancel ada m1 bob', 'cancel ID MESSAGE'],
  ])('%s is refused, because it takes fewer words', async ([line = '', form]) => {
    const { code, out, err } = await run(line.split(' '));
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.equal(err, `agent: "bob" is one word too many: write "agenthub agent ${form}"`);
  });

  test('--image without a command that needs it is refused', async () => {
    const { code, err } = await run(
      'task new --target a.js --requirement x --implementer a --reviewer b --image node:24'.split(
        ' ',
      ),
      { findHub: async () => ({ url: 'http://127.0.0.1:9', token: undefined }) },
    );
    assert.deepEqual(
      [code, err],
      [2, 'task new: --image needs --accept, whose commands run in it'],
    );
  });

  test.for([
    [['docs', ''], 'agenthub: <repository> is empty'],
    [['task', 'status', ''], 'agenthub: <id> is empty'],
    [['agent', 'send', '', 'hello'], 'agenthub: <id> is empty'],
    [['stop', 'files', ''], 'agenthub: <server> is empty'],
  ] as const)('%j, as from an empty variable of a shell, is refused', async ([args, message]) => {
    const { code, out, err } = await run(args);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.equal(err.split('\n')[0], message);
  });

  test('an unknown action is reported before its options', async () => {
    assert.match((await run(['policy', 'tset', '--tool', 'x'])).err, /^policy: write/);
    assert.match((await run(['agent', 'sned', 'ada', '--model', 'x'])).err, /^agent: write/);
  });

  test('a hint points to the help of the command', async () => {
    assert.match((await run(['serve', '--prot'])).err, /Run "agenthub serve --help" for help/);
    assert.match((await run(['sevre'])).err, /Run "agenthub --help" for help/);
  });
});
