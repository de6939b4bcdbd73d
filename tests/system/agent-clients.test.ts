import assert from 'node:assert/strict';
import {
  Client as ClientOf2026,
  StreamableHTTPClientTransport as HttpOf2026,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';

const clientInfo = { name: 'agent-clients', version: '1' };
const tasksExtension = 'io.modelcontextprotocol/tasks';
const version = '2026-07-28';

describeWithEngine('agents and the official clients of both revisions', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;

  beforeAll(async () => {
    ollama = await startScriptedOllama({
      script: ({ messages, last }) => {
        const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
        if (asked.startsWith('wait') && last?.role !== 'tool')
          return {
            text: '',
            toolCalls: [{ name: 'shell', arguments: { command: asked.slice(5) } }],
          };
        return `you said ${asked}`;
      },
    });
    hub = await startHub({
      config: { servers: {} },
      env: {
        OLLAMA_HOST: ollama.url,
        OLLAMA_MODEL: 'scripted:1b',
        HUB_NAME: `agent-clients-${process.pid}`,
      },
    });
  });

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  const owner = () => ({ requestInit: { headers: hub.ownerHeaders } });

  async function connectModern(path: string, capabilities: object = {}) {
    const client = new ClientOf2026(clientInfo, {
      versionNegotiation: { mode: { pin: version } },
      capabilities,
    });
    await client.connect(new HttpOf2026(new URL(`${hub.url}${path}`), owner()));
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
  }

  /** Sends a request of the tasks extension, for which the official client has no methods. */
  async function post(path: string, method: string, params: object, headers = {}) {
    const name = Object.entries(params).find(([key]) => key === 'name' || key === 'taskId')?.[1];
    return await fetch(`${hub.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': String(name) }),
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': version,
            'io.modelcontextprotocol/clientInfo': clientInfo,
            'io.modelcontextprotocol/clientCapabilities': { extensions: { [tasksExtension]: {} } },
          },
        },
      }),
    });
  }

  async function ask(path: string, method: string, params: object): Promise<Answer> {
    const answer: unknown = await (await post(path, method, params)).json();
    assert.ok(isObject(answer), JSON.stringify(answer));
    const { result, error } = answer;
    return isObject(result) ? result : { error };
  }

  const named = (path: string, tool: string) => (path === '/mcp' ? `agents_${tool}` : tool);

  async function began(path: string, agent: string, message: string): Promise<string> {
    const made = await ask(path, 'tools/call', {
      name: named(path, 'send_message'),
      arguments: { agent_id: agent, message },
    });
    expect(made).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 1_000 });
    return String(made['taskId']);
  }

  /** Reads events of a stream until one matches. */
  async function heard(
    stream: ReadableStream<Uint8Array>,
    isLast: (event: Answer) => boolean,
  ): Promise<readonly Answer[]> {
    const events: Answer[] = [];
    let text = '';
    for await (const chunk of stream) {
      text += new TextDecoder().decode(chunk);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        const event: unknown = data && JSON.parse(data);
        if (isObject(event)) events.push(event);
        if (isObject(event) && isLast(event)) return events;
      }
    }
    return events;
  }

  describe.each([
    { path: '/mcp', agent: 'modern' },
    { path: '/mcp/agents', agent: 'modern-too' },
  ])('at $path', ({ path, agent }) => {
    // The agent is new, so its container takes longer to start than the client takes to subscribe.
    test('a turn is a task of the 2026-07-28 extension, with its state in notifications', async () => {
      const { capabilities } = await ask(path, 'server/discover', {});
      expect(capabilities).toMatchObject({ extensions: { [tasksExtension]: {} } });
      const id = await began(path, agent, 'wait sleep 1; echo slept');
      const listening = await post(path, 'subscriptions/listen', {
        notifications: { taskIds: [id] },
      });
      assert.ok(listening.body);
      const events = await heard(listening.body, event => statusIn(event) === 'completed');
      const told = events.filter(({ method }) => method === 'notifications/tasks');
      expect(told.map(({ params }) => isObject(params) && params['statusMessage'])).toContain(
        'calling shell',
      );
      const task = await ask(path, 'tasks/get', { taskId: id });
      expect(task).toMatchObject({
        resultType: 'complete',
        taskId: id,
        status: 'completed',
        result: {
          content: [{ type: 'text', text: 'you said wait sleep 1; echo slept' }],
          structuredContent: { status: 'answered', agent_id: agent, message_id: id },
        },
      });
      expect(told.at(-1)).toMatchObject({ params: { taskId: id, result: task['result'] } });
    });

    test('such a task can be cancelled, and an unknown one is an error', async () => {
      const id = await began(path, agent, 'wait sleep 60');
      expect(await ask(path, 'tasks/cancel', { taskId: id })).toEqual({ resultType: 'complete' });
      await expect
        .poll(async () => (await ask(path, 'tasks/get', { taskId: id }))['status'], {
          timeout: 15_000,
        })
        .toBe('cancelled');
      expect(await ask(path, 'tasks/get', { taskId: 'none' })).toMatchObject({
        error: { code: -32602 },
      });
    }, 20_000);
  });

  test('a client of 2026-07-28 without the extension gets the answer and progress by get_messages', async () => {
    await using client = await connectModern('/mcp/agents');
    const sent = await client.callTool({
      name: 'send_message',
      arguments: { agent_id: 'plain', message: 'wait echo hello' },
    });
    expect(sent.structuredContent).toMatchObject({ status: 'accepted', position: 0 });
    const { message_id: since } = sent.structuredContent as { message_id: string };
    const progress: (string | undefined)[] = [];
    const read = await client.callTool(
      { name: 'get_messages', arguments: { agent_id: 'plain', since, wait_seconds: 60 } },
      { onprogress: ({ message }) => void progress.push(message) },
    );
    expect(read.structuredContent).toMatchObject({
      messages: [{ role: 'assistant', content: 'you said wait echo hello' }],
    });
    expect(progress).toContain('calling shell');
  });

  describe('remove_agent requires a confirmation', () => {
    const remove = { name: 'remove_agent', arguments: { agent_id: 'plain' } };

    async function connectLegacy(answer?: 'accept' | 'decline') {
      const client = new Client(clientInfo, {
        capabilities: answer ? { elicitation: {} } : {},
      });
      const questions: string[] = [];
      if (answer)
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          questions.push(params.message);
          return { action: answer };
        });
      const url = new URL(`${hub.url}/mcp/agents`);
      await client.connect(new StreamableHTTPClientTransport(url, owner()));
      return Object.assign(client, {
        questions,
        [Symbol.asyncDispose]: () => client.close(),
      });
    }

    const provide = async () => {
      await using client = await connectModern('/mcp/agents');
      await client.callTool({
        name: 'configure_agent',
        arguments: { agent_id: 'plain', system: null },
      });
    };
    const exists = async () => {
      const response = await fetch(`${hub.url}/agents/plain`, { headers: hub.ownerHeaders });
      return response.ok;
    };

    test('by the user of a client with a session, who may decline', async () => {
      await provide();
      await using declining = await connectLegacy('decline');
      // `confirm`, which a model can set, does not replace the user's answer.
      const confirmed = { ...remove, arguments: { ...remove.arguments, confirm: true } };
      expect(await declining.callTool(confirmed)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('the user did not agree (decline)') }],
      });
      expect(declining.questions[0]).toMatch(/^Remove the agent plain\? This deletes/);
      expect(await exists()).toBe(true);
      await using accepting = await connectLegacy('accept');
      expect(await accepting.callTool(remove)).toMatchObject({
        structuredContent: { removed: 'plain' },
      });
      expect(await exists()).toBe(false);
    });

    test('by the user of a stateless client, by input_required', async () => {
      await provide();
      const answer = async (action: 'accept' | 'decline') => {
        await using client = await connectModern('/mcp/agents', { elicitation: {} });
        client.setRequestHandler('elicitation/create', () => ({ action }));
        return await client.callTool(remove);
      };
      expect(await answer('decline')).toMatchObject({ isError: true });
      expect(await exists()).toBe(true);
      expect(await answer('accept')).toMatchObject({ structuredContent: { removed: 'plain' } });
      expect(await exists()).toBe(false);
    });

    test.each(['legacy', 'modern'])(
      'in the arguments of a client without elicitation: %s',
      async era => {
        await provide();
        await using client =
          era === 'legacy' ? await connectLegacy() : await connectModern('/mcp/agents');
        expect(await client.callTool(remove)).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining('"confirm": true') }],
        });
        expect(await exists()).toBe(true);
        const confirmed = { ...remove, arguments: { ...remove.arguments, confirm: true } };
        expect(await client.callTool(confirmed)).toMatchObject({
          structuredContent: { removed: 'plain' },
        });
      },
    );
  });
});

type Answer = { readonly [key: string]: unknown };

const statusIn = ({ params }: Answer) => (isObject(params) ? params['status'] : undefined);
