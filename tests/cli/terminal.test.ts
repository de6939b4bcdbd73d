import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createAsk } from '#cli';
import { isObject } from '#core';
import { type HubProcess, settled, startHub } from '#helpers/hub-process';

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'bin', 'agenthub.mjs');
const serverOf = (file: string) => ({
  command: process.execPath,
  args: [join(root, 'tests', 'fixtures', 'servers', file)],
  runtime: 'process',
});
const config = {
  servers: {
    calendar: { ...serverOf('calendar.mjs'), auto_start: true },
    echo: serverOf('echo.mjs'),
    spare: serverOf('echo.mjs'),
    spare2: serverOf('echo.mjs'),
  },
};

let folder = '';
let hub: HubProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agenthub-terminal-'));
  writeFileSync(join(folder, 'servers.json'), JSON.stringify(config));
  hub = await startHub({ config });
  await settled(hub, 20_000);
  await writeLog();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Makes a server write a line to its log. */
const writeLog = async () =>
  await fetch(`${hub.url}/mcp/calendar/tools/call`, {
    method: 'POST',
    body: '{"name": "list_events", "arguments": {}}',
  });

const environment = () => ({
  PATH: process.env['PATH'],
  HOME: folder,
  TERM: 'xterm-256color',
  ROUTER_PORT: new URL(hub.url).port,
  DATA_DIR: hub.dataDir,
  MCP_SERVERS_CONFIG: 'servers.json',
  DOCKER_HOST: 'unix:///no/engine',
});

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

