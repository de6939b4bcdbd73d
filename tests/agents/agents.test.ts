import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Agents, describeBriefly } from '#agents';
import { HubError } from '#core';
import { answerTo, openHarness } from './harness.ts';

const never = new AbortController().signal;
const gate = () => Promise.withResolvers<string>();

const tasksOf = async (folder: string) =>
  JSON.parse(await readFile(join(folder, 'tasks.json'), 'utf8')).agents;
const sessionOf = async (folder: string, id: string) =>
  JSON.parse(await readFile(join(folder, 'agents', id, 'session.json'), 'utf8'));

/** Waits for a condition that becomes true within a few turns of the event loop. */
const soon = (check: () => void | Promise<void>) =>
  expect
    .poll(
      async () => {
        await check();
        return true;
      },
      { timeout: 5_000, interval: 5 },
    )
    .toBe(true);

test('a message creates the agent, starts its container, and is answered', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, bodies, folder } = harness;
  const sent = await agents.send('ada', 'hello', 'cursor');
  expect(sent).toMatchObject({ status: 'accepted', position: 0 });
  expect(await answerTo(agents, 'ada', sent.messageId)).toEqual({ texts: ['re: hello'] });
  expect(bodies.get('ada')?.calls).toEqual(['chat hello']);
  expect(bodies.get('ada')?.briefings).toMatchObject([{ session: null }]);
  const session = await sessionOf(folder, 'ada');
  expect(session).toMatchObject({
    version: 1,
    agentId: 'ada',
    model: 'scripted',
    lastMessageId: sent.messageId,
    snapshot: { state: sent.messageId },
    usage: { input_tokens: 3, output_tokens: 2, model_calls: 1 },
  });
  const roles = session.messages.map(({ role }: { role: string }) => role);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant']);
  const shown = await agents.messages('ada', { count: 9 }, never);
  expect(shown.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('tasks.json has the status and the container of each agent', async () => {
  const answer = gate();
  await using harness = await openHarness(() => answer.promise);
  const { agents, folder, bodies } = harness;
  await agents.send('ada', 'hello', 'cursor');
  await soon(async () =>
    expect(await tasksOf(folder)).toMatchObject([
      { agent_id: 'ada', status: 'running', container_id: bodies.get('ada')?.containerId },
    ]),
  );
  answer.resolve('done');
  await soon(async () => expect(await tasksOf(folder)).toMatchObject([{ status: 'idle' }]));
  await agents.stop('ada');
  await soon(async () =>
    expect(await tasksOf(folder)).toMatchObject([{ status: 'stopped', container_id: null }]),
  );
});

test('an agent works on one message at a time, and senders take turns', async () => {
  const taken: string[] = [];
  const gates = Array.from({ length: 4 }, gate);
  await using harness = await openHarness(async ({ message }) => {
    taken.push(message);
    return await (gates[taken.length - 1]?.promise ?? '');
  });
  const { agents } = harness;
  const sent = [];
  for (const [text, from] of [
    ['a1', 'a'],
    ['a2', 'a'],
    ['a3', 'a'],
    ['b1', 'b'],
  ] as const) {
    sent.push(await agents.send('ada', text, from));
    // The first message is being processed before the others are sent.
    await soon(() => expect(taken).toHaveLength(1));
  }
  expect(sent.map(({ position }) => position)).toEqual([0, 1, 2, 2]);
  for (const [index, { resolve }] of gates.entries()) {
    await soon(() => expect(taken).toHaveLength(index + 1));
    resolve('ok');
  }
  await soon(() => expect(agents.get('ada').status).toBe('idle'));
  expect(taken).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('a full queue refuses, and says so', async () => {
  await using harness = await openHarness(() => gate().promise);
  const { agents } = harness;
  for (const text of ['1', '2', '3', '4']) await agents.send('ada', text, 'a');
  await expect(agents.send('ada', '5', 'a')).rejects.toMatchObject({
    code: 'HUB_AGENT_QUEUE_FULL',
  });
  await expect(agents.send('ada', ' ', 'a')).rejects.toMatchObject({ code: 'HUB_REQUEST_INVALID' });
  await expect(agents.send('../x', 'x', 'a')).rejects.toMatchObject({
    code: 'HUB_AGENT_ID_INVALID',
  });
});

test('a container that exits fails its message, and the next message gets a new one', async () => {
  const answer = gate();
  let turns = 0;
  await using harness = await openHarness(() => (++turns === 1 ? answer.promise : 'again'));
  const { agents, bodies } = harness;
  const first = await agents.send('ada', 'hello', 'a');
  const second = await agents.send('ada', 'still there?', 'a');
  await soon(() => expect(turns).toBe(1));
  bodies.get('ada')?.die();
  expect(await answerTo(agents, 'ada', second.messageId)).toEqual({ texts: ['again'] });
  const session = await agents.messages('ada', { count: 9 }, never);
  expect(session.messages.map(({ message_id: id }) => id)).toEqual([
    first.messageId,
    second.messageId,
    second.messageId,
  ]);
  const [, told] = bodies.get('ada')?.briefings ?? [];
  expect(told).toMatchObject({ session: { messages: [{ message_id: first.messageId }] } });
});

test('a turn that exceeds its time is ended with a reason', async () => {
  await using harness = await openHarness(() => gate().promise, { turnMs: 120_000 });
  const { agents, clock, bodies } = harness;
  const { messageId } = await agents.send('ada', 'hello', 'a');
  await soon(() => expect(bodies.get('ada')?.calls).toContain('chat hello'));
  clock.advance(120_000);
  await soon(() => expect(bodies.get('ada')?.calls).toContain('cancel'));
  clock.advance(10_000);
  await soon(async () => assert.equal(agents.get('ada').status, 'stopped'));
  expect(await answerTo(agents, 'ada', messageId)).toEqual({ texts: [], code: 'HUB_TURN_TIMEOUT' });
});

test('an idle agent is stopped, and the next message starts it again', async () => {
  await using harness = await openHarness(({ message }) => message, { idleMs: 5_000 });
  const { agents, clock, bodies } = harness;
  const first = await agents.send('ada', 'one', 'a');
  await answerTo(agents, 'ada', first.messageId);
  await soon(() => expect(agents.get('ada').status).toBe('idle'));
  clock.advance(4_999);
  expect(agents.get('ada').status).toBe('idle');
  clock.advance(1);
  await soon(() => expect(agents.get('ada').status).toBe('stopped'));
  const second = await agents.send('ada', 'two', 'a');
  expect(await answerTo(agents, 'ada', second.messageId)).toEqual({ texts: ['two'] });
  expect(bodies.get('ada')?.calls).toEqual(['chat one', 'chat two']);
});

test('a container that starts after its message was cancelled has a place, and is stopped when it is idle', async () => {
  const limits = { idleMs: 5_000, maxRunning: 1 };
  await using harness = await openHarness(({ message }) => message, limits);
  const { agents, clock, bodies } = harness;
  const first = await agents.send('ada', 'one', 'a');
  await answerTo(agents, 'ada', first.messageId);
  async function startCancelled(): Promise<void> {
    await agents.stop('ada');
    const started = gate();
    bodies.get('ada')?.starts.push(started.promise);
    const { messageId } = await agents.send('ada', 'two', 'a');
    await soon(() => expect(bodies.get('ada')?.starts).toEqual([]));
    await agents.cancel('ada', messageId);
    expect(await answerTo(agents, 'ada', messageId)).toMatchObject({ code: 'HUB_CALL_CANCELLED' });
    expect(agents.get('ada').status).toBe('stopped');
    started.resolve('');
    await soon(() => expect(agents.get('ada').status).toBe('idle'));
  }
  await startCancelled();
  clock.advance(5_000);
  await soon(() => expect(agents.get('ada').status).toBe('stopped'));
  await startCancelled();
  const other = await agents.send('bob', 'three', 'a');
  expect(await answerTo(agents, 'bob', other.messageId)).toEqual({ texts: ['three'] });
  expect(agents.get('ada').status).toBe('stopped');
});

test('a cancelled message has the outcome "cancelled", whether it was waiting or running', async () => {
  await using harness = await openHarness(({ signal }) => {
    const { promise, reject } = gate();
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  });
  const { agents, clock, bodies } = harness;
  const first = await agents.send('ada', 'one', 'a');
  const second = await agents.send('ada', 'two', 'a');
  await soon(() => expect(bodies.get('ada')?.calls).toContain('chat one'));
  expect(await agents.cancel('ada', second.messageId)).toBe(true);
  expect(await agents.cancel('ada', first.messageId)).toBe(true);
  await soon(() => expect(bodies.get('ada')?.calls).toContain('cancel'));
  clock.advance(10_000);
  await soon(() => expect(agents.get('ada').status).toBe('stopped'));
  expect(await agents.cancel('ada', first.messageId)).toBe(false);
});

test('the error of a message is its own, and a cancelled one has an error too', async () => {
  const late = gate();
  await using harness = await openHarness(async ({ message }) => {
    if (message === 'fail') throw new HubError('HUB_MODEL_FAILED', 'no');
    return message === 'wait' ? await late.promise : message;
  });
  const { agents } = harness;
  const send = async (text: string) => (await agents.send('ada', text, 'a')).messageId;
  const errorOf = async (id: string) =>
    (await agents.messages('ada', { count: 9, since: id, waitMs: 1e9 }, never)).error?.code;
  const answered = await send('one');
  expect(await errorOf(answered)).toBeUndefined();
  const failed = await send('fail');
  expect(await errorOf(failed)).toBe('HUB_MODEL_FAILED');
  expect(await errorOf(answered)).toBeUndefined();
  const working = await send('wait');
  const cancelled = await send('two');
  await agents.cancel('ada', cancelled);
  // The agent still works on the message before, so its status does not tell that this one has ended.
  expect(await errorOf(cancelled)).toBe('HUB_CALL_CANCELLED');
  late.resolve('three');
  expect(await errorOf(working)).toBeUndefined();
});

test('the numbers of agents and of running agents are bounded', async () => {
  const answers = [gate(), gate()];
  let at = 0;
  await using harness = await openHarness(() => answers[at++]?.promise ?? 'late', {
    max: 3,
    maxRunning: 1,
  });
  const { agents } = harness;
  await agents.send('one', 'x', 'a');
  const waiting = await agents.send('two', 'x', 'a');
  await agents.send('three', 'x', 'a');
  await expect(agents.send('four', 'x', 'a')).rejects.toMatchObject({ code: 'HUB_AGENTS_FULL' });
  await soon(() => expect(at).toBe(1));
  answers[0]?.resolve('done');
  await soon(() => expect(agents.get('one').status).toBe('stopped'));
  answers[1]?.resolve('done too');
  expect(await answerTo(agents, 'two', waiting.messageId)).toEqual({ texts: ['done too'] });
  await soon(() => expect(at).toBe(3));
});

test('an agent may ask the agents that it is granted, and never in a circle', async () => {
  const heard: string[] = [];
  await using harness = await openHarness(async ({ agent, message, useAgent }) => {
    heard.push(`${agent}: ${message}`);
    if (message === 'leaf') return 'the answer';
    const { content } = await useAgent({
      agent_id: agent === 'a' ? 'b' : 'a',
      message: agent === 'a' && message !== 'circle' ? 'leaf' : 'circle',
    });
    return JSON.stringify(content);
  });
  const { agents } = harness;
  const refused = await agents.send('a', 'ask', 'x');
  expect((await answerTo(agents, 'a', refused.messageId)).texts[0]).toContain('may not ask');
  await agents.configure('a', { grants: { agents: ['b'] } });
  await agents.configure('b', { grants: { agents: ['a'] } });
  const asked = await agents.send('a', 'ask', 'x');
  expect((await answerTo(agents, 'a', asked.messageId)).texts[0]).toContain('the answer');
  const circle = await agents.send('a', 'circle', 'x');
  expect((await answerTo(agents, 'a', circle.messageId)).texts[0]).toContain('HUB_AGENT_CYCLE');
  expect(heard).toContain('b: circle');
});

test.each(['run', 'end'] as const)(
  'after a kill of the hub, waiting messages and the started one are answered once, when containers %s',
  async containers => {
    const answer = gate();
    const seen: string[] = [];
    const harness = await openHarness(({ message }) => {
      seen.push(message);
      return message === 'first' ? answer.promise : 'second answer';
    });
    const first = await harness.agents.send('ada', 'first', 'a');
    const second = await harness.agents.send('ada', 'second', 'a');
    await soon(() => expect(seen).toEqual(['first']));
    await soon(async () =>
      expect(await tasksOf(harness.folder)).toMatchObject([
        { status: 'running', container_id: expect.stringContaining('ada') },
      ]),
    );
    await using next = await harness.restarted(containers);
    answer.resolve('first answer');
    const { texts } = await answerTo(next.agents, 'ada', second.messageId);
    expect(texts).toEqual(['second answer']);
    const all = await next.agents.messages('ada', { count: 9 }, never);
    const ofFirst = all.messages.filter(({ message_id: id }) => id === first.messageId);
    expect(ofFirst.map(({ role }) => role)).toEqual(
      containers === 'run' ? ['user', 'assistant'] : ['user'],
    );
  },
);

test.each(['run', 'end'] as const)(
  'a restarted hub does not repeat messages of the conversation whose outcomes were not written, when containers %s',
  async containers => {
    const seen: string[] = [];
    const harness = await openHarness(({ message }) => {
      seen.push(message);
      return 'done';
    });
    const { agents, folder } = harness;
    for (const text of ['one', 'two']) {
      const { messageId } = await agents.send('ada', text, 'a');
      await answerTo(agents, 'ada', messageId);
    }
    // State after a kill that comes before the outcomes are on the disk: each file is synced separately.
    const session = await sessionOf(folder, 'ada');
    const queue = join(folder, 'agents.jsonl');
    const lines = (await readFile(queue, 'utf8')).split('\n');
    await writeFile(queue, lines.filter(line => !line.includes('"outcome"')).join('\n'));
    await using next = await harness.restarted(containers);
    await soon(() => expect(next.agents.get('ada').queued).toBe(0));
    const { messageId } = await next.agents.send('ada', 'three', 'a');
    await answerTo(next.agents, 'ada', messageId);
    expect(seen).toEqual(['one', 'two', 'three']);
    const { messages, failures } = await sessionOf(folder, 'ada');
    expect(failures).toEqual([]);
    expect(messages.slice(0, session.messages.length)).toEqual(session.messages);
    expect(messages).toHaveLength(session.messages.length + 4);
  },
);

test('an adopted container receives the conversation again, in case its hub was killed before it did', async () => {
  await using harness = await openHarness(({ message }) => message);
  const first = await harness.agents.send('ada', 'one', 'a');
  await answerTo(harness.agents, 'ada', first.messageId);
  const same = await harness.agents.send('ada', 'two', 'a');
  await answerTo(harness.agents, 'ada', same.messageId);
  expect(harness.bodies.get('ada')?.briefings).toEqual([expect.anything(), {}]);
  await using next = await harness.restarted('run');
  const second = await next.agents.send('ada', 'three', 'a');
  expect(await answerTo(next.agents, 'ada', second.messageId)).toEqual({ texts: ['three'] });
  expect(next.bodies.get('ada')?.briefings).toMatchObject([
    { session: { snapshot: { state: same.messageId } }, settings: {} },
  ]);
});

test('a truncated conversation is set aside, and never overwritten', async () => {
  await using harness = await openHarness(() => 'fine');
  const { agents, folder } = harness;
  const { messageId } = await agents.send('ada', 'hello', 'a');
  await answerTo(agents, 'ada', messageId);
  const file = join(folder, 'agents', 'ada', 'session.json');
  const whole = await readFile(file, 'utf8');
  await writeFile(file, whole.slice(0, 100));
  const second = await agents.send('ada', 'again', 'a');
  expect(await answerTo(agents, 'ada', second.messageId)).toEqual({ texts: ['fine'] });
  const names = await readdir(join(folder, 'agents', 'ada'));
  const aside = names.find(name => name.endsWith('.aside'));
  assert.ok(aside !== undefined, names.join());
  expect(await readFile(join(folder, 'agents', 'ada', aside), 'utf8')).toBe(whole.slice(0, 100));
});

/** Makes every read of a file fail, as missing permissions do. Returns a function that restores the file. */
async function makeUnreadable(file: string): Promise<() => Promise<void>> {
  await rename(file, `${file}.kept`);
  await symlink(file, file);
  return async () => {
    await rm(file);
    await rename(`${file}.kept`, file);
  };
}

test('a conversation that cannot be read now is an error, and is neither set aside nor overwritten', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, folder } = harness;
  const { messageId } = await agents.send('ada', 'one', 'a');
  await answerTo(agents, 'ada', messageId);
  const own = join(folder, 'agents', 'ada');
  const file = join(own, 'session.json');
  const whole = await readFile(file, 'utf8');
  const restore = await makeUnreadable(file);
  await agents.send('ada', 'two', 'a');
  await soon(() => expect(agents.get('ada')).toMatchObject({ status: 'idle', queued: 0 }));
  await expect(agents.messages('ada', { count: 9 }, never)).rejects.toMatchObject({
    code: 'HUB_AGENT_STORE_FAILED',
    message: expect.stringContaining(`${file} cannot be read: ELOOP`),
  });
  await restore();
  expect(await readdir(own)).toEqual(['session.json']);
  expect(await readFile(file, 'utf8')).toBe(whole);
  const third = await agents.send('ada', 'three', 'a');
  expect(await answerTo(agents, 'ada', third.messageId)).toEqual({ texts: ['re: three'] });
  expect((await sessionOf(folder, 'ada')).usage).toMatchObject({ model_calls: 2 });
});

test.each([
  'agents/ada/session.json',
  'agents/ada/settings.json',
  'agents/ada/budget.json',
  'tasks.json',
  'agents.jsonl',
])('a hub that cannot read %s at its start has no agents, and loses none', async name => {
  await using first = await openHarness(({ message }) => `re: ${message}`);
  const { agents, folder, spending } = first;
  await agents.configure('ada', { model: 'small' });
  const { messageId } = await agents.send('ada', 'one', 'a');
  await answerTo(agents, 'ada', messageId);
  spending.save('ada', [{ at: 1, tokens: 60 }]);
  const file = join(folder, name);
  await soon(async () => expect((await readFile(file)).length).toBeGreaterThan(0));
  // The last write of a killed hub must not come after those of the next hub.
  await soon(async () => expect(await tasksOf(folder)).toMatchObject([{ status: 'idle' }]));
  await using second = await first.restarted('end');
  await soon(async () => expect(await tasksOf(folder)).toMatchObject([{ status: 'stopped' }]));
  const restore = await makeUnreadable(file);
  await using third = await second.restarted('end');
  const refused = {
    code: 'HUB_AGENT_STORE_FAILED',
    message: expect.stringContaining(`${file} cannot be read: ELOOP`),
  };
  expect(third.agents.refusal).toMatchObject(refused);
  expect(third.agents.list()).toEqual([]);
  await expect(third.agents.send('ada', 'two', 'a')).rejects.toMatchObject(refused);
  await restore();
  await using fourth = await third.restarted('end');
  expect(fourth.agents.refusal).toBe(undefined);
  expect(fourth.agents.get('ada').settings.model).toBe('small');
  expect(fourth.spending.earlier('ada')).toEqual([{ at: 1, tokens: 60 }]);
  expect(await answerTo(fourth.agents, 'ada', messageId)).toEqual({ texts: ['re: one'] });
});

test('a hub that cannot list its agents, or set a damaged file aside, starts without them and says why', async () => {
  await using first = await openHarness(() => 'fine');
  const { agents, folder } = first;
  await agents.configure('ada', { model: 'small' });
  await soon(async () => expect(await tasksOf(folder)).toMatchObject([{ status: 'stopped' }]));
  const agentsFolder = join(folder, 'agents');
  const restore = await makeUnreadable(agentsFolder);
  await using second = await first.restarted('end');
  expect(second.agents.refusal).toMatchObject({
    code: 'HUB_AGENT_STORE_FAILED',
    message: `this hub has no agents: ${agentsFolder} cannot be read: ELOOP: too many symbolic links encountered, scandir '${agentsFolder}'. Correct its permissions or its disk, and start the hub again`,
  });
  await restore();
  const file = join(folder, 'tasks.json');
  await writeFile(file, '{');
  const at = new Date(second.clock.now()).toISOString().replaceAll(':', '-');
  await mkdir(`${file}.${at}.aside`);
  await using third = await second.restarted('end');
  expect(third.agents.refusal).toMatchObject({
    code: 'HUB_AGENT_STORE_FAILED',
    message: expect.stringMatching(
      /tasks\.json is damaged and cannot be renamed: E.* Correct the permissions of its folder or its disk, and start the hub again$/,
    ),
  });
});

test('a removed agent leaves no file and no message', async () => {
  await using harness = await openHarness(() => gate().promise);
  const { agents, folder } = harness;
  await agents.send('ada', 'hello', 'a');
  await soon(() => expect(agents.get('ada').current?.doing).toBe('thinking'));
  await agents.remove('ada');
  expect(agents.list()).toEqual([]);
  expect(await readdir(join(folder, 'agents'))).toEqual([]);
  expect(await tasksOf(folder)).toEqual([]);
  await using next = await harness.restarted('end');
  expect(next.agents.list()).toEqual([]);
});

test('the rest of an agent whose removal was interrupted by a kill is removed at the next start', async () => {
  await using harness = await openHarness(() => 'ok');
  const rest = join(harness.folder, 'agents', '.removed-ada');
  await mkdir(join(rest, 'workspace'), { recursive: true });
  await writeFile(join(rest, 'session.json'), '{}');
  await using next = await harness.restarted('end');
  expect(await readdir(join(next.folder, 'agents'))).toEqual([]);
});

test('an agent that is removed as its first message arrives does not work on it', async () => {
  await using harness = await openHarness(() => 'ok');
  const { agents, folder, bodies } = harness;
  const refused = expect(agents.send('ada', 'hello', 'a')).rejects.toMatchObject({
    code: 'HUB_AGENT_STOPPED',
  });
  while (agents.list().length === 0) await Promise.resolve();
  await Promise.all([agents.remove('ada'), refused]);
  expect(bodies.get('ada')?.calls).toEqual([]);
  expect(await readdir(join(folder, 'agents'))).toEqual([]);
  await using next = await harness.restarted('end');
  expect(next.agents.list()).toEqual([]);
});

test('a container whose network is changed during a turn is stopped after the turn', async () => {
  const late = gate();
  await using harness = await openHarness(() => late.promise);
  const { agents, bodies } = harness;
  await agents.configure('ada', { grants: { network: 'bridge' } });
  const { messageId } = await agents.send('ada', 'one', 'a');
  await soon(() => expect(bodies.get('ada')?.calls).toEqual(['chat one']));
  await agents.configure('ada', { grants: { network: 'none' } });
  expect(agents.get('ada').status).toBe('running');
  late.resolve('two');
  expect(await answerTo(agents, 'ada', messageId)).toEqual({ texts: ['two'] });
  await soon(() => expect(agents.get('ada').status).toBe('stopped'));
});

test('settings are checked, kept, and given to the container', async () => {
  await using harness = await openHarness(() => 'ok');
  const { agents } = harness;
  await expect(agents.configure('ada', { grants: { tool: [] } })).rejects.toMatchObject({
    code: 'HUB_REQUEST_INVALID',
  });
  await agents.configure('ada', { model: 'big', budget: { steps_per_turn: 7 } });
  const { settings } = agents.get('ada');
  expect(settings).toMatchObject({ model: 'big', budget: { stepsPerTurn: 7, callsPerTurn: 100 } });
  await using next = await harness.restarted('end');
  expect(next.agents.get('ada').settings).toEqual(settings);
});

test.each(['{"color": "red"}', '[]', '{'])(
  'settings that are invalid (%s) are set aside, and their agent may use nothing',
  async text => {
    await using harness = await openHarness(() => 'ok');
    const { agents, folder } = harness;
    await agents.configure('ada', { grants: { tools: ['memory_*'] } });
    const own = join(folder, 'agents', 'ada');
    await writeFile(join(own, 'settings.json'), text);
    await using next = await harness.restarted('end');
    expect(next.agents.get('ada').settings.grants.tools).toEqual([]);
    const aside = (await readdir(own)).find(name => name.endsWith('.aside'));
    expect(await readFile(join(own, aside ?? ''), 'utf8')).toBe(text);
  },
);

test('a message that has not begun waits for an engine that is restarted', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, bodies, clock } = harness;
  await agents.configure('ada', {});
  const away = new HubError('HUB_ENGINE_UNREACHABLE', 'no Docker engine answers');
  bodies.get('ada')?.failures.push(away, away);
  const { messageId } = await agents.send('ada', 'hello', 'cursor');
  await soon(() => expect(agents.get('ada').current?.doing).toContain('starting again'));
  clock.advance(1_000);
  await soon(() => expect(bodies.get('ada')?.failures).toEqual([]));
  clock.advance(3_000);
  expect(await answerTo(agents, 'ada', messageId)).toEqual({ texts: ['re: hello'] });
});

