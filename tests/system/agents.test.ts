import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { type ScriptedRequest, startScriptedOllama } from '../doubles/scripted-model.ts';
import { connect, sdkVersions } from '../helpers/client.ts';
import { describeWithEngine } from '../helpers/engine.ts';
import { type HubProcess, startHub, until } from '../helpers/hub-process.ts';
import { removeVolumes } from '../helpers/volumes.ts';
import { createWorld } from './egress-scene.ts';
import { createAgentRequests } from './agent-requests.ts';

const run = promisify(execFile);

describeWithEngine('agents in containers', () => {
  let ollama: OllamaDouble;
  let hub: HubProcess;
  const hubName = `agents-${process.pid}`;
  const networks = `nets-${process.pid}`;
  const hubEnv = () => ({
    OLLAMA_HOST: ollama.url,
    OLLAMA_MODEL: 'scripted:1b',
    HUB_NAME: hubName,
    DOCKER_NETWORK: networks,
  });

  beforeAll(async () => {
    ollama = await startScriptedOllama({ script: answer });
    const memory = {
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31'],
    };
    hub = await startHub({
      config: { mcpServers: { memory, later: { ...memory, start: 'call' } } },
      env: hubEnv(),
    });
  });

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await ollama?.[Symbol.asyncDispose]();
    await removeVolumes(hubName);
  });

  const { ask } = createAgentRequests(() => hub);

  /** Sends a message and returns the text of the answer, or the error. */
  async function say(agent: string, message: string): Promise<string> {
    const { message_id: id } = await ask('POST', `/agents/${agent}/messages`, { message });
    const answer = await ask(
      'GET',
      `/agents/${agent}/messages?since=${String(id)}&wait_seconds=60&count=1`,
    );
    const { messages, error } = answer;
    if (isObject(error)) return `${String(error['code'])}: ${String(error['message'])}`;
    assert.ok(Array.isArray(messages) && messages.length === 1, JSON.stringify(answer));
    return messages[0].content[0].text;
  }

  test('an agent writes and runs a Python file in its workspace', async () => {
    expect(await say('writer', 'compute')).toBe('the program printed 42');
    const { files } = await ask('GET', '/agents/writer/files');
    expect(files).toMatchObject([{ path: 'answer.py', bytes: 11 }]);
    const content = await fetch(`${hub.url}/agents/writer/files/answer.py`, {
      headers: hub.ownerHeaders,
    });
    expect(await content.text()).toBe('print(6*7)\n');
  });

  test('its container has no network, no capability, no key and no other writable folder', async () => {
    const id = String((await ask('GET', '/agents/writer'))['container_id']);
    const { stdout } = await run('docker', ['inspect', id]);
    const [container] = JSON.parse(stdout);
    expect(container.HostConfig).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      Privileged: false,
      PidsLimit: 256,
      Ulimits: [{ Name: 'fsize', Soft: 2 ** 30, Hard: 2 ** 30 }],
    });
    expect(container.Mounts.map((mount: { Destination: string }) => mount.Destination)).toEqual([
      '/workspace',
    ]);
    const tried = await say('writer', 'look around');
    expect(tried).toContain('uid=10001');
    expect(tried).toContain('no network: ok');
    expect(tried).toContain('cannot write: ok');
    expect(tried).toContain('no other agent: ok');
    expect(tried).not.toContain((await ownerKey()).slice(0, 16));
  });

  test('health lists the agents', async () => {
    const { agents } = await ask('GET', '/health');
    expect(agents).toMatchObject({ writer: { state: 'idle', queued: 0 } });
  });

  const ownerKey = async () => (await readFile(join(hub.dataDir, 'owner-key'), 'utf8')).trim();

  test('an agent uses a tool of a server by a grant only', async () => {
    expect(await say('clerk', 'remember')).toContain(
      'policy denies the tool "memory_create_entities"',
    );
    await ask('POST', '/agents/clerk/configure', { grants: { tools: ['memory_create_*'] } });
    expect(await say('clerk', 'remember')).toContain('Ada');
    const { calls } = await ask('GET', '/activity?limit=50');
    const outcomes = (Array.isArray(calls) ? calls : [])
      .filter(call => call.client === 'agent:clerk' && call.name === 'memory_create_entities')
      .map(call => call.outcome);
    expect(outcomes).toContain('HUB_POLICY_DENIED');
    expect(outcomes).toContain('ok');
  });

  test('a granted tool of a server that never ran is there', async () => {
    await ask('POST', '/agents/early/configure', { grants: { tools: ['later_*'] } });
    expect(await say('early', 'recall')).toContain('"entities": []');
  });

  test('a network is granted with its list, and revoked again', async () => {
    const reach = 'reach http://denied.test/ http://169.254.169.254/';
    expect(await say('surfer', reach)).not.toContain('403');
    await ask('POST', '/agents/surfer/configure', {
      grants: { network: { allow: ['granted.test'] } },
    });
    const refused = await say('surfer', reach);
    expect(refused).toContain('403');
    expect(refused).toContain('denied.test:80 is not in "network.allow"');
    expect(refused).toContain('169.254.169.254:80');
    const id = String((await ask('GET', '/agents/surfer'))['container_id']);
    const network = async (of: string) =>
      (await run('docker', ['inspect', '-f', '{{.HostConfig.NetworkMode}}', of])).stdout.trim();
    expect(await network(id)).toBe(`${networks}-surfer`);
    await ask('POST', '/agents/surfer/configure', { grants: { network: 'none' } });
    expect(await say('surfer', reach)).not.toContain('403');
    expect(await network(String((await ask('GET', '/agents/surfer'))['container_id']))).toBe(
      'none',
    );
    const { stdout } = await run('docker', ['network', 'ls', '-q', '-f', `name=${networks}-`]);
    expect(stdout).toBe('');
  });

  test('a granted bridge reaches public names and neither private nor link-local addresses', async () => {
    await ask('POST', '/agents/rover/configure', { grants: { network: 'bridge' } });
    await say('rover', 'hello');
    await using world = await createWorld();
    await world.attach({ hubName });
    const found = await say(
      'rover',
      'reach http://api.test/ http://nas.internal/ http://meta.test/ http://169.254.169.254/',
    );
    expect(found.match(/^\d+/gm)).toEqual(['200', '403', '403', '403']);
    await ask('DELETE', '/agents/rover');
  }, 60_000);

  test('a network of that name that belongs to another hub is refused, and not changed', async () => {
    const name = `${networks}-claimed`;
    await run('docker', ['network', 'create', '--label', 'io.agenthub.hub=other', name]);
    try {
      await ask('POST', '/agents/claimed/configure', { grants: { network: 'bridge' } });
      expect(await say('claimed', 'hello')).toBe(
        `HUB_CONTAINER_NAME_TAKEN: the network name ${name} is taken by another hub (io.agenthub.hub=other). Give the networks of the agents of this hub a DOCKER_NETWORK of their own, or remove the other network`,
      );
      await ask('DELETE', '/agents/claimed');
      await run('docker', ['network', 'inspect', name]);
    } finally {
      await run('docker', ['network', 'rm', name]);
    }
  });

  test('an agent asks another one, and never in a circle', async () => {
    await ask('POST', '/agents/chief/configure', { grants: { agents: ['writer', 'chief'] } });
    expect(await say('chief', 'delegate to writer')).toBe('writer says: the program printed 42');
    expect(await say('chief', 'delegate to chief')).toContain('HUB_AGENT_CYCLE');
  });

  test.each(sdkVersions)(
    'a client of SDK %s sends a message and reads the answer',
    async version => {
      await using client = await connect(`${hub.url}/mcp/agents`, version);
      expect(await client.toolNames()).toEqual([
        'send_message',
        'get_messages',
        'list_agents',
        'cancel_message',
      ]);
      const id = 'tasked';
      const sent = JSON.parse(
        await client.call('send_message', { agent_id: id, message: 'compute' }),
      );
      expect(sent).toMatchObject({ status: 'accepted', position: 0 });
      const answer = JSON.parse(
        await client.call('get_messages', {
          agent_id: id,
          since: sent.message_id,
          wait_seconds: 60,
        }),
      );
      expect(answer).toMatchObject({
        agent_id: id,
        messages: [{ role: 'assistant', content: 'the program printed 42' }],
      });
      expect(await client.call('get_messages', { agent_id: '../x' })).toContain('agent_id');
      await using other = await connect(`${hub.url}/mcp`, version);
      expect(await other.call('agents_list_agents')).toContain(id);
    },
  );

  test.each(['mcp', 'mcp/agents'])('a turn is a task with progress at /%s', async endpoint => {
    const client = new Client({ name: 'tasks', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/${endpoint}`)));
    const name = endpoint === 'mcp' ? 'agents_send_message' : 'send_message';
    const { tools } = await client.listTools();
    expect(tools.find(tool => tool.name === name)?.execution).toEqual({ taskSupport: 'optional' });
    const params = { name, arguments: { agent_id: 'tasked', message: 'compute' } };
    const progress: (string | undefined)[] = [];
    const seen: { type: string; status?: string; text?: string }[] = [];
    let taskId = '';
    for await (const message of client.experimental.tasks.callToolStream(params, undefined, {
      task: { ttl: 60_000 },
      onprogress: ({ message: said }) => progress.push(said),
    })) {
      if (message.type === 'taskCreated') taskId = message.task.taskId;
      if (message.type === 'taskStatus') seen.push({ type: 'status', status: message.task.status });
      if (message.type === 'result') seen.push({ type: 'result', text: textOf(message.result) });
      if (message.type === 'error') assert.fail(message.error.message);
    }
    expect(seen.at(-1)).toEqual({ type: 'result', text: 'the program printed 42' });
    expect(progress).toContain('calling file_write');
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'completed' });
    expect((await client.experimental.tasks.listTasks()).tasks).toMatchObject([{ taskId }]);

    const waiting = await client.callTool({
      ...params,
      arguments: { agent_id: 'tasked', message: 'wait' },
      task: {},
    } as typeof params);
    assert.ok(isObject(waiting['task']));
    const id = String(waiting['task']['taskId']);
    expect(await client.experimental.tasks.cancelTask(id)).toMatchObject({ status: 'cancelled' });
    await client.close();
  });

  test('a subscription sees the answer arrive', async () => {
    const client = new Client({ name: 'subscriber', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`)));
    const uri = 'agent://writer/messages';
    const updated = Promise.withResolvers<string>();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
      updated.resolve(params.uri),
    );
    await client.subscribeResource({ uri });
    await ask('POST', '/agents/writer/messages', { message: 'compute' });
    expect(await updated.promise).toBe(uri);
    const { contents } = await client.readResource({ uri });
    expect(JSON.stringify(contents)).toContain('the program printed 42');
    await client.close();
  });

  describe('the command', () => {
    const bin = join(import.meta.dirname, '..', '..', 'bin', 'agenthub.mjs');
    const program = `${process.execPath} ${bin}`;
    const env = () => ({ ...process.env, DATA_DIR: hub.dataDir, NO_COLOR: '1', TERM: 'xterm' });
    /** Runs `agenthub` with these arguments in a shell. */
    const agenthub = async (line: string) =>
      (await run('bash', ['-c', `${program} ${line} --url ${hub.url}`], { env: env() })).stdout;

    test('sends, talks, shows, configures and removes', async () => {
      const printed = 'the program printed 42';
      const sent = await agenthub(
        'agent send researcher "Write primes.py, run it, and tell me the tenth prime."',
      );
      expect(sent).toBe(`${printed}\n`);
      expect(await agenthub('agent list')).toMatch(/^researcher +idle +0 /m);
      expect(await agenthub('agent logs researcher --tools')).toContain('[calls shell {"command"');
      const configured = await agenthub(
        "agent configure researcher --model qwen3:8b --grant-tool 'memory_*' --grant-agent writer",
      );
      expect(configured).toContain('"qwen3:8b"');
      expect(configured).toContain('memory_*');
      expect(await agenthub('agent remove researcher --yes')).toBe('removed researcher\n');
      expect(await agenthub('agent list')).not.toContain('researcher');
    });

    test('holds a conversation on a terminal, which an empty line ends', async () => {
      const line = `${program} agent chat researcher --url ${hub.url}`;
      const child = spawn('script', ['-qefc', line, '/dev/null'], { env: env() });
      let shown = '';
      const answers = ['compute', '', ''];
      child.stdout.on('data', (chunk: Buffer) => {
        shown += chunk.toString();
        // Answers each prompt of the terminal once it appears.
        const asked = shown.split('you> ').length - 1;
        while (answers.length > 3 - asked) child.stdin.write(`${answers.shift()}\n`);
      });
      const [code] = await once(child, 'close');
      expect(code).toBe(0);
      expect(shown).toMatch(/you> compute\s[^]*the program printed 42\s+you> /);
      await agenthub('agent remove researcher --yes');
    });
  });

  test('a container that is killed in a turn ends the message with the reason, and the next one works', async () => {
    const sent = ask('POST', '/agents/writer/messages', { message: 'wait' });
    const { message_id: id } = await sent;
    const view = await until(
      () => ask('GET', '/agents/writer'),
      ({ current }) => isObject(current) && current['doing'] === 'calling shell',
      10_000,
    );
    await run('docker', ['kill', String(view['container_id'])]);
    const { error } = await ask(
      'GET',
      `/agents/writer/messages?since=${String(id)}&wait_seconds=30`,
    );
    expect(error).toMatchObject({ code: 'HUB_AGENT_DIED' });
    expect(await say('writer', 'compute')).toBe('the program printed 42');
  });

  test('the conversation, the queue and the container survive a hub that is killed', async () => {
    const before = String((await ask('GET', '/agents/clerk'))['container_id']);
    const { message_id: id } = await ask('POST', '/agents/slow/messages', { message: 'slowly' });
    await until(
      () => ask('GET', '/agents/slow'),
      ({ current }) => isObject(current) && current['doing'] === 'thinking',
      20_000,
    );
    const { dataDir } = hub;
    await hub.kill();
    hub = await startHub({
      config: {
        mcpServers: {
          memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31'] },
        },
      },
      env: hubEnv(),
      dataDir,
    });
    const answer = await ask(
      'GET',
      `/agents/slow/messages?since=${String(id)}&wait_seconds=60&count=5`,
    );
    expect(answer['messages']).toMatchObject([{ content: [{ text: 'slow answer' }] }]);
    const after = await until(
      () => ask('GET', '/agents/clerk'),
      ({ status }) => status === 'idle',
      20_000,
    );
    expect(after['container_id']).toBe(before);
    expect(await say('clerk', 'what did I say?')).toBe('remember, remember');
    // The tokens that an agent spent still count after a restart of the hub.
    await ask('POST', '/agents/writer/configure', { budget: { tokens_per_hour: 1 } });
    expect(await say('writer', 'compute')).toMatch(
      /^HUB_BUDGET_SPENT: \d+ tokens were spent in the last hour/,
    );
  });
});

