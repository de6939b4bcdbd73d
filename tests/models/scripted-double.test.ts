import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';

const user = { role: 'user', content: 'run it' };
const call = { name: 'shell', arguments: { command: 'ls' } };
const tool = { type: 'function', function: { name: 'shell', parameters: { type: 'object' } } };

async function chat(url: string, ...messages: readonly object[]): Promise<string> {
  const body = JSON.stringify({ model: 'scripted:1b', messages, tools: [tool] });
  const response = await fetch(`${url}/api/chat`, { method: 'POST', body });
  return `${response.status} ${await response.text()}`;
}

test('a script answers each chat depending on its history, with calls, delays and faults', async () => {
  const requests: ScriptedRequest[] = [];
  const gate = Promise.withResolvers<void>();
  await using ollama = await startScriptedOllama({
    async script(request) {
      requests.push(request);
      if (request.at === 0) return { text: '', toolCalls: [call] };
      if (request.at === 2)
        return { text: '', fault: { kind: 'error', status: 500, error: 'runner crashed' } };
      await gate.promise;
      return `It has ${request.last?.content}.`;
    },
  });
  const system = { role: 'system', content: 'Be brief.' };
  assert.match(await chat(ollama.url, system, user), /"name":"shell","arguments":{"command":"ls"}/);
  const second = chat(
    ollama.url,
    user,
    { role: 'assistant', content: '', tool_calls: [{ function: call }] },
    { role: 'tool', tool_name: 'shell', content: 'one file' },
  );
  gate.resolve();
  assert.match(
    await second,
    /"content":"It ".*"content":"has ".*"content":"one ".*"content":"file\."/s,
  );
  assert.equal(await chat(ollama.url, user), '500 {"error":"runner crashed"}');
  assert.deepEqual(
    requests.map(({ at, model, system: said, tools, last }) => [at, model, said, tools, last]),
    [
      [0, 'scripted:1b', 'Be brief.', ['shell'], { ...user, toolCalls: [], toolName: undefined }],
      [
        1,
        'scripted:1b',
        undefined,
        ['shell'],
        { role: 'tool', content: 'one file', toolCalls: [], toolName: 'shell' },
      ],
      [2, 'scripted:1b', undefined, ['shell'], { ...user, toolCalls: [], toolName: undefined }],
    ],
  );
  assert.deepEqual(requests[1]?.messages[1]?.toolCalls, [call]);
});
