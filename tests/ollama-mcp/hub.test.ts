import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';
import { startOpenAi } from '../doubles/openai.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub, until } from '../helpers/hub-process.ts';
import { type Runner, clientKinds, connectRunner } from './clients.ts';

const docker = promisify(execFile);
const model = 'llama3.2:3b';
const hubName = `ollama-mcp-${process.pid}`;

describeWithEngine('ollama-mcp behind a hub', () => {
  let ollama: OllamaDouble;
  let endpoint: Awaited<ReturnType<typeof startOpenAi>>;
  let hub: HubProcess;

  beforeAll(async () => {
    ollama = await startOllama();
    endpoint = await startOpenAi(() => ({ text: 'of the provider' }));
    const entry = { package: 'agenthub:ollama-mcp', timeout: 30 };
    hub = await startHub({
      config: {
        models: { providers: { work: { url: endpoint.url, context: 4096 } } },
        servers: {
          ollama: entry,
          process: { ...entry, runtime: 'process' },
          few: { ...entry, runtime: 'process', env: { OLLAMA_MCP_MODELS: 'work/gpt-x' } },
        },
      },
      env: { OLLAMA_HOST: ollama.url, HUB_NAME: hubName },
    });
  }, 120_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await endpoint?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
  });

  describe.for(clientKinds)('with a client of %s', kind => {
    let client: Runner;
    beforeAll(async () => {
      client = await connectRunner(kind, `${hub.url}/mcp/ollama`);
    }, 60_000);
    afterAll(() => client?.[Symbol.asyncDispose]());

    test('a prompt runs on the models of the hub, with progress', async () => {
      const pieces: string[] = [];
      const { promise: isTold, resolve: told } = Promise.withResolvers<void>();
      ollama.says({
        text: 'blue',
        pieces: ['<think>hm</think>', 'bl', 'ue'],
        // Clients of the SDK drop progress that arrives in one chunk with the result.
        fault: { kind: 'paced', before: async line => await (line === 3 ? isTold : undefined) },
      });
      const { structured } = await client.call(
        'ollama_run',
        { model, prompt: 'Why?', options: { temperature: 0 } },
        {
          onProgress(piece) {
            pieces.push(piece);
            if (pieces.join('') === 'blue') told();
          },
        },
      );
      expect(structured).toMatchObject({
        text: 'blue',
        model,
        tokens: { prompt: expect.any(Number), completion: expect.any(Number) },
        done_reason: 'stop',
      });
      assert.equal(pieces.join(''), 'blue');
    }, 60_000);

    test('the list has the models of Ollama and of providers', async () => {
      const { structured } = await client.call('ollama_list_models');
      expect(structured).toMatchObject({
        models: [
          { name: model, source: 'ollama' },
          { name: 'nomic-embed-text:latest' },
          { name: 'work/gpt-x', source: 'work', context_tokens: 4096 },
        ],
        unavailable: [],
      });
      const answer = await client.call('ollama_run', { model: 'work/gpt-x', prompt: 'x' });
      assert.equal(answer.text, 'of the provider');
    });

    test('a cancelled call closes the connection to Ollama within 1 s', async () => {
      ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
      const ended = new AbortController();
      const heard = Promise.withResolvers<string>();
      const call = client.call(
        'ollama_run',
        { model, prompt: 'Count.' },
        { signal: ended.signal, onProgress: heard.resolve },
      );
      assert.match(await heard.promise, /^one/);
      const sinceMs = performance.now();
      ended.abort();
      await assert.rejects(call);
      const isAbandoned = async () => ollama.received('/api/chat').at(-1)?.isAbandoned;
      await until(isAbandoned, isDone => isDone === true, 5_000);
      assert.ok(performance.now() - sinceMs < 1_000);
    });
  });

  test('a failure of the hub has its code', async () => {
    await using client = await connectRunner('SDK v1, 2025-11-25', `${hub.url}/mcp/ollama`);
    const missing = await client.call('ollama_run', { model: 'qwen3:8b', prompt: 'x' });
    expect(missing).toMatchObject({ isError: true, code: 'model_missing' });
    assert.match(missing.text, /ollama pull qwen3:8b/);
    ollama.says({ text: 'x', fault: { kind: 'hang' } });
    const late = await client.call('ollama_run', { model, prompt: 'x', timeout: 1 });
    expect(late).toMatchObject({ isError: true, code: 'timeout' });
    await ollama.stop();
    const gone = await client.call('ollama_run', { model, prompt: 'x' });
    expect(gone).toMatchObject({ isError: true, code: 'unavailable', retryable: true });
    await ollama.start();
  });

  test('the kill of its container fails a call at once, and the next call starts another', async () => {
    await using client = await connectRunner('SDK v1, 2025-11-25', `${hub.url}/mcp/ollama`);
    ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
    const heard = Promise.withResolvers<string>();
    const call = client.call(
      'ollama_run',
      { model, prompt: 'Count.' },
      { onProgress: heard.resolve },
    );
    await heard.promise;
    await Promise.all([
      assert.rejects(call, /ollama is gone/),
      docker('docker', ['kill', `${hubName}-ollama`]),
    ]);
    // The hub cancels the container's request to the model too.
    const isAbandoned = async () => ollama.received('/api/chat').at(-1)?.isAbandoned;
    await until(isAbandoned, isDone => isDone === true, 5_000);
    ollama.says('again');
    assert.equal((await client.call('ollama_run', { model, prompt: 'x' })).text, 'again');
  }, 30_000);

  test('its container has no network, no variables of the hub, and no other access to a model', async () => {
    const { stdout } = await docker('docker', ['inspect', `${hubName}-ollama`]);
    const [{ Config, HostConfig, Mounts }] = JSON.parse(stdout);
    assert.equal(HostConfig.NetworkMode, 'none');
    assert.equal(HostConfig.ReadonlyRootfs, true);
    assert.match(Config.Image, /^agenthub\/ollama-mcp:/);
    assert.doesNotMatch(JSON.stringify(Config.Env), /OLLAMA/);
    expect(Mounts).toEqual([]);
  });

  test('as a process it uses the hub too', async () => {
    await using client = await connectRunner('SDK v2, 2026-07-28', `${hub.url}/mcp/process`);
    ollama.says('of the hub');
    const { text } = await client.call('ollama_run', { model, prompt: 'x' });
    assert.equal(text, 'of the hub');
  }, 30_000);

  test('OLLAMA_MCP_MODELS of its entry limits the models', async () => {
    await using client = await connectRunner('SDK v1, 2025-11-25', `${hub.url}/mcp/few`);
    const refused = await client.call('ollama_run', { model, prompt: 'x' });
    expect(refused.code).toBe('model_not_allowed');
    const { structured } = await client.call('ollama_list_models');
    expect(structured['models']).toEqual([expect.objectContaining({ name: 'work/gpt-x' })]);
  }, 30_000);

  test('the tokens of a server are counted', async () => {
    const response = await fetch(`${hub.url}/metrics`, { headers: hub.ownerHeaders });
    assert.match(
      await response.text(),
      /agenthub_model_tokens_total\{[^}]*caller="server"[^}]*\} [1-9]/,
    );
  });

  test('callers take turns at a model, as they do without ollama-mcp', async () => {
    const release = Promise.withResolvers<void>();
    const asked: string[] = [];
    ollama.says(chat => {
      const prompt = /"(turn [ab]\d)"/.exec(JSON.stringify(chat))?.[1] ?? '';
      asked.push(prompt);
      return { text: 'yes', fault: { kind: 'paced', before: async () => await release.promise } };
    });
    const waiting = async (count: number) => {
      const metrics = async () => await (await fetch(`${hub.url}/metrics`)).text();
      const line = new RegExp(`^agenthub_model_queue_waiting\\{.*\\} ${count}$`, 'm');
      await until(metrics, text => line.test(text), 20_000);
    };
    const calls: Promise<unknown>[] = [];
    for (const [index, [prompt, headers]] of (
      [
        ['turn a1', {}],
        ['turn a2', {}],
        ['turn a3', {}],
        ['turn b1', hub.ownerHeaders],
      ] as const
    ).entries()) {
      calls.push(runOnce(prompt, headers));
      if (index === 0)
        await until(
          async () => asked.length,
          length => length === 1,
          20_000,
        );
      else await waiting(index);
    }
    release.resolve();
    await Promise.all(calls);
    assert.ok(asked.indexOf('turn b1') < asked.indexOf('turn a3'), asked.join(', '));
  }, 60_000);

  /** Calls `ollama_run` of the server that runs as a process, by one request of MCP 2026-07-28. */
  async function runOnce(prompt: string, headers: object): Promise<void> {
    const version = '2026-07-28';
    const meta = 'io.modelcontextprotocol';
    const response = await fetch(`${hub.url}/mcp/process`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': 'tools/call',
        'mcp-name': 'ollama_run',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'ollama_run',
          arguments: { model, prompt },
          _meta: {
            [`${meta}/protocolVersion`]: version,
            [`${meta}/clientInfo`]: { name: 'turns', version: '1.0.0' },
            [`${meta}/clientCapabilities`]: {},
          },
        },
      }),
    });
    assert.match(await response.text(), /yes/);
  }
});
