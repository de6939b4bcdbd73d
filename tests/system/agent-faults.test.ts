import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';
import { createAgentRequests } from './agent-requests.ts';

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

  const { ask, send, outcome } = createAgentRequests(() => hub);

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