test('a message that has not begun when the hub stops is answered by its next run', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, bodies } = harness;
  await agents.configure('ada', {});
  bodies.get('ada')?.failures.push(new HubError('HUB_ENGINE_UNREACHABLE', 'no engine answers'));
  const { messageId } = await agents.send('ada', 'hello', 'cursor');
  await soon(() => expect(agents.get('ada').current?.doing).toContain('starting again'));
  await agents.service.stop();
  await using again = await harness.restarted('end');
  expect(await answerTo(again.agents, 'ada', messageId)).toEqual({ texts: ['re: hello'] });
});

test('an engine that stays unreachable, and a container that cannot be created, fail the message', async () => {
  await using harness = await openHarness(({ message }) => message);
  const { agents, bodies, clock } = harness;
  await agents.configure('ada', {});
  const away = new HubError('HUB_ENGINE_UNREACHABLE', 'no Docker engine answers');
  bodies.get('ada')?.failures.push(away, away, away, away);
  const first = await agents.send('ada', 'hello', 'cursor');
  const left = () => bodies.get('ada')?.failures.length;
  for (const [pauseMs, expected] of [
    [1_000, 3],
    [3_000, 2],
    [10_000, 1],
  ] as const) {
    await soon(() => expect(left()).toBe(expected));
    await soon(() => expect(agents.get('ada').current?.doing).toContain('starting again'));
    clock.advance(pauseMs);
  }
  expect(await answerTo(agents, 'ada', first.messageId)).toMatchObject({
    code: 'HUB_ENGINE_UNREACHABLE',
  });
  bodies.get('ada')?.failures.push(new HubError('HUB_IMAGE_BUILD_FAILED', 'no space is left'));
  const second = await agents.send('ada', 'hello', 'cursor');
  expect(await answerTo(agents, 'ada', second.messageId)).toMatchObject({
    code: 'HUB_IMAGE_BUILD_FAILED',
  });
});