/** A Python program that requests each URL in a message, and prints the status or the error. */
const reach = (message: string) => `
import urllib.request, urllib.error
for url in ${JSON.stringify(message.split(' ').slice(1))}:
    try:
        print(urllib.request.urlopen(url, timeout=5).status)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
    except OSError as error:
        print(error)
`;

function answer({ messages, last }: ScriptedRequest) {
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const result = last?.role === 'tool' ? last.content : undefined;
  const call = (name: string, args: object) => ({
    text: '',
    toolCalls: [{ name, arguments: args }],
  });
  if (asked.startsWith('reach ')) return result ?? call('python_repl', { code: reach(asked) });
  switch (asked) {
    case 'compute':
    case 'Write primes.py, run it, and tell me the tenth prime.':
      if (result === undefined)
        return call('file_write', { path: 'answer.py', content: 'print(6*7)\n' });
      if (result.startsWith('wrote')) return call('shell', { command: 'python3 answer.py' });
      return `the program printed ${/\d+/.exec(result)?.[0]}`;
    case 'look around':
      return (
        result ??
        call('shell', {
          command: [
            'id; env',
            'python3 -c "import socket; socket.create_connection((\'1.1.1.1\', 80), 1)" 2>/dev/null || echo "no network: ok"',
            'touch /etc/x /opt/x 2>/dev/null || echo "cannot write: ok"',
            'ls /workspace/.. /workspace/../clerk /var/run/docker.sock 2>/dev/null | grep -q clerk || echo "no other agent: ok"',
          ].join('; '),
        })
      );
    case 'remember':
      return (
        result ??
        call('memory_create_entities', {
          entities: [{ name: 'Ada', entityType: 'person', observations: [] }],
        })
      );
    case 'recall':
      return result ?? call('later_read_graph', {});
    case 'delegate to writer':
      return result === undefined
        ? call('use_agent', { agent_id: 'writer', message: 'compute' })
        : `writer says: ${result}`;
    case 'delegate to chief':
      return result ?? call('use_agent', { agent_id: 'chief', message: 'compute' });
    case 'wait':
      return call('shell', { command: 'sleep 60' });
    case 'slowly':
      return new Promise<string>(resolve => setTimeout(() => resolve('slow answer'), 3_000));
    default:
      return messages
        .filter(({ role, content }) => role === 'user' && content !== asked)
        .map(({ content }) => content)
        .join(', ');
  }
}

function textOf(result: unknown): string {
  const content: unknown = isObject(result) ? result['content'] : undefined;
  return Array.isArray(content) ? content.map(({ text }) => text).join('') : '';
}
