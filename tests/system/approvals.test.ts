import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { type EraClient, connectEra, eras, refusal } from '#helpers/eras';
import { until } from '#helpers/hub';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { at } from '../routing/modern.ts';

const config = {
  servers: {
    echo: {
      runtime: 'process',
      command: process.execPath,
      args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
      auto_start: true,
    },
  },
  policy: [{ annotations: { destructiveHint: true }, action: 'confirm' }],
};

/** Resolves when a tool is in the list that the client gets. */
async function lists(client: EraClient, tool: string): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) if ((await client.toolNames()).includes(tool)) return;
  assert.fail(`${tool} is not listed`);
}

/** Calls a tool over REST. Returns the status and the id of the approval. */
async function callOver({ url }: HubProcess, text: string) {
  const answer = await fetch(`${url}/mcp/echo/tools/call`, {
    method: 'POST',
    body: JSON.stringify({ name: 'echo', arguments: { text } }),
  });
  const body: unknown = await answer.json();
  return { status: answer.status, id: String(at(body, 'error', 'data', 'approval')) };
}

async function waitingAt({ url, ownerHeaders }: HubProcess): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/approvals`, { headers: ownerHeaders });
  const body: unknown = await answer.json();
  const list = at(body, 'approvals');
  return Array.isArray(list) ? list : assert.fail(JSON.stringify(body));
}

async function approve({ url, ownerHeaders }: HubProcess, id: string): Promise<void> {
  const answer = await fetch(`${url}/approvals/${id}/approve`, {
    method: 'POST',
    headers: ownerHeaders,
  });
  assert.equal(answer.status, 204);
}

describe('a hub that is killed while 100 calls wait for a person', () => {
  test('restores them all in its next run, with the approved ones, and admits none twice', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-approvals-'));
    const dataDir = join(folder.path, 'data');
    const texts = Array.from({ length: 100 }, (_, index) => `t${index}`);
    const approved = texts.slice(0, 10);
    const used = approved.slice(0, 3);
    await using first = await startHub({ config, dataDir });
    const refused = await Promise.all(texts.map(text => callOver(first, text)));
    assert.ok(refused.every(({ status }) => status === 403));
    await Promise.all(refused.slice(0, 10).map(({ id }) => approve(first, id)));
    for (const text of used) assert.equal((await callOver(first, text)).status, 200);
    const asked = await connectEra('2025', `${first.url}/mcp`, {
      elicitation: () => new Promise<never>(() => undefined),
    });
    // The question to the client is lost when the hub is killed.
    asked.call('echo_echo', { text: 'asked' }).catch(() => undefined);
    await until(() => asked.asked.includes('elicitation/create'));
    await first.kill();

    await using second = await startHub({ config, dataDir });
    const waiting = await waitingAt(second);
    const states = (state: string) =>
      waiting.filter(one => isObject(one) && one['state'] === state).length;
    // The approval that the client's user was asked for may be among the pending ones.
    assert.equal(states('approved'), 7);
    assert.ok(states('pending') === 90 || states('pending') === 91, String(states('pending')));
    for (const text of used) assert.equal((await callOver(second, text)).status, 403);
    for (const text of approved.slice(3)) {
      assert.equal((await callOver(second, text)).status, 200);
      assert.equal((await callOver(second, text)).status, 403);
    }
  }, 60_000);
});

describe.each(eras)('the official client of %s', era => {
  test('asks its user, and calls only after acceptance', async () => {
    await using hub = await startHub({ config });
    const questions: string[] = [];
    const actions = ['accept', 'decline'] as const;
    await using client = await connectEra(era, `${hub.url}/mcp`, {
      elicitation({ message }) {
        questions.push(message);
        return { action: actions[questions.length - 1] ?? 'cancel' };
      },
    });
    await lists(client, 'echo_echo');
    assert.equal(await client.call('echo_echo', { text: 'a' }), 'a');
    const { data } = await refusal(client.call('echo_echo', { text: 'b' }));
    assert.equal(at(data, 'code'), 'HUB_APPROVAL_DENIED');
    assert.deepEqual(questions, [
      'Let local call echo_echo once? Its arguments: {"text":"a"}',
      'Let local call echo_echo once? Its arguments: {"text":"b"}',
    ]);
  }, 60_000);
});
