import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket, createServer } from 'node:net';
import { test } from 'vitest';
import { type Fixture, startHub, until } from '#helpers/hub';
import { type Fake, run } from './run.ts';

/** Creates a gate that delays the start of Node processes until it is opened. */
async function createGate() {
  const held = new Set<Socket>();
  let isOpen = false;
  const gate = createServer(socket => void (isOpen ? socket.end() : held.add(socket)));
  gate.listen(0, '127.0.0.1');
  await once(gate, 'listening');
  const bound = gate.address();
  const port = typeof bound === 'object' ? bound?.port : undefined;
  const wait = `import net from 'node:net';
import { once } from 'node:events';
await once(net.connect(${port}, '127.0.0.1').resume(), 'close');`;
  const open = () => {
    isOpen = true;
    for (const socket of held) socket.end();
  };
  return {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(wait)}` },
    open,
    [Symbol.dispose]() {
      open();
      gate.close();
    },
  };
}

/** Starts a hub whose servers have only begun to start. */
async function begin(fixtures: readonly Fixture[]) {
  const hub = await startHub(fixtures, { start: false });
  hub.servers.startAll();
  const findHub = async () => hub.place;
  return {
    call: (args: readonly string[], fake?: Fake) => run(['call', ...args], { findHub }, fake),
    /** Resolves when the command has requested the list of tools. */
    looked: () => until(() => hub.activity.list({}, 9).some(isList)),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

const isList = ({ method }: { readonly method: string }) => method === 'tools/list';

test.for([[['calendar_list_events']], [['calendar_list_events', '{}']]] as const)(
  'a call of %j waits for the server that starts, and says so on a terminal',
  async ([args]) => {
    using gate = await createGate();
    await using hub = await begin([{ name: 'calendar', env: gate.env }]);
    const called = hub.call(args, { columns: 80 });
    await hub.looked();
    gate.open();
    const { code, out, err } = await called;
    assert.deepEqual([code, out], [0, '[]'], err);
    assert.match(err, /waiting for calendar \(starting: /);
    assert.ok(err.endsWith('\r\u001b[K'), 'nothing is left of it');
  },
);

test('a tool is reported as unknown only when all servers have started', async () => {
  using gate = await createGate();
  await using hub = await begin([{ name: 'calendar', env: gate.env }, { name: 'echo' }]);
  const called = hub.call(['calender_list_events']);
  await hub.looked();
  gate.open();
  const told = 'no tool is called "calender_list_events". Did you mean "calendar_list_events"?';
  assert.deepEqual(await called, { code: 1, out: '', err: told });
});

test('a call with --server waits for no other server', async () => {
  using gate = await createGate();
  await using hub = await begin([{ name: 'calendar', env: gate.env }, { name: 'echo' }]);
  const { code, err } = await hub.call(['ecoh', '--server', 'echo']);
  assert.equal(code, 1);
  assert.match(err, /^no tool is called "ecoh"\. /);
  const { out } = await hub.call(['echo', 'text=hello', '--server', 'echo']);
  assert.equal(out, 'hello');
});

test('failed servers are named if a tool is unknown', async () => {
  await using hub = await begin([{ name: 'exit-at-once', restart: 'temporary' }, { name: 'echo' }]);
  const { code, err } = await hub.call(['calendar_list_events', '--json']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^no tool is called "calendar_list_events"\. The tools of these servers are not known yet: exit-at-once \(failed: .*API_KEY is not set.*\)\. "agenthub list --tools" lists/,
  );
});

test('of many servers whose tools are not known, three are named', async () => {
  const stopped = ['a', 'b', 'c', 'd', 'e'].map(letter => ({
    name: letter,
    file: 'calendar.mjs',
    autoStart: false,
  }));
  await using hub = await begin(stopped);
  const { err } = await hub.call(['nope']);
  assert.equal(
    err,
    'no tool is called "nope". The tools of these servers are not known yet: a (stopped), b (stopped), c (stopped) and 2 more, as "agenthub list" shows. "agenthub list --tools" lists all tools',
  );
});

test('a tool of a server that was never started fails with the commands that start it', async () => {
  await using hub = await begin([
    { name: 'calendar', autoStart: false },
    { name: 'calendar_list', autoStart: false },
    { name: 'echo' },
  ]);
  const { code, err } = await hub.call(['calendar_list_events']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^no tool is called "calendar_list_events" so far: the tools of calendar_list are listed after its first start\. Start it with "agenthub start calendar_list", or write "agenthub call events --server calendar_list"$/,
  );
  assert.match((await hub.call(['calendar_nothing'])).err, /"agenthub start calendar"/);
  const { out } = await hub.call(['list_events', '--server', 'calendar']);
  assert.equal(out, '[]');
});

test('a call that is interrupted while it waits exits at once', async () => {
  using gate = await createGate();
  await using hub = await begin([{ name: 'calendar', env: gate.env }]);
  const ending = new AbortController();
  const called = hub.call(['calendar_list_events'], { signal: ending.signal });
  await hub.looked();
  ending.abort();
  assert.deepEqual(await called, { code: 1, out: '', err: '' });
});
