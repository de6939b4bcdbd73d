import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub, until } from '../helpers/hub-process.ts';

const run = promisify(execFile);

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

  /** Text of the answer to a message, or the code of its error. */
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

  /** The containers of agents that run now, by the short ids that the hub shows. */
  async function running(): Promise<readonly string[]> {
    const { stdout } = await run('docker', [
      'ps',
      '--filter',
      `name=^${hubName}-`,
      '--format',
      '{{.ID}}',
    ]);
    return stdout.split('\n').filter(Boolean).toSorted();
  }

  async function known(): Promise<readonly string[]> {
    const { agents } = JSON.parse(await readFile(join(hub.dataDir, 'tasks.json'), 'utf8'));
    return agents
      .flatMap(({ container_id: id }: { container_id: string | null }) => id ?? [])
      .toSorted();
  }

  test('20 messages at once to one agent are answered once each, in their order', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `echo ${index}`);
    const ids: string[] = [];
    for (const text of texts) ids.push(await send('one', text));
    const answers = await Promise.all(ids.map(id => outcome('one', id)));
    expect(answers).toEqual(texts.map(text => text.slice(5)));
    const { messages } = await ask('GET', '/agents/one/messages?count=1000');
    assert.ok(Array.isArray(messages));
    const asked = messages.filter(({ role }) => role === 'user');
    expect(asked.map(({ content }) => content[0].text)).toEqual(texts);
  });

  test('20 agents at once share four containers, and tasks.json agrees with the engine', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `crowd-${index}`);
    const ids = await Promise.all(names.map(name => send(name, `echo ${name}`)));
    const counts: number[] = [];
    const looking = setInterval(() => void running().then(found => counts.push(found.length)), 300);
    const answers = await Promise.all(names.map((name, index) => outcome(name, ids[index] ?? '')));
    clearInterval(looking);
    expect(answers).toEqual(names);
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    await until(
      async () => ({ engine: await running(), tasks: await known() }),
      ({ engine, tasks }) => engine.join() === tasks.join(),
      10_000,
    );
  }, 90_000);

  test('a workspace past its limit stops the agent with that reason, and the others answer', async () => {
    const id = await send('writer', 'fill');
    const other = send('other', 'echo there').then(sent => outcome('other', sent));
    expect(await outcome('writer', id)).toBe('HUB_WORKSPACE_FULL');
    expect(await other).toBe('there');
  }, 60_000);

  test('a shell that forks or fills memory is bounded, and the agent goes on', async () => {
    expect(await outcome('bomber', await send('bomber', 'fork'))).toContain(
      'Resource temporarily unavailable',
    );
    const memory = await outcome('bomber', await send('bomber', 'memory'));
    // The command is killed, not the agent.
    expect(memory).toMatch(/Killed|SIGKILL|exit code 137/);
    expect(await outcome('bomber', await send('bomber', 'echo alive'))).toBe('alive');
  }, 120_000);

  test('idle agents are stopped by hand and come back with their conversation', async () => {
    await ask('POST', '/agents/one/stop');
    expect((await ask('GET', '/agents/one'))['status']).toBe('stopped');
    expect(await outcome('one', await send('one', 'count'))).toBe('21 messages of yours');
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