test('the error of a failed message stays readable after the next message was answered', async () => {
  await using harness = await openHarness(({ message }) => {
    if (message !== 'fatal') return `re: ${message}`;
    harness.bodies.get('ada')?.die();
    return new Promise<string>(() => undefined);
  });
  const { agents } = harness;
  const fatal = await agents.send('ada', 'fatal', 'cursor');
  const next = await agents.send('ada', 'next', 'cursor');
  expect(await answerTo(agents, 'ada', next.messageId)).toEqual({ texts: ['re: next'] });
  expect(await answerTo(agents, 'ada', fatal.messageId)).toMatchObject({ code: 'HUB_AGENT_DIED' });
  const { error, failures } = await agents.messages('ada', { count: 9 }, never);
  expect(error).toBeUndefined();
  expect(failures).toMatchObject([{ message_id: fatal.messageId, code: 'HUB_AGENT_DIED' }]);
  const newest = await agents.messages('ada', { count: 1 }, never);
  expect(newest.failures).toEqual([]);
  await using again = await harness.restarted('run');
  expect(await answerTo(again.agents, 'ada', fatal.messageId)).toMatchObject({
    code: 'HUB_AGENT_DIED',
  });
});

test('a conversation says why some of its messages have no answer', async () => {
  await using harness = await openHarness(({ message }) => {
    if (message !== 'fatal') return `re: ${message}`;
    harness.bodies.get('ada')?.die();
    return new Promise<string>(() => undefined);
  });
  const { agents } = harness;
  const fatal = await agents.send('ada', 'fatal', 'cursor');
  const next = await agents.send('ada', 'next', 'cursor');
  await answerTo(agents, 'ada', next.messageId);
  const failuresOf = async (count: number) =>
    (await agents.messages('ada', { count }, never)).failures;
  expect(await failuresOf(9)).toEqual([
    {
      message_id: fatal.messageId,
      code: 'HUB_AGENT_DIED',
      message: 'the container of ada ended',
    },
  ]);
  expect(await failuresOf(1)).toEqual([]);
});

