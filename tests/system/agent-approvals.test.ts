import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub, until } from '../helpers/hub-process.ts';
import { createAgentRequests } from './agent-requests.ts';

/** How long a call of an agent waits for approval, in seconds. */
const agentWait = 3;

describeWithEngine('a call of an agent in its container that a rule wants confirmed', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;
  let events: { readonly text: () => string; readonly stop: () => void };

  beforeAll(async () => {
    ollama = await startScriptedOllama({ script: echo });
    hub = await startHub({
      config: {
        servers: {
          echo: {
            runtime: 'process',
            command: process.execPath,
            args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
            auto_start: true,
          },
        },
        policy: [{ tools: ['echo_echo'], action: 'confirm' }],
        approvals: { agent_wait: agentWait },
      },
      env: {
        OLLAMA_HOST: ollama.url,
        OLLAMA_MODEL: 'scripted:1b',
        HUB_NAME: `agent-approvals-${process.pid}`,
      },
    });
    await ask('POST', '/agents/clerk/configure', { grants: { tools: ['echo_echo'] } });
    events = await follow('/agents/clerk/events');
  });

  afterAll(async () => {
    events?.stop();
    await hub?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  const { ask } = createAgentRequests(() => hub);

  /** Collects the text of an event stream. */
  async function follow(path: string) {
    const ending = new AbortController();
    const { body } = await fetch(`${hub.url}${path}`, {
      headers: hub.ownerHeaders,
      signal: ending.signal,
    });
    assert.ok(body);
    let text = '';
    const reading = async () => {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) text += chunk;
    };
    reading().catch(() => undefined); // The test aborts the stream.
    return { text: () => text, stop: () => ending.abort() };
  }

  const send = async (message: string) =>
    String((await ask('POST', '/agents/clerk/messages', { message }))['message_id']);

  async function answerTo(id: string): Promise<string> {
    const { messages, error } = await ask(
      'GET',
      `/agents/clerk/messages?since=${id}&wait_seconds=60&count=1`,
    );
    assert.ok(Array.isArray(messages) && messages.length === 1, JSON.stringify(error));
    return messages[0].content[0].text;
  }

  /** Waits for an approval that contains this text, and returns it. */
  async function waitingFor(text: string): Promise<string> {
    const { approvals } = await until(
      () => ask('GET', '/approvals'),
      found => JSON.stringify(found).includes(text),
      60_000,
    );
    const all: readonly unknown[] = Array.isArray(approvals) ? approvals : [];
    const found = all.find(one => isObject(one) && String(one['arguments']).includes(text));
    assert.ok(isObject(found));
    expect(found).toMatchObject({ client: 'agent:clerk', tool: 'echo_echo', state: 'pending' });
    return String(found['id']);
  }

  test('waits for a person, says so in the conversation, and continues after an approval', async () => {
    const message = await send('echo one');
    const id = await waitingFor('one');
    await until(
      async () => events.text(),
      text => text.includes(`echo_echo waits for a person: agenthub approve ${id}`),
      10_000,
    );
    await ask('POST', `/approvals/${id}/approve`);
    expect(await answerTo(message)).toBe('the tool said: one');
  });

  test('is refused after a denial, and the model learns why', async () => {
    const message = await send('echo two');
    await ask('POST', `/approvals/${await waitingFor('two')}/deny`);
    expect(await answerTo(message)).toMatch(
      /echo_echo was not called: the owner of the hub denied it/,
    );
  });

  test('is refused with the id when its time is over, and may be repeated after a late approval', async () => {
    const began = performance.now();
    const refused = await answerTo(await send('echo three'));
    expect(performance.now() - began).toBeGreaterThan(agentWait * 1_000);
    const id = /agenthub approve (\w+)/.exec(refused)?.[1] ?? assert.fail(refused);
    await ask('POST', `/approvals/${id}/approve`);
    expect(await answerTo(await send('echo three'))).toBe('the tool said: three');
  });
});

/** A model that calls the tool with the rest of the message, and repeats its result. */
function echo({ messages, last }: ScriptedRequest) {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (last?.role === 'tool') return `the tool said: ${last.content}`;
  const args = { text: asked.replace(/^echo /, '') };
  return { text: '', toolCalls: [{ name: 'echo_echo', arguments: args }] };
}
