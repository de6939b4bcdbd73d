import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { CliNeeds } from '#cli';
import { isObject } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import { createInstallHub } from '../installs/hub.ts';
import { type Fake, run } from './run.ts';

let hub: TestHub;
let installing: ReturnType<typeof createInstallHub>;
beforeAll(async () => {
  installing = createInstallHub();
  hub = await startHub([{ name: 'echo' }, { name: 'calendar' }], { installs: installing.installs });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await installing[Symbol.asyncDispose]();
});

const findHub = async (url: string | undefined) => ({ ...hub.place, url: url ?? hub.url });
/** A command line over the hub of these tests. */
const cli = (args: readonly string[], fake?: Fake, needs: Partial<CliNeeds> = {}) =>
  run(args, { findHub, ...needs }, fake);
const jsonOf = (text: string): unknown => JSON.parse(text);
const fieldOf = (value: unknown, key: string) => (isObject(value) ? value[key] : undefined);

/** Something else than a hub, that answers everything alike. */
async function createOther(status: number, body: string) {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    url: `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe('list', () => {
  test('has a line for each server', async () => {
    const { code, out } = await cli(['list']);
    const [head = '', ...lines] = out.split('\n');
    assert.equal(code, 0);
    assert.match(head, /^NAME +STATE +TOOLS +RESTARTS +UPTIME +NOTE$/);
    assert.match(lines[0] ?? '', /^echo +running +17 +0 +\d+s$/);
    assert.match(lines[1] ?? '', /^calendar +running +3 +0 +\d+s$/);
  });

  test('--json is what the API answers', async () => {
    const { out } = await cli(['list', '--json']);
    const answer = jsonOf(out);
    assert.ok(isObject(answer) && Array.isArray(answer['servers']));
    assert.deepEqual(
      answer['servers'].map(server => fieldOf(server, 'name')),
      ['echo', 'calendar'],
    );
    assert.deepEqual(answer['collisions'], []);
  });

  test('--tools names the tools as clients call them, and --json describes them', async () => {
    const { out } = await cli(['list', '--tools']);
    assert.match(out, /^calendar_list_events +Lists the events of this week\.$/m);
    const answer = jsonOf((await cli(['list', '--tools', '--json'])).out);
    const tools = fieldOf(answer, 'tools');
    assert.ok(Array.isArray(tools) && tools.length === 20);
    assert.ok(isObject(fieldOf(tools[0], 'inputSchema')));
  });

  test('a line is no longer than the terminal is wide', async () => {
    const { out } = await cli(['list', '--tools'], { columns: 40 });
    assert.ok(out.includes('…'));
    for (const line of stripVTControlCharacters(out).split('\n')) assert.ok(line.length <= 40);
  });
});

describe('call', () => {
  const create = 'calendar_create_event';

  test('pairs are of the types that the tool has for them', async () => {
    const pairs = [
      'title=12',
      'attendees=3',
      'room=Library',
      'remind=true',
      'agenda=1',
      'agenda=b',
    ];
    const { code, out, err } = await cli(['call', create, ...pairs]);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.deepEqual(jsonOf(out), {
      title: '12',
      attendees: 3,
      room: 'Library',
      remind: true,
      agenda: ['1', 'b'],
    });
  });

  test.for([
    ['as an argument', [create, '{"title": "a", "room": "Garden"}'], ''],
    ['on stdin', [create, '-'], '{"title": "a", "room": "Garden"}'],
    [
      "by the server's own name",
      ['create_event', '--server', 'calendar', 'title=a', 'room=Garden'],
      '',
    ],
  ] as const)('arguments come %s', async ([, args, input]) => {
    const { code, out } = await cli(['call', ...args], { input });
    assert.equal(code, 0);
    assert.deepEqual(jsonOf(out), { title: 'a', room: 'Garden' });
  });

  test('--json prints the whole result', async () => {
    const { out } = await cli(['call', 'echo_echo', 'text=hello', '--json']);
    assert.deepEqual(jsonOf(out), { content: [{ type: 'text', text: 'hello' }] });
  });

  test('a tool that fails exits with 1, and what it says is on stderr', async () => {
    const args = ['call', 'calendar_cancel_event', 'title=a'];
    assert.deepEqual(await cli(args), { code: 1, out: '', err: 'there is no event a' });
    const { code, out } = await cli([...args, '--json']);
    assert.equal(code, 1);
    assert.equal(fieldOf(jsonOf(out), 'isError'), true);
  });

  test.for([
    [
      ['calendar_list_event'],
      1,
      /^no tool is called "calendar_list_event".* Did you mean "calendar_list_events"\?$/,
    ],
    [['calendar_list_event', '{}'], 1, /Did you mean "calendar_list_events"\?$/],
    [
      ['play', '{}', '--server', 'calendar'],
      1,
      /no such tool: play \(-32602\)\. "agenthub list --tools" lists/,
    ],
    [
      [create, 'titel=a'],
      2,
      /takes no "titel"\. Did you mean "title"\? It takes: title \(string\), attendees \(integer\)/,
    ],
    [
      [create, 'title=a'],
      2,
      /^calendar_create_event needs room \(string\)\. Write room=\.\.\., or a JSON object$/,
    ],
    [
      [create, 'title=a', 'room=Library', 'attendees=many'],
      2,
      /^attendees: "many" is not allowed: write a whole number$/,
    ],
    [[create, 'title=a', 'title=b', 'room=Library'], 2, /^title stands 2 times, and is no list$/],
    [[create, 'Library'], 2, /^"Library" is not an argument: write key=value, such as title=hello/],
    [[create, '{"title": "a"'], 2, /^arguments: it is not JSON \(/],
    [[create, '{}', '{}'], 2, /^"\{\}" is one argument too many/],
    [
      ['create_event', '--server', 'calender', 'title=a'],
      1,
      /no server is called "calender".* Did you mean "calendar"\?$/,
    ],
  ] as const)('%j exits with %i and says what to write', async ([args, expected, message]) => {
    const { code, out, err } = await cli(['call', ...args]);
    assert.deepEqual({ code, out }, { code: expected, out: '' });
    assert.match(err, message);
  });

  test('--json of a failure has its code', async () => {
    const { code, out } = await cli(['call', 'calendar_list_event', '--json']);
    assert.equal(code, 1);
    assert.equal(fieldOf(fieldOf(jsonOf(out), 'error'), 'code'), 'HUB_NAME_UNKNOWN');
  });

  test('what a tool says steers no terminal, and reaches a pipe as it is', async () => {
    const evil = '\u001b[2Jgone\u0007\u009b31m';
    const args = ['call', 'echo_echo', JSON.stringify({ text: `a\tb\n${evil}` })];
    assert.equal((await cli(args)).out, `a\tb\n${evil}`);
    assert.equal((await cli(args, { columns: 80 })).out, 'a\tb\ngone');
  });

  test('progress is shown on a terminal, and in no pipe', async () => {
    const args = ['call', 'echo_progress', 'steps=2'];
    const { out, err } = await cli(args, { columns: 80 });
    assert.equal(out, '2 steps');
    assert.match(err, /echo_progress: 1 of 2.*echo_progress: 2 of 2/s);
    assert.ok(err.endsWith('\r\u001b[K'), 'nothing is left of it');
    assert.deepEqual(await cli(args), { code: 0, out: '2 steps', err: '' });
  });

  test('one that is ended by hand is cancelled, with its session', async () => {
    const ending = new AbortController();
    const called = cli(['call', 'echo_slow', 'ms=60000'], { signal: ending.signal });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    ending.abort();
    assert.deepEqual(await called, { code: 1, out: '', err: '' });
    assert.equal(hub.streamable.sessionCount, 0);
    assert.equal(hub.server('echo').running?.upstream.inFlight(), 0);
  });
});

describe('logs', () => {
  test('are the last lines that a server wrote', async () => {
    await cli(['call', 'calendar_list_events']);
    await cli(['call', 'calendar_cancel_event', 'title=x']);
    const last = 'cancel_event: {"title":"x"}';
    assert.deepEqual(await cli(['logs', 'calendar', '-n', '1']), { code: 0, out: last, err: '' });
    const answer = jsonOf((await cli(['logs', 'calendar', '--json', '-n', '2'])).out);
    assert.deepEqual(answer, { name: 'calendar', lines: ['list_events: {}', last] });
  });

  test('-f goes on until it is told to end, and that is no failure', async () => {
    const ending = new AbortController();
    let calls = 0;
    const { code, out } = await cli(['logs', 'calendar', '-f', '-n', '1'], {
      signal: ending.signal,
      onOut(text) {
        if (calls++ === 0) void cli(['call', 'calendar_cancel_event', 'title=later']);
        if (text.includes('later')) ending.abort();
      },
    });
    assert.equal(code, 0);
    assert.equal(out.split('\n').length, 2);
    assert.match(out, /\ncancel_event: \{"title":"later"\}$/);
  });

  test('-f ends when nobody reads it any more', async () => {
    const { code } = await cli(['logs', 'calendar', '-f'], {
      signal: new AbortController().signal,
      onOut: (_text, stdout) => void stdout.emit('error', new Error('EPIPE')),
    });
    assert.equal(code, 0);
  });

  test.for([
    [['logs', 'calender'], 1, /Did you mean "calendar"\?$/],
    [['logs', 'calendar', '-n', 'x'], 2, /^--lines: "x" is not allowed: write a number from 0/],
    [['logs'], 2, /<server> is missing/],
  ] as const)('%j exits with %i', async ([args, expected, message]) => {
    const { code, err } = await cli(args);
    assert.equal(code, expected);
    assert.match(err, message);
  });
});

test('stop, start and restart do so, and tell what came of it', async () => {
  assert.deepEqual(await cli(['stop', 'echo']), { code: 0, out: 'echo: stopped', err: '' });
  assert.match((await cli(['list'])).out, /^echo +stopped .*stopped by hand$/m);
  assert.deepEqual(await cli(['call', 'echo_echo', 'text=a']), {
    code: 1,
    out: '',
    err: 'echo was stopped by hand. Start it with "agenthub start echo"',
  });
  assert.equal((await cli(['start', 'echo'])).out, 'echo: running, 17 tools');
  const answer = jsonOf((await cli(['restart', 'echo', 'calendar', '--json'])).out);
  const servers = fieldOf(answer, 'servers');
  assert.ok(Array.isArray(servers));
  assert.deepEqual(
    servers.map(server => [fieldOf(server, 'name'), fieldOf(server, 'state')]),
    [
      ['echo', 'running'],
      ['calendar', 'running'],
    ],
  );
  const { code, err } = await cli(['restart', 'ecoh']);
  assert.equal(code, 1);
  assert.match(err, /Did you mean "echo"\?$/);
});

describe('add and remove', () => {
  test('install, show how far it is on a terminal, and remove', async () => {
    const { code, out, err } = await cli(['add', 'echo@1.0.0', '--name', 'mine'], { columns: 80 });
    assert.equal(code, 0, err);
    assert.match(out, /installed\S* mine \(echo@1\.0\.0\): 17 tools$/);
    assert.match(err, /trial: it is started once/);
    assert.deepEqual(await cli(['remove', 'mine']), { code: 0, out: 'removed mine', err: '' });
    assert.ok(!installing.entries.has('mine'));
  });

  test('options become the entry, and secrets in clear are warned of', async () => {
    const { code, out, err } = await cli(
      'add echo@1.0.0 --name own --json --arg=--deep --arg x -e GIVEN -e API_KEY=a=b --tag work --volume notes:/data --network bridge --allow network:bridge --allow variable:GIVEN'.split(
        ' ',
      ),
    );
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.deepEqual(installing.entries.get('own'), {
      package: 'echo@1.0.0',
      args: ['--deep', 'x'],
      env: { GIVEN: '${GIVEN}', API_KEY: 'a=b' },
      tags: ['work'],
      volumes: { notes: '/data' },
      network: 'bridge',
    });
    assert.deepEqual(fieldOf(jsonOf(out), 'in_clear'), ['env.API_KEY']);
    const removed = jsonOf((await cli(['remove', 'own', '--purge', '--json'])).out);
    assert.equal(fieldOf(removed, 'name'), 'own');
  });

  const loosened = ['add', 'echo@1.0.0', '--name', 'own', '--network', 'bridge', '-e', 'GIVEN'];

  test('each setting beyond the default sandbox is asked for, one by one', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'y';
    };
    const { code, err } = await cli(loosened, undefined, { ask });
    assert.equal(code, 0, err);
    assert.deepEqual(asked, ['Allow network:bridge? [y/N] ', 'Allow variable:GIVEN? [y/N] ']);
    assert.match(err, /^own: It can reach the network/m);
    assert.match(err, /^own: It can read GIVEN .*env\.GIVEN/m);
    await cli(['remove', 'own']);
  });

  test('a no to one of them installs nothing', async () => {
    const ask = async (question: string) => (question.includes('network') ? 'y' : '');
    const { code, err } = await cli(loosened, undefined, { ask });
    assert.equal(code, 1);
    assert.match(err, /Nothing was installed\.$/);
    assert.equal(installing.entries.size, 0);
  });

  test('--allow agrees to one, and the others are asked for', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'yes';
    };
    const { code } = await cli([...loosened, '--allow', 'variable:GIVEN'], undefined, { ask });
    assert.equal(code, 0);
    assert.deepEqual(asked, ['Allow network:bridge? [y/N] ']);
    await cli(['remove', 'own']);
  });

  test('where nobody can be asked, the flags that agree are named', async () => {
    const { code, err } = await cli(loosened);
    assert.equal(code, 2);
    assert.match(err, /add --allow network:bridge --allow variable:GIVEN$/);
    const wrong = await cli([...loosened, '--allow', 'network:host']);
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /--allow: "network:host" is not a setting that own asks for: network:bridge/,
    );
    assert.equal(installing.entries.size, 0);
  });

  test('what the installer wrote is shown where it fails', async () => {
    const { code, out, err } = await cli(['add', 'wants-a-key@1.0.0']);
    assert.deepEqual({ code, out }, { code: 1, out: '' });
    assert.match(err, /set EXAMPLE_API_KEY for the hub/);
    assert.match(err, /^ {2}\| Error: the variable EXAMPLE_API_KEY is required$/m);
    assert.equal(installing.entries.size, 0);
  });

  test.for([
    [['add', 'echo@1.0.0', '-e', '=secret'], /^--env: a name is missing: write --env NAME=value$/],
    [
      ['add', 'echo@1.0.0', '--volume', './notes:/x'],
      /^--volume: .*For a folder of this machine, use --mount$/,
    ],
    [
      ['add', 'echo@1.0.0', '--volume', 'a:/x', '--volume', 'a:/y'],
      /^--volume: "a" appears twice\. Write each name once$/,
    ],
    [['add', 'echo@1.0.0', '--header', 'secret'], /^--header: a name is missing/],
    [['add', 'a b'], /^package: "a b" is not allowed/],
    [['add', 'echo@1.0.0', '--network', 'host'], /network: .*"none" or "bridge"/],
  ] as const)('%j exits with 2', async ([args, message]) => {
    const { code, out, err } = await cli(args);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.match(err, message);
  });
});

describe('__complete', () => {
  const complete = async (...words: readonly string[]) =>
    (await cli(['__complete', '--', ...words])).out.split('\n').map(line => line.split('\t')[0]);

  test.for([
    [['re'], ['remove', 'restart', 'reload']],
    [['call', 'echo_by'], ['echo_bytes']],
    [['call', '--server', 'calendar', 'create'], ['create_event']],
    [['call', 'echo_echo', '--server', 'c'], ['calendar']],
    [
      ['restart', 'echo', ''],
      ['echo', 'calendar'],
    ],
    [['list', '--t'], ['--tools']],
    [
      ['add', 'x', '--network', ''],
      ['none', 'bridge'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['check', '--config', ''], [':files']],
    [['nothing', ''], ['']],
    [['restart', '--url', 'http://127.0.0.1:1', ''], ['']],
  ] as const)('%j is completed to %j', async ([words, expected]) => {
    assert.deepEqual(await complete(...words), expected);
  });

  test('offers no word that would mean something to a shell', async () => {
    const names = ['good', '$(touch x)', 'a;b', '`a`'].map(name => ({ name, state: 'a\tb\nc' }));
    await using other = await createOther(200, JSON.stringify({ servers: names }));
    const { out } = await cli(['__complete', '--', 'restart', '--url', other.url, '']);
    assert.equal(out, 'good\ta b c');
  });

  test('is silent where the settings are wrong', async () => {
    const findBroken = async () => {
      throw new TypeError('settings');
    };
    const needs = { findHub: findBroken };
    const ended = await run(['__complete', '--', 'restart', ''], needs);
    assert.deepEqual(ended, { code: 0, out: '', err: '' });
  });
});

describe('without a hub that lets it in', () => {
  test('says how to start one, in one line', async () => {
    const { code, out, err } = await run(['list'], {
      findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
    });
    assert.deepEqual({ code, out }, { code: 1, out: '' });
    assert.match(
      err,
      /^no hub answers at http:\/\/127\.0\.0\.1:1 \(.*\)\. Start one with "agenthub serve"[^\n]*$/,
    );
  });

  test('sends the token, and says where it is wanted', async () => {
    const token = 'a-token-of-16-chars';
    await using closed = await startHub([], { http: { token } });
    const open = (given: string | undefined) =>
      run(['list'], { findHub: async () => ({ url: closed.url, token: given }) });
    assert.match((await open(undefined)).err, /wants its token: set ROUTER_TOKEN/);
    assert.match((await open(token)).out, /has no servers\. Add one with "agenthub add/);
  });

  test('tells what is no hub', async () => {
    await using other = await createOther(404, '<h1>no</h1>');
    for (const args of [['list'], ['call', 'x'], ['restart', 'x']]) {
      const { code, err } = await cli([...args, '--url', `${other.url}/mcp`]);
      assert.equal(code, 1);
      assert.match(err, /is no AgentHub|does not respond as an MCP hub/);
    }
  });

  test('an address that is none is used wrongly', async () => {
    const { code, err } = await cli(['list', '--url', 'localhost:9090']);
    assert.equal(code, 2);
    assert.match(err, /^--url: "localhost:9090" is not allowed: write the hub's address/);
  });
});