test('the usage of an agent is known to its next container, until the agent is removed', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, spending } = harness;
  const sent = await agents.send('ada', 'hello', 'cursor');
  await answerTo(agents, 'ada', sent.messageId);
  const spent = [{ at: 1, tokens: 60 }];
  spending.save('ada', spent);
  await agents.stop('ada');
  expect(spending.earlier('ada')).toEqual(spent);
  await agents.remove('ada');
  spending.save('ada', spent);
  expect(spending.earlier('ada')).toEqual([]);
});

test('an agent without a conversation is listed, also when tasks.json is lost', async () => {
  await using before = await openHarness(() => 'done');
  await before.agents.configure('ada', { model: 'small' });
  await soon(async () => expect(await tasksOf(before.folder)).toHaveLength(1));
  await writeFile(join(before.folder, 'tasks.json'), '{');
  await using after = await before.restarted('end');
  expect(after.agents.list().map(describeBriefly)).toMatchObject([
    { agent_id: 'ada', status: 'stopped' },
  ]);
  await soon(async () =>
    expect(await tasksOf(after.folder)).toMatchObject([{ agent_id: 'ada', status: 'stopped' }]),
  );
});

const outcomesOf = (agents: Agents): readonly string[] => {
  const outcomes: string[] = [];
  agents.events(({ event }) => {
    if (event.type === 'outcome') outcomes.push(`${event.messageId} ${event.status}`);
  });
  return outcomes;
};