async function end(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const lineOf = (args: readonly string[]) => [process.execPath, bin, ...args].map(quoted).join(' ');

/** Runs the real program with pipes for stdin, stdout and stderr. */
const inPipe = async (args: readonly string[], env = {}) =>
  await end(process.execPath, [bin, ...args], env);
/**
 * Runs the real program on a pseudo-terminal of util-linux's `script`, 100 columns wide. `out` contains both streams.
 */
const onTerminal = async (args: readonly string[], env = {}) =>
  await end('script', ['-qec', `stty cols 100; exec ${lineOf(args)}`, '/dev/null'], env);

const hasColour = (text: string) => text.includes('\u001b[3');
/** Moves the cursor to the start of the line, and clears the line. */
const clearLine = '\r\u001b[K';
/** Returns the lines as they remain after replacements, without colours. */
const plain = (text: string) =>
  stripVTControlCharacters(
    text
      .split('\n')
      .map(line => line.slice(line.lastIndexOf(clearLine) + 1))
      .join('\n'),
  ).replaceAll('\r', '');

/** Commands, a pattern of their output, and their exit codes. */
const commands: readonly (readonly [args: readonly string[], expected: RegExp, code: number])[] = [
  [['list'], /^NAME +STATE[^]*^calendar +running +3 +0 /m, 0],
  [['list', '--tools'], /^calendar_list_events +Lists the events/m, 0],
  [
    ['call', 'calendar_create_event', 'title=a', 'room=Garden'],
    /^\{"title":"a","room":"Garden"\}$/m,
    0,
  ],
  [['call', 'calendar_cancel_event', 'title=a'], /^there is no event a$/m, 1],
  [['start', 'echo'], /^echo: running, 17 tools$/m, 0],
  [['logs', 'calendar'], /^list_events: \{\}$/m, 0],
  [['check'], /^servers\.json: fine, 4 servers$/m, 0],
  [['doctor'], /^ {2}hub +answers at .*, with \d servers$[^]*no Docker engine answers/m, 1],
  [['init'], /servers\.json already exists/, 1],
  [['completion', 'bash'], /^complete -F _agenthub agenthub$/m, 0],
  [['schema'], /"\$schema"/, 0],
  [['__complete', '--', 're'], /^remove\t[^]*^restart\t/m, 0],
  [['restart', 'calender'], /Did you mean "calendar"\?/, 1],
  [['remove', 'nothing'], /no server is called "nothing"/, 1],
  [['add', 'a b'], /^package: "a b" is not allowed/m, 2],
  [['--help'], /^Its servers:$[^]*^ {2}list +List the servers/m, 0],
  [['sevre'], /"sevre" is not a command\. Did you mean "serve"\?/, 2],
  [['serve', '--port', 'x'], /--port: "x" is not allowed/, 2],
];

describe('each command in a pipe and on a terminal', () => {
  test.concurrent.for(commands)('%j', async ([args, expected, code]) => {
    const piped = await inPipe(args);
    const shown = await onTerminal(args);
    assert.match(`${piped.out}${piped.err}`, expected);
    assert.ok(!`${piped.out}${piped.err}`.includes('\u001b'), 'there is no colour in a pipe');
    assert.match(plain(shown.out), expected);
    assert.deepEqual([piped.code, shown.code], [code, code]);
  });

  test.concurrent.for([['list'], ['check'], ['doctor'], ['restart', 'nothing']])(
    '%j --json is one document, on a terminal too',
    async args => {
      const { out } = await inPipe([...args, '--json']);
      assert.ok(isObject(JSON.parse(out)));
      const shown = await onTerminal([...args, '--json'], { NO_COLOR: '1' });
      const document = plain(shown.out)
        .replace(/^[^{]*/, '')
        .replace(/\n\}\n[^]*$/, '\n}');
      assert.ok(isObject(JSON.parse(document)), shown.out);
    },
  );
});

describe('colours', () => {
  test.concurrent.for([
    [{}, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ] as const)('on a terminal with %j: %j', async ([env, expected]) => {
    assert.equal(hasColour((await onTerminal(['check'], env)).out), expected);
  });

  test('are in a pipe where FORCE_COLOR asks for them', async () => {
    assert.ok(hasColour((await inPipe(['check'], { FORCE_COLOR: '1' })).out));
  });
});

describe('the commands that change servers', () => {
  test('add shows its steps on a terminal, and the error', async () => {
    const { code, out } = await onTerminal(['add', 'http://127.0.0.1:1/mcp', '--name', 'no']);
    assert.equal(code, 1);
    assert.ok(out.includes(clearLine), 'a line that the next one replaced');
    assert.match(plain(out), /^no .*ECONNREFUSED/m);
  });

  test('remove deletes the entry from the file', async () => {
    const [piped, shown] = [
      await inPipe(['remove', 'spare']),
      await onTerminal(['remove', 'spare2']),
    ];
    assert.deepEqual([piped.code, shown.code], [0, 0]);
    assert.equal(piped.out, 'removed spare\n');
    assert.match(plain(shown.out), /removed spare2\n/);
    assert.doesNotMatch(readFileSync(hub.configFile, 'utf8'), /spare/);
  });
});

describe('logs -f', () => {
  const line = lineOf(['logs', 'calendar', '-f']);

  /** Returns the exit code of a command line that ends by itself, while a server keeps writing log lines. */
  async function whileWriting(command: string): Promise<number | null> {
    const ended = end('sh', ['-c', command], {});
    let isOver = false;
    void ended.then(() => (isOver = true));
    while (!isOver) {
      await writeLog();
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    return (await ended).code;
  }

  test.concurrent('exits with 0 on Ctrl-C on a terminal', async () => {
    const keys = "while ! grep -q list_events typescript; do sleep 0.1; done; printf '\\003'";
    const code = await whileWriting(
      `: > typescript; (${keys}) | script -qefc ${quoted(`exec ${line}`)} typescript`,
    );
    assert.equal(code, 0);
  });

  test.concurrent('ends with the pipe that it writes to', async () => {
    assert.equal(await whileWriting(`${line} | head -n 1`), 0);
  });
});

test('a .env file does not decide where the token of the environment is sent', async () => {
  writeFileSync(
    join(folder, '.env'),
    'ROUTER_HOST=hub.example\nROUTER_TLS_CERT=a\nROUTER_TLS_KEY=b\n',
  );
  try {
    const { code, err } = await inPipe(['list'], { ROUTER_TOKEN: 'a-token-of-16-chars' });
    assert.equal(code, 2);
    assert.match(
      err,
      /says that the hub is at https:\/\/hub\.example:\d+, but ROUTER_TOKEN is from your environment/,
    );
  } finally {
    rmSync(join(folder, '.env'));
  }
});

describe('completion', () => {
  const isThere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;
  const hubOf = () => `${quoted(process.execPath)} ${quoted(bin)}`;

  test('bash completes commands, servers of the hub and tools', async () => {
    // On a busy machine, the first completions may time out before the hub answers.
    const script = `
      agenthub() { ${hubOf()} "$@"; }
      source <(agenthub completion bash)
      try() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        for attempt in 1 2 3 4 5; do [[ $COMPREPLY ]] || _agenthub; done
        echo "\${COMPREPLY[*]}"
      }
      try agenthub re
      try agenthub call calendar_l
      try agenthub logs c
      try agenthub check --config servers.j`;
    const { out, err } = await end('bash', ['-c', script], {});
    assert.equal(out, 'remove restart reload\ncalendar_list_events\ncalendar\nservers.json\n', err);
  });

  test.skipIf(!isThere('zsh'))('zsh completes words with their descriptions', async () => {
    const script = `
      agenthub() { ${hubOf()} "$@" }
      compdef() {}
      _describe() { print -l -- "\${(@P)2}" }
      source <(agenthub completion zsh)
      words=(agenthub logs c); CURRENT=3; _agenthub`;
    const { out } = await end('zsh', ['-f', '-c', script], {});
    assert.match(out, /^calendar:running$/m);
  });

  test.skipIf(!isThere('fish'))('fish completes words with their descriptions', async () => {
    const script = `
      function agenthub; ${hubOf()} $argv; end
      agenthub completion fish | source
      complete -C 'agenthub logs c'`;
    const { out } = await end('fish', ['--no-config', '-c', script], {});
    assert.match(out, /^calendar\trunning$/m);
  });
});

describe('a question', () => {
  const { signal } = new AbortController();
  const terminal = () => Object.assign(new PassThrough(), { setRawMode() {} });

  test('is answered by the next line, hidden or not, whatever was asked before', async () => {
    const input = terminal();
    const ask = createAsk(input, new PassThrough());
    for (const mode of ['hidden', 'hidden', 'shown', 'hidden', 'shown'] as const) {
      input.write(`${mode}\n`);
      assert.equal(await ask('? ', signal, mode), mode);
    }
  });

  test.for(['shown', 'hidden'] as const)(
    'is cancelled at the end of the input (%s), and so is each later one',
    async mode => {
      const input = terminal();
      const ask = createAsk(input, new PassThrough());
      const first = ask('? ', signal, mode);
      input.end();
      await assert.rejects(first, { code: 'HUB_CALL_CANCELLED' });
      for (const next of ['shown', 'hidden'] as const)
        await assert.rejects(ask('? ', signal, next), { code: 'HUB_CALL_CANCELLED' });
    },
  );
});
