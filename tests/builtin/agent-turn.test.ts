import { expect, test } from 'vitest';
import { beginTurn } from '../../hub/builtin/agent-turn.ts';
import { openHarness } from '../agents/harness.ts';

const ask = { id: 'ada', message: 'hello', from: 'cursor' };

test('the result of a turn is the answer to its message', async () => {
  await using harness = await openHarness(({ message }) => `re: ${message}`);
  const turn = await beginTurn(harness.agents, ask);
  expect(await turn.result).toEqual({
    text: 're: hello',
    structured: { status: 'answered', agent_id: 'ada', message_id: turn.id },
  });
});

test('a turn says what the agent does, and that it waits', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await using harness = await openHarness(() => promise);
  const first = await beginTurn(harness.agents, ask);
  const second = await beginTurn(harness.agents, ask);
  await expect.poll(() => harness.agents.get('ada').current?.messageId).toBe(first.id);
  expect(first.doing()).toBe(harness.agents.get('ada').current?.doing);
  expect(second.doing()).toBe('waits for the messages before it');
  const changes: unknown[] = [];
  using _ = second.changed(change => void changes.push(change));
  resolve('done');
  expect(await second.result).toMatchObject({ text: 'done' });
  expect(changes.length).toBeGreaterThan(0);
});

test('a turn that fails has the reason as its result, and a cancelled one rejects', async () => {
  await using harness = await openHarness(({ message }) => {
    if (message === 'hello') harness.bodies.get('ada')?.die();
    return new Promise<string>(() => undefined);
  });
  const turn = await beginTurn(harness.agents, ask);
  expect(await turn.result).toMatchObject({
    isError: true,
    structured: { status: 'failed', error: { code: 'HUB_AGENT_DIED' } },
  });
  await beginTurn(harness.agents, { ...ask, message: 'work' });
  const waiting = await beginTurn(harness.agents, { ...ask, message: 'later' });
  await waiting.cancel();
  await expect(waiting.result).rejects.toThrow(/was cancelled/);
  await harness.agents.stop('ada');
});

test('a message that is not accepted begins no turn', async () => {
  await using harness = await openHarness(({ message }) => message);
  await expect(beginTurn(harness.agents, { ...ask, id: 'A b' })).rejects.toThrow(/A b/);
});
