import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { memoryInUse } from '#helpers/memory';
import { type AgentSession, newSession } from '../../hub/agents/session-schema.ts';
import { createSessionRecord } from '../../hub/agents/session-record.ts';
import { readTurnResult } from '../../hub/agents/turn-result.ts';

const at = new Date(0).toISOString();

/** Returns the turn of a message that a container has answered with `length` characters. */
const turnOf = (id: string, length: number) =>
  ({
    message: { agent: 'writer', id, from: 'cursor', text: 'write', at: 0, round: 1 },
    outcome: { status: 'answered' },
    result: readTurnResult('writer', {
      status: 'answered',
      messages: [
        {
          message_id: id,
          role: 'assistant',
          at,
          content: [{ type: 'text', text: Buffer.alloc(length, 'x').toString('latin1') }],
        },
      ],
      usage: { input_tokens: 1, output_tokens: 2, model_calls: 1 },
      snapshot: null,
    }),
  }) as const;

/** Creates a record of a session, and records its writes instead of storing them in a file. */
function open() {
  const written: Pick<AgentSession, 'usage' | 'lastMessageId'>[] = [];
  const record = createSessionRecord('writer', undefined, {
    clock: createManualClock(),
    log: silent,
    memory: {
      readSession: async () => newSession('writer', 0),
      async writeSession({ usage, lastMessageId }) {
        written.push({ usage, lastMessageId });
      },
    },
  });
  return { record, written };
}

test('turns are written one after another, and summed up', async () => {
  const { record, written } = open();
  const added = await Promise.all([record.add(turnOf('a', 1)), record.add(turnOf('b', 1))]);
  assert.deepEqual(
    added.map(messages => messages.map(({ role }) => role)),
    [
      ['user', 'assistant'],
      ['user', 'assistant'],
    ],
  );
  assert.deepEqual(
    written.map(({ lastMessageId }) => lastMessageId),
    ['a', 'b'],
  );
  assert.equal(record.summary?.lastMessageId, 'b');
});

test('the messages of a turn are not kept in memory', async () => {
  const records = Array.from({ length: 16 }, () => open().record);
  const before = await memoryInUse();
  for (const record of records) await record.add(turnOf('a', 2 ** 19));
  assert.ok((await memoryInUse()) - before < 2 ** 20);
  assert.equal(records[0]?.summary?.lastMessageId, 'a');
});

test('the oldest messages of a conversation of more than 16 MiB are dropped, never the newest', async () => {
  let session = newSession('writer', 0);
  const record = createSessionRecord('writer', undefined, {
    clock: createManualClock(),
    log: silent,
    memory: {
      readSession: async () => session,
      async writeSession(written) {
        session = written;
      },
    },
  });
  const mib = 2 ** 20;
  for (const id of ['a', 'b', 'c', 'd', 'e']) await record.add(turnOf(id, 5 * mib));
  const ids = () => session.messages.map(({ role, message_id: id }) => `${role} ${id}`);
  assert.deepEqual(
    ids(),
    ['c', 'd', 'e'].flatMap(id => [`user ${id}`, `assistant ${id}`]),
  );
  assert.equal(session.usage.model_calls, 5);
  await record.add(turnOf('f', 20 * mib));
  assert.deepEqual(ids(), ['assistant f']);
});
