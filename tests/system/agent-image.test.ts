import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolRequestSchema,
  CreateMessageRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import { describeWithEngine } from '../helpers/engine.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '..', '..', 'images', 'agent');

type Call = { readonly name: string; readonly input: object };
/** Input of the model: system prompt, messages with their role and text, and names of the tools. */
type Asked = {
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly tools: readonly string[];
};
type Model = (asked: Asked) => string | readonly Call[];
type Result = Readonly<Record<string, unknown>>;

const usualSettings = { steps_per_turn: 20, load_tool: false, use_agent: [] };

describeWithEngine('the image of agents', () => {
  let image = '';

  beforeAll(async () => {
    image = (await run('docker', ['build', '--quiet', folder])).stdout.trim();
  });

  /**
   * Starts a container of the agent image. The test acts as the hub: its model and its tool `hub_echo`. With
   * `charsPerToken` the model reports its tokens.
   */
  async function open(
    model: Model,
    settings: object = {},
    session: object | null = null,
    charsPerToken?: number,
  ) {
    await using opened = new AsyncDisposableStack();
    const name = `agent-image-${randomUUID().slice(0, 8)}`;
    const client = new Client(
      { name: 'test-hub', version: '1.0.0' },
      { capabilities: { sampling: { tools: {} } } },
    );
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
      const said = model({
        system: params.systemPrompt ?? '',
        messages: params.messages.map(({ role, content }) => ({
          role,
          text: [content].flat().map(textOf).join('|'),
        })),
        tools: (params.tools ?? []).map(tool => tool.name),
      });
      const content =
        typeof said === 'string'
          ? { type: 'text' as const, text: said }
          : said.map(({ name: tool, input }) => ({
              type: 'tool_use' as const,
              id: randomUUID(),
              name: tool,
              input: { ...input },
            }));
      const stopReason = typeof said === 'string' ? 'endTurn' : 'toolUse';
      const used = charsPerToken && {
        input_tokens: Math.ceil(JSON.stringify(params).length / charsPerToken),
      };
      const meta = used && { _meta: { 'agenthub/usage': used } };
      return { role: 'assistant' as const, model: 'scripted', content, stopReason, ...meta };
    });
    client.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: 'hub_echo', inputSchema: { type: 'object' as const } }],
    }));
    client.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
      content: [{ type: 'text' as const, text: `echo ${JSON.stringify(params.arguments)}` }],
    }));
    const flags =
      '--rm --interactive --network none --read-only --cap-drop ALL --security-opt no-new-privileges --memory 512m --pids-limit 128 --env SECRET_OF_THE_AGENT=hunter2';
    const mounts = ['--tmpfs', '/tmp', '--tmpfs', '/workspace:uid=10001,gid=10001,mode=700'];
    opened.defer(async () => void (await run('docker', ['rm', '-f', name]).catch(() => undefined))); // The container has usually exited with its stdin.
    await client.connect(
      new StdioClientTransport({
        command: 'docker',
        args: ['run', '--name', name, ...flags.split(' '), ...mounts, image],
        env: { PATH: process.env['PATH'] ?? '', DOCKER_HOST: process.env['DOCKER_HOST'] ?? '' },
      }),
    );
    opened.defer(() => client.close());
    const call = async (tool: string, args: Result): Promise<Result> => {
      const { structuredContent } = await client.callTool({ name: tool, arguments: args });
      assert.ok(isObject(structuredContent));
      return structuredContent;
    };
    /** Settings and session, which the agent gets with the next message. */
    let briefing: object = { session, settings: { ...usualSettings, ...settings } };
    const configure = (more: object) => {
      briefing = { settings: { ...usualSettings, ...more } };
    };
    const kept = opened.move();
    return {
      name,
      call,
      configure,
      async chat(message: string, id: string = randomUUID()) {
        const told = briefing;
        briefing = {};
        return await call('chat', { message_id: id, message, ...told });
      },
      /** Sends a request to the HTTP API inside the container. */
      async http(method: string, path: string, body?: string): Promise<Result> {
        const script = `
import json, sys, urllib.request, urllib.error
data = sys.argv[3].encode() if len(sys.argv) > 3 else None
request = urllib.request.Request("http://127.0.0.1:8080" + sys.argv[2], data, method=sys.argv[1])
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps({"status": answer.status, **json.load(answer)}))`;
        const given = [method, path, ...(body === undefined ? [] : [body])];
        const { stdout } = await run('docker', ['exec', name, 'python3', '-c', script, ...given]);
        return JSON.parse(stdout);
      },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  /** Creates a model that makes the given calls one after another, and then answers with the last result. */
  function caller(calls: readonly Call[]) {
    const results: string[] = [];
    let at = 0;
    const model: Model = ({ messages }) => {
      const last = messages.at(-1);
      if (at > 0 && last) results.push(last.text);
      const next = calls[at++];
      return next ? [next] : 'done';
    };
    return { model, results };
  }

  /** Runs the given tool calls in one turn, and returns their results. */
  async function resultsOf(calls: readonly Call[], settings: object = {}) {
    const { model, results } = caller(calls);
    await using agent = await open(model, { steps_per_turn: 50, ...settings });
    const turn = await agent.chat('go');
    expect(turn).toMatchObject({ status: 'answered', text: 'done' });
    return results;
  }

  const file = (name: string, input: object): Call => ({ name, input });

  test('files are written, read and listed in the workspace, and nowhere else', async () => {
    const results = await resultsOf([
      file('file_write', { path: 'notes/a.md', content: 'one\ntwo\n' }),
      file('file_read', { path: '/workspace/notes/a.md' }),
      file('file_read', { path: 'notes' }),
      file('file_read', { path: '../etc/passwd' }),
      file('file_write', { path: '/tmp/x', content: 'x' }),
      file('shell', { command: 'ln -s /etc/passwd leak; ln -s /tmp out; mkfifo pipe' }),
      file('file_read', { path: 'leak' }),
      file('file_write', { path: 'out/x', content: 'x' }),
      file('file_read', { path: 'pipe' }),
      file('file_read', { path: 'missing.md' }),
      file('file_read', {}),
    ]);
    expect(results).toEqual([
      'wrote 8 bytes to notes/a.md',
      'one\ntwo\n',
      'a.md',
      expect.stringContaining('"../etc/passwd" is outside of /workspace'),
      expect.stringContaining('"/tmp/x" is outside of /workspace'),
      '[exit code 0]',
      expect.stringContaining('"leak" is outside of /workspace'),
      expect.stringContaining('"out/x" is outside of /workspace'),
      expect.stringContaining('"pipe" is not a regular file'),
      expect.stringContaining('"missing.md" does not exist. List its folder first'),
      expect.stringContaining('file_read: path:'),
    ]);
  });

  test('the editor views and creates files, replaces a text that occurs once, and inserts lines', async () => {
    const edit = (input: object) => file('editor', { path: 'a.txt', ...input });
    const results = await resultsOf([
      edit({ command: 'create', content: 'one\ntwo\ntwo' }),
      edit({ command: 'view' }),
      edit({ command: 'str_replace', old_str: 'two', new_str: '2' }),
      edit({ command: 'str_replace', old_str: 'one\ntwo', new_str: '$& 1\n2' }),
      edit({ command: 'insert', insert_line: 0, new_str: 'zero' }),
      edit({ command: 'insert', insert_line: 9, new_str: 'nine' }),
      edit({ command: 'str_replace', new_str: 'x' }),
      edit({ command: 'delete' }),
      edit({ command: 'view' }),
    ]);
    expect(results).toEqual([
      'created a.txt',
      '     1\tone\n     2\ttwo\n     3\ttwo',
      expect.stringContaining('old_str: occurs 2 times in a.txt'),
      'replaced it in a.txt',
      'inserted after line 0 of a.txt',
      expect.stringContaining('insert_line: 9 is not allowed: write a number from 0 to 4'),
      expect.stringContaining('old_str: is missing: str_replace needs it'),
      expect.stringContaining('editor: command:'),
      '     1\tzero\n     2\t$& 1\n     3\t2\n     4\ttwo',
    ]);
  });

  test('tools in the workspace take effect in the order in which a model calls them at once', async () => {
    const edit = (input: object) => file('editor', { path: 'a.txt', ...input });
    const names = ['one', 'two', 'three', 'four', 'five', 'six'];
    const calls = [
      edit({ command: 'create', content: names.join('\n') }),
      ...names.map(name => edit({ command: 'str_replace', old_str: name, new_str: `[${name}]` })),
      file('shell', { command: 'cat a.txt; echo shell >>a.txt' }),
      file('python_repl', { code: 'open("a.txt").read()' }),
    ];
    const edited = names.map(name => `[${name}]`).join('\n');
    let results = '';
    await using agent = await open(({ messages }) => {
      const { text = '' } = messages.at(-1) ?? {};
      if (text === 'go') return calls;
      results = text;
      return 'done';
    });
    expect(await agent.chat('go')).toMatchObject({ status: 'answered', text: 'done' });
    expect(results.split('|')).toEqual([
      'created a.txt',
      ...names.map(() => 'replaced it in a.txt'),
      `${edited}\n[exit code 0]`,
      `${JSON.stringify(`${edited}shell\n`).replaceAll('"', "'")}\n`,
    ]);
  });

  test('a call with "-" in place of "_" fails alone', async () => {
    const results = await resultsOf([
      file('file-read', { path: '.' }),
      file('hub-echo', {}),
      file('file_read', { path: '.' }),
    ]);
    expect(results).toEqual([
      expect.stringContaining('file-read'),
      expect.stringContaining('hub-echo'),
      '(empty folder)',
    ]);
  });

  test('a call by the name __proto__ fails alone', async () => {
    const results = await resultsOf([
      file('__proto__', {}),
      file('constructor', {}),
      file('file_read', { path: '.' }),
    ]);
    expect(results).toEqual(['echo {}', 'echo {}', '(empty folder)']);
  });

  test('the shell has a time and an output limit, and no variables of the environment', async () => {
    const results = await resultsOf(
      [
        file('shell', { command: 'env | sort | cut -d= -f1 | tr "\\n" " "' }),
        file('shell', { command: 'yes | head -c 1000000' }),
        file('shell', { command: 'trap "" TERM; sleep 60 & sleep 60' }),
        file('shell', { command: 'pgrep -c sleep || exit 3' }),
      ],
      { shell_seconds: 2 },
    );
    expect(results[0]).not.toContain('SECRET_OF_THE_AGENT');
    expect(results[1]).toMatch(/characters were cut|bytes were cut/);
    expect((results[1] ?? '').length).toBeLessThan(20_000);
    expect(results[2]).toContain('it was stopped after 2 seconds');
    expect(results[3]).toContain('exit code');
    expect(results[3]).not.toContain('exit code 0');
  });

  test('python_repl keeps its variables until a call takes too long', async () => {
    const python = (code: string) => file('python_repl', { code });
    const results = await resultsOf(
      [
        python('x = 6'),
        python('print("is"); x * 7'),
        python('1/0'),
        python('while True: pass'),
        python('x'),
      ],
      { shell_seconds: 2 },
    );
    expect(results.slice(0, 2)).toEqual(['(no output)', 'is\n42\n']);
    expect(results[2]).toContain('ZeroDivisionError');
    expect(results[3]).toContain('its variables are gone');
    expect(results[4]).toContain('NameError');
  });

  test('load_tool is off unless granted, and loads a tool from a file for the next message', async () => {
    const code = [
      '# {"name": "shout", "description": "Shouts.", "parameters": {"text": "what"}}',
      'import json, sys',
      'print(json.load(sys.stdin)["text"].upper())',
    ].join('\n');
    const seen: (readonly string[])[] = [];
    const steps: (readonly Call[] | string)[] = [
      [file('load_tool', { file: 'shout.py' })],
      'not there',
      [file('file_write', { path: 'tools/shout.py', content: code })],
      [file('load_tool', { file: '../shout.py' })],
      [file('load_tool', { file: 'shout.py' })],
      'loaded',
      [file('shout', { text: "it's" })],
      'shouted',
    ];
    const texts: string[] = [];
    await using agent = await open(({ messages, tools }) => {
      seen.push(tools);
      texts.push(messages.at(-1)?.text ?? '');
      return steps.shift() ?? 'nothing left';
    });
    await agent.chat('load it');
    expect(seen[0]).not.toContain('load_tool');
    agent.configure({ load_tool: true });
    await agent.chat('load it now');
    expect(texts.join('\n')).toContain('the tool shout can be used from the next message on');
    expect(texts.join('\n')).toContain('load_tool: file:');
    await agent.chat('shout');
    expect(seen.at(-1)).toContain('shout');
    expect(texts.at(-1)).toContain("IT'S");
  });

  test('tools that an earlier container has loaded are loaded again from their files', async () => {
    const at = new Date(0).toISOString();
    const load = (id: string, file: string, isError: boolean) => [
      {
        message_id: 'm1',
        role: 'assistant',
        at,
        content: [{ type: 'tool_use', id, name: 'load_tool', input: { file } }],
      },
      {
        message_id: 'm1',
        role: 'tool',
        at,
        content: [{ type: 'tool_result', tool_use_id: id, text: '', is_error: isError }],
      },
    ];
    const messages = [
      { message_id: 'm1', role: 'user', at, content: [{ type: 'text', text: 'load' }] },
      ...load('a', 'good.py', false),
      ...load('b', 'removed.py', false),
      ...load('c', 'refused.py', true),
    ];
    const seen: (readonly string[])[] = [];
    await using agent = await open(
      ({ tools }) => {
        seen.push(tools);
        return 'done';
      },
      { load_tool: true },
      { messages, snapshot: null },
    );
    const write = (name: string) =>
      `mkdir -p /workspace/tools && echo '# {"name": "${name}", "description": "x", "parameters": {}}' > /workspace/tools/${name}.py`;
    for (const name of ['good', 'refused'])
      await run('docker', ['exec', agent.name, 'sh', '-c', write(name)]);
    await agent.chat('go on');
    expect(seen[0]).toContain('good');
    expect(seen[0]).not.toContain('refused');
  });

  test.for(['shell', 'use_agent'])('load_tool refuses the name of another tool: %s', async name => {
    const code = `# {"name": "${name}", "description": "x", "parameters": {}}`;
    const calls = [
      file('file_write', { path: 'tools/x.py', content: code }),
      file('load_tool', { file: 'x.py' }),
    ];
    const results = await resultsOf(calls, { load_tool: true });
    expect(results.at(-1)).toContain(`x.py: name: an agent has a tool ${name} of its own`);
  });

  test("the hub's tools are offered and called over the same connection", async () => {
    expect(await resultsOf([file('hub_echo', { a: 1 })])).toEqual(['echo {"a":1}']);
  });

  test('a long conversation is summarised for the model, and complete in the history', async () => {
    const asked: Asked[] = [];
    await using agent = await open(
      request => {
        asked.push(request);
        if (request.system === '' || request.tools.length === 0)
          return 'They talked about numbers.';
        return `noted ${'x'.repeat(1_500)}`;
      },
      { context_tokens: 4_096 },
    );
    for (let index = 0; index < 12; index++)
      expect(await agent.chat(`remember ${index}`)).toMatchObject({ status: 'answered' });
    const last = asked.at(-1);
    expect(last?.messages[0]?.text).toContain('They talked about numbers.');
    expect(last?.messages.at(-1)?.text).toBe('remember 11');
    expect(JSON.stringify(last?.messages).length).toBeLessThan(4_096 * 4);
    const { messages } = await agent.call('history', { count: 1_000 });
    assert.ok(Array.isArray(messages));
    expect(messages).toHaveLength(24);
    expect(messages[0].content[0].text).toBe('remember 0');
  });

  test('a conversation with many short messages and tool calls is whole for the model and the hub', async () => {
    const asked: Asked[] = [];
    await using agent = await open(
      request => {
        asked.push(request);
        const { text = '' } = request.messages.at(-1) ?? {};
        const [, step] = /^step (\d+)/.exec(text) ?? (text === 'go' ? ['', '0'] : []);
        if (step === undefined) return 'noted';
        return Number(step) < 30
          ? [file('shell', { command: `echo step ${Number(step) + 1}` })]
          : 'end';
      },
      { steps_per_turn: 50, context_tokens: 100_000 },
    );
    for (let index = 0; index < 25; index++)
      expect(await agent.chat(`remember ${index}`)).toMatchObject({ status: 'answered' });
    expect(asked.at(-1)?.messages[0]?.text).toBe('remember 0');
    const { messages } = await agent.chat('go');
    assert.ok(Array.isArray(messages));
    expect(messages).toHaveLength(62);
    await agent.chat('remember the end');
    expect(asked.at(-1)?.messages[0]?.text).toBe('remember 0');
  });

  /** Creates a model that refuses more than `most` characters of messages, as one with a small context does. */
  const smallModel =
    (most: number, model: Model): Model =>
    asked => {
      const length = asked.messages.reduce((sum, { text }) => sum + text.length, 0);
      if (length <= most) return model(asked);
      throw new McpError(-32_002, `${length} tokens exceed the context`, {
        code: 'HUB_CONTEXT_FULL',
      });
    };

  test('a message that does not fit into the context fails alone: the next one is answered', async () => {
    await using agent = await open(
      smallModel(8_000, () => 'fine'),
      { context_tokens: 100_000 },
    );
    expect(await agent.chat('hello')).toMatchObject({ status: 'answered' });
    const { status, error } = await agent.chat('word '.repeat(5_000));
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'HUB_CONTEXT_FULL' });
    expect(await agent.chat('hello again')).toMatchObject({ status: 'answered', text: 'fine' });
  });

  test('a conversation that is longer than estimated is shortened, in a turn too', async () => {
    const seen: string[] = [];
    await using agent = await open(
      smallModel(4_000, ({ messages }) => {
        const { text = '' } = messages.at(-1) ?? {};
        seen.push(text);
        return text.startsWith('run')
          ? [file('shell', { command: 'head -c 6000 /dev/zero | tr "\\0" x' })]
          : 'y'.repeat(900);
      }),
      { context_tokens: 100_000 },
    );
    for (let index = 0; index < 8; index++)
      expect(await agent.chat(`note ${index}`)).toMatchObject({ status: 'answered' });
    expect(await agent.chat('run it')).toMatchObject({ status: 'answered' });
    expect(seen.filter(text => text.startsWith('run'))).toHaveLength(1);
  });

  test('large messages are summarised when the model counts more tokens than usual', async () => {
    const asked: Asked[] = [];
    await using agent = await open(
      request => {
        asked.push(request);
        return request.tools.length === 0 ? 'They talked about letters.' : 'z'.repeat(2_000);
      },
      { context_tokens: 4_096 },
      null,
      1,
    );
    for (let index = 0; index < 3; index++)
      expect(await agent.chat(`write ${index}`)).toMatchObject({ status: 'answered' });
    expect(asked.at(-1)?.messages[0]?.text).toContain('They talked about letters.');
  });

  test('a turn is cancelled in a tool that ignores it, and the next message is answered', async () => {
    await using agent = await open(({ messages }) => {
      const { text, role } = messages.at(-1) ?? {};
      if (text !== 'hang') return `${role} said ${text}`;
      return [file('shell', { command: 'trap "" TERM INT HUP; while true; do sleep 60; done' })];
    });
    const hanging = agent.chat('hang', 'm1');
    await expect
      .poll(async () => (await run('docker', ['top', agent.name])).stdout)
      .toContain('sleep 60');
    const began = performance.now();
    expect(await agent.call('cancel', { message_id: 'm1' })).toEqual({ cancelled: true });
    expect(await hanging).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await agent.chat('hello')).toMatchObject({ text: 'user said hello' });
    expect((await run('docker', ['top', agent.name])).stdout).not.toContain('sleep 60');
    expect(await agent.call('cancel', { message_id: 'm1' })).toEqual({ cancelled: false });
  });

  test('another container continues the conversation, with or without the snapshot', async () => {
    const answer: Model = ({ messages }) => messages.map(({ text }) => text).join(' / ');
    let snapshot: unknown;
    let messages: unknown;
    {
      await using agent = await open(answer);
      const turn = await agent.chat('one');
      ({ snapshot, messages } = turn);
      expect(turn['text']).toBe('one');
    }
    for (const session of [
      { messages, snapshot },
      { messages, snapshot: { version: 99 } },
    ]) {
      await using agent = await open(answer, {}, session);
      expect(await agent.chat('two')).toMatchObject({ text: 'one / one / two' });
      const history = await agent.call('history', { count: 10 });
      assert.ok(Array.isArray(history['messages']));
      expect(history['messages']).toHaveLength(4);
    }
  });

  test('a turn that needs too many steps fails with the reason', async () => {
    await using agent = await open(() => [file('hub_echo', {})], { steps_per_turn: 3 });
    const { status, error } = await agent.chat('go');
    expect(status).toBe('failed');
    expect(error).toMatchObject({ code: 'HUB_BUDGET_SPENT' });
    expect(JSON.stringify(error)).toContain('more than 3 steps');
  });

  test('the HTTP API in the container uses the same queue, and refuses unknown requests', async () => {
    await using agent = await open(({ messages }) => `re: ${messages.at(-1)?.text}`);
    const [first, second] = await Promise.all([
      agent.http('POST', '/chat', '{"message": "over http"}'),
      agent.chat('over mcp'),
    ]);
    expect(first).toMatchObject({ status: 'answered', text: 're: over http' });
    expect(second).toMatchObject({ status: 'answered', text: 're: over mcp' });
    const { messages } = await agent.http('GET', '/history?count=9');
    assert.ok(Array.isArray(messages));
    expect(messages).toHaveLength(4);
    expect(await agent.http('GET', '/health')).toMatchObject({ status: 'idle', queued: 0 });
    expect(await agent.http('POST', '/chat', '{"text": "x"}')).toMatchObject({ status: 400 });
    expect(await agent.http('POST', '/chat', 'x')).toMatchObject({ status: 400 });
    expect(await agent.http('GET', '/history?count=0')).toMatchObject({
      status: 400,
      error: 'count: write a whole number from 1',
    });
    expect(await agent.http('GET', '/keys')).toMatchObject({ status: 404 });
  });
});

function textOf(content: unknown): string {
  if (!isObject(content)) return '';
  const { type, text, content: parts, name } = content;
  if (type === 'text') return String(text);
  if (type === 'tool_use') return `calls ${String(name)}`;
  return Array.isArray(parts) ? parts.map(textOf).join('') : '';
}