test('a waiting message that is cancelled twice at once has one outcome', async () => {
  const answer = gate();
  await using harness = await openHarness(() => answer.promise);
  const { agents, folder } = harness;
  const outcomes = outcomesOf(agents);
  await agents.send('ada', 'one', 'cursor');
  const { messageId } = await agents.send('ada', 'two', 'cursor');
  const cancel = () => agents.cancel('ada', messageId);
  expect(await Promise.all([cancel(), cancel()])).toEqual([true, false]);
  expect(outcomes).toEqual([`${messageId} cancelled`]);
  const { messages } = await sessionOf(folder, 'ada');
  expect(messages).toHaveLength(1);
  answer.resolve('done');
});

test('an agent does not begin a message that is being cancelled', async () => {
  const taken: string[] = [];
  await using harness = await openHarness(({ message }) => {
    taken.push(message);
    return 'done';
  });
  const { agents } = harness;
  const outcomes = outcomesOf(agents);
  const first = await agents.send('ada', 'one', 'cursor');
  const second = await agents.send('ada', 'two', 'cursor');
  agents.events(({ event }) => {
    if (event.type === 'outcome' && event.messageId === first.messageId)
      void agents.cancel('ada', second.messageId);
  });
  // The queue is empty before the outcome is on the disk and reported.
  await soon(() =>
    expect(outcomes).toEqual([`${first.messageId} answered`, `${second.messageId} cancelled`]),
  );
  expect(taken).toEqual(['one']);
});

test('an agent that could not be created does not exist, and the next message creates it', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const { agents, folder } = harness;
  await writeFile(join(folder, 'agents'), 'a file where the folder should be');
  await expect(agents.send('ada', 'hello', 'cursor')).rejects.toMatchObject({
    code: 'HUB_AGENT_STORE_FAILED',
    message: expect.stringContaining(join(folder, 'agents', 'ada')),
  });
  expect(agents.list()).toEqual([]);
  await rm(join(folder, 'agents'));
  const { messageId } = await agents.send('ada', 'hello', 'cursor');
  expect(await answerTo(agents, 'ada', messageId)).toEqual({ texts: ['re: hello'] });
  expect(await sessionOf(folder, 'ada')).toMatchObject({ lastMessageId: messageId });
});
