import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeTempFolder } from '#helpers/temp-folder';
import { createBacklog } from '#store';
import { createMessageQueue } from '../../hub/agents/message-queue.ts';
import { createManualClock } from '../helpers/clock.ts';
import { createRecordingLog } from '../helpers/recording-log.ts';

async function openQueue(folder: string, limits = {}) {
  let last = 0;
  const { log, logged } = createRecordingLog();
  const queue = createMessageQueue(
    {
      file: join(folder, 'agents.jsonl'),
      limits: { perAgent: 10, messageBytes: 100, totalBytes: 1_000, ...limits },
    },
    {
      clock: createManualClock(),
      log,
      backlog: createBacklog(),
      newId: () => `${process.hrtime.bigint()}-${++last}`,
    },
  );
  await queue.open();
  onTestFinished(() => queue.close());
  return { queue, logged };
}
const newFolder = () => makeTempFolder('queue');
const textsOf = (messages: readonly { readonly text: string }[]) =>
  messages.map(({ text }) => text);

test('a restarted queue has its messages in order, and knows which one was started', async () => {
  const folder = newFolder();
  const { queue } = await openQueue(folder);
  const { message: first } = await queue.accept('ada', 'one', 'a');
  await queue.started(first.id, 'c1');
  await queue.accept('ada', 'two', 'a');
  await queue.accept('bob', 'three', 'b');
  const { message: gone } = await queue.accept('ada', 'four', 'a');
  await queue.end(gone.id, 'cancelled');
  const { queue: next } = await openQueue(folder);
  expect(textsOf(next.of('ada'))).toEqual(['one', 'two']);
  expect(next.of('ada')[0]).toMatchObject({ id: first.id, startedIn: 'c1', from: 'a' });
  expect([...next.agents()]).toEqual(['ada', 'bob']);
  expect(await next.end(gone.id, 'answered')).toBe(false);
});

test('a sender with many messages does not delay another sender', async () => {
  const { queue } = await openQueue(newFolder());
  for (const text of ['a1', 'a2', 'a3']) await queue.accept('ada', text, 'a');
  const { position } = await queue.accept('ada', 'b1', 'b');
  expect(position).toBe(1);
  expect(textsOf(queue.of('ada'))).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('messages that wait at a restart are not overtaken by all that another sender sends after it', async () => {
  const folder = newFolder();
  const { queue } = await openQueue(folder);
  for (const text of ['done 1', 'done 2', 'done 3']) {
    const { message } = await queue.accept('ada', text, 'a');
    await queue.started(message.id, 'c1');
    await queue.end(message.id, 'answered');
  }
  for (const text of ['a1', 'a2']) await queue.accept('ada', text, 'a');
  await queue.close();
  const { queue: next } = await openQueue(folder);
  for (const text of ['b1', 'b2', 'b3']) await next.accept('ada', text, 'b');
  expect(textsOf(next.of('ada'))).toEqual(['a1', 'b1', 'a2', 'b2', 'b3']);
});

test('a message that is too long, one too many, or beyond the total size is refused', async () => {
  const { queue } = await openQueue(newFolder(), { perAgent: 2, totalBytes: 250 });
  const refused = async (agent: string, text: string) =>
    await queue.accept(agent, text, 'a').then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
  expect(await refused('ada', 'x'.repeat(101))).toBe('HUB_BODY_TOO_LARGE');
  expect(await refused('ada', 'x'.repeat(90))).toBe('accepted');
  expect(await refused('ada', 'x'.repeat(90))).toBe('accepted');
  expect(await refused('ada', 'x')).toBe('HUB_AGENT_QUEUE_FULL');
  expect(await refused('bob', 'x'.repeat(90))).toBe('HUB_AGENT_QUEUE_FULL');
  expect(await refused('bob', 'x'.repeat(10))).toBe('accepted');
});

test('a message that cannot be written is not accepted', async () => {
  const folder = newFolder();
  const { queue } = await openQueue(join(folder, 'missing'));
  await expect(queue.accept('ada', 'one', 'a')).rejects.toMatchObject({
    code: 'HUB_AGENT_STORE_FAILED',
  });
  expect(queue.of('ada')).toEqual([]);
});

test('a message cannot be taken before it is on the disk', async () => {
  const { queue } = await openQueue(newFolder(), { perAgent: 1 });
  const accepting = queue.accept('ada', 'one', 'a');
  expect(queue.of('ada')).toEqual([]);
  expect(queue.next('ada')).toBe(undefined);
  // The message being written already takes the only place.
  await expect(queue.accept('ada', 'two', 'a')).rejects.toMatchObject({
    code: 'HUB_AGENT_QUEUE_FULL',
  });
  expect(await accepting).toMatchObject({ position: 0 });
  expect(textsOf(queue.of('ada'))).toEqual(['one']);
});

test('lines that are not records are skipped, and the rest is kept', async () => {
  const folder = newFolder();
  const { queue } = await openQueue(folder);
  await queue.accept('ada', 'one', 'a');
  const file = join(folder, 'agents.jsonl');
  await writeFile(file, `{"type":"other"}\nnot JSON\n${await readFile(file, 'utf8')}{"type":"acc`);
  const { queue: next } = await openQueue(folder);
  expect(textsOf(next.of('ada'))).toEqual(['one']);
});
