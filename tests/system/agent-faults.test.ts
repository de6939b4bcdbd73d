import assert from 'node:assert/strict';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';

describeWithEngine('agents under load and at their bounds', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;
  const hubName = `faults-${process.pid}`;

  beforeAll(async () => {
    ollama = await startScriptedOllama({ script: answer });
    hub = await startHub({
      config: {
        servers: {},
        agents: { max_running: 4, workspace: '20m', pids: 64, memory: '256m' },
      },
      env: { OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'scripted:1b', HUB_NAME: hubName },
    });
  });

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  async function ask(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${hub.url}${path}`, {
      method,
      headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const content: unknown = await response.json();
    assert.ok(isObject(content) && response.ok, JSON.stringify(content));
    return content;
  }

  const send = async (agent: string, message: string) =>
    String((await ask('POST', `/agents/${agent}/messages`, { message }))['message_id']);

  /** Returns the text of the answer to a message, or the code of its error. */
  async function outcome(agent: string, id: string): Promise<string> {
    for (;;) {
      const path = `/agents/${agent}/messages?since=${id}&wait_seconds=60&count=1000`;
      const { messages, error } = await ask('GET', path);
      const texts = (Array.isArray(messages) ? messages : []).filter(
        ({ message_id: of, role }) => of === id && role === 'assistant',
      );
      if (texts.length > 0) return texts.map(({ content }) => content[0].text).join('|');
      if (isObject(error)) return String(error['code']);
    }
  }

  test('a workspace above its limit stops the agent with that reason, and other agents answer', async () => {
    const id = await send('writer', 'fill');
    const other = send('other', 'echo there').then(sent => outcome('other', sent));
    expect(await outcome('writer', id)).toBe('HUB_WORKSPACE_FULL');
    expect(await other).toBe('there');
  }, 60_000);

  test('a shell that forks or fills memory is limited, and the agent continues', async () => {
    expect(await outcome('bomber', await send('bomber', 'fork'))).toContain(
      'Resource temporarily unavailable',
    );
    const memory = await outcome('bomber', await send('bomber', 'memory'));
    // The engine kills the command, not the agent.
    expect(memory).toMatch(/Killed|SIGKILL|exit code 137/);
    expect(await outcome('bomber', await send('bomber', 'echo alive'))).toBe('alive');
  }, 120_000);

  test('idle agents are stopped by hand and restarted with their conversation', async () => {
    expect(await outcome('other', await send('other', 'count'))).toBe('2 messages of yours');
    await ask('POST', '/agents/other/stop');
    expect((await ask('GET', '/agents/other'))['status']).toBe('stopped');
    expect(await outcome('other', await send('other', 'count'))).toBe('3 messages of yours');
  });
});

type Answer = { readonly [key: string]: unknown };

function answer({ messages, last }: ScriptedRequest) {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const result = last?.role === 'tool' ? last.content : undefined;
  const shell = (command: string) =>
    result ?? { text: '', toolCalls: [{ name: 'shell', arguments: { command } }] };
  if (asked === 'fill')
    return shell('for i in $(seq 8); do head -c 5000000 /dev/zero > f$i; done; sleep 20');
  if (asked === 'fork')
    return shell(
      "python3 -c 'import os, time\nfor _ in range(100): os.fork()\ntime.sleep(1)' 2>&1 | tail -1",
    );
  if (asked === 'memory')
    return shell(`python3 -c 'x = [b"x" * 10**7 for _ in range(200)]; print(len(x))'`);
  if (asked === 'count')
    return `${messages.filter(({ role }) => role === 'user').length} messages of yours`;
  return asked.replace(/^echo /, '');
}
