import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { describeHoldings, findLiveHubs, problemsOf } from '../../hub/cli/holdings.ts';

const holding = (hubId: string, isRunning = false) => ({
  hubId,
  containers: [{ name: `${hubId}-memory`, server: 'memory', isRunning }],
  networks: [],
  volumes: [{ name: `${hubId}-memory-data` }],
});
const hub = (hubId: string, isRunning: boolean) => ({ hubId, isRunning, dataDir: `/d/${hubId}` });
const answering = {
  url: 'http://localhost:9090',
  servers: [{ name: 'memory', instance: { containerName: 'answers-memory' } }],
};

const screen = { columns: undefined, paint: (_style: string, text: string) => text };

const textOf = async (
  hubId: string,
  {
    isRunning = false,
    unused = [],
    isUp = true,
    isUsed = () => false,
  }: {
    isRunning?: boolean;
    unused?: readonly string[];
    isUp?: boolean;
    isUsed?: (volume: string) => boolean;
  } = {},
) => {
  const installation = {
    hubId: 'own',
    knownHubs: async () => [hub('runs', true), hub('stopped', false), hub('own', isUp)],
    composeHubs: async () => ['compose-x'],
  };
  const about = { installation, answering, unused, isUsed };
  const lines = await describeHoldings([holding(hubId, isRunning)], about, screen);
  return lines.join('\n');
};

describe('the entry of a hub in doctor', () => {
  test.for([
    ['runs', 'hub runs, which runs with its data in /d/runs: 1 container'],
    ['answers', 'hub answers, which runs at http://localhost:9090: 1 container'],
    ['compose-x', 'hub compose-x, which runs under Docker compose: 1 container'],
    ['stopped', 'hub stopped, stopped, with its data in /d/stopped: 1 container'],
    ['own', 'this hub: 1 container'],
  ] as const)('(%s) suggests no command that removes anything', async ([hubId, title]) => {
    for (const isRunning of [true, false]) {
      const text = await textOf(hubId, { isRunning });
      assert.ok(text.includes(title), text);
      assert.ok(!text.includes('--remove'), text);
    }
  });

  test('that was killed says what its next start does with its containers', async () => {
    const next =
      /^ {2}The next start goes on with the servers of its config, and removes the rest\.$/m;
    assert.match(await textOf('own', { isUp: false }), next);
    assert.doesNotMatch(await textOf('own'), next);
  });

  test('that is unknown offers to remove volumes only if none of its servers runs', async () => {
    assert.match(await textOf('gone'), /--remove gone --volumes --dry-run/);
    const running = await textOf('gone', { isRunning: true });
    assert.match(running, /--remove gone --dry-run/);
    assert.doesNotMatch(running, /--volumes/);
  });

  test('that is unknown does not offer to remove volumes that the config here uses', async () => {
    const text = await textOf('gone', { isUsed: name => name === 'gone-memory-data' });
    assert.match(text, /gone-memory-data +volume that a server in the config uses/);
    assert.doesNotMatch(text, /--volumes/);
  });

  test('of this installation offers to remove only volumes that no server uses', async () => {
    assert.match(await textOf('own', { unused: ['v'] }), /--remove own --volumes --dry-run/);
  });
});

test('this hub is described before all others', async () => {
  const installation = {
    hubId: 'own',
    knownHubs: async () => [hub('own', true)],
    composeHubs: async () => [],
  };
  const about = { installation, answering: undefined, unused: [], isUsed: () => false };
  const all = ['first', 'own', 'last'].map(id => holding(id));
  const lines = await describeHoldings(all, about, screen);
  const titles = lines.filter(line => /^(?:this )?hub/.test(line)).map(line => line.split(':')[0]);
  assert.deepEqual(titles, ['this hub', 'hub first', 'hub last']);
});

test('a hub is not live without a live note, a compose project or an answer', async () => {
  const none = { knownHubs: async () => [hub('a', false)], composeHubs: async () => [] };
  assert.deepEqual([...(await findLiveHubs(none, [holding('answers')], undefined))], []);
});

test('failed and unreachable servers are problems, others are not', () => {
  const server = { name: 's', enabled: true, last_error: { message: 'exit code 1' } };
  const problems = (state: string, enabled = true) => problemsOf([{ ...server, state, enabled }]);
  const told = 's is failed: exit code 1. See "agenthub logs s"';
  assert.deepEqual(problems('failed'), [told]);
  assert.deepEqual(problemsOf([{ name: 's', state: 'unreachable', last_error: null }]), [
    's is unreachable. See "agenthub logs s"',
  ]);
  for (const state of ['running', 'stopped', 'starting', 'backing_off', 'needs_login'])
    assert.deepEqual(problems(state), []);
  assert.deepEqual(problems('failed', false), []);
});
