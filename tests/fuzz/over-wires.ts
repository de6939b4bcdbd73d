import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { type TestHub, until } from '#helpers/hub';
import {
  type Message,
  encodeHeaderValue,
  membersOf,
  modernVersion,
  rawText,
  readMessages,
  stringAt,
} from '#rpc';
import type { Generator, Speaker } from './generate.ts';
import { replay } from './settings.ts';
import { type OpenWire, post } from './wires.ts';

/** A client that sends messages of any kind, and checks what it receives. */
export type WireClient = {
  /** Sends made messages, and resolves when what must be answered is. Fails where more is. */
  send(count: number, generator: Generator): Promise<void>;
  close(): void;
};

export type WireNeeds = {
  readonly speaker: Speaker;
  /** Fails where the bytes hold what is another's. */
  readonly check: (bytes: Buffer) => void;
};

/** The ids, as JSON texts, that must be answered, and those that may be. */
type Expected = { readonly must: readonly string[]; readonly may: readonly string[] };

/** What is answered to one message, or to a batch, of which newer revisions have none. */
function expectedOf(frame: Buffer): Expected {
  const { batch, messages } = readMessages(Buffer.from(frame));
  const [message] = messages;
  if (batch || !message || message.kind === 'malformed') return { must: ['null'], may: [] };
  if (message.kind !== 'request') return { must: [], may: [] };
  const id = rawText(message.bytes, message.id);
  // Who listens is answered at the end, which may not come.
  return message.method === 'subscriptions/listen'
    ? { must: [], may: [id] }
    : { must: [id], may: [] };
}

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {} },
  clientInfo: { name: 'fuzz', version: '1' },
};
const encode = (id: string, method: string, params?: object) =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

/** What a server asked is answered in the end, so that its calls end as well. */
const replyTo = (id: string, { secret }: Speaker) =>
  Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":${JSON.stringify(secret)}}}`);

/** One message of the hub. Fails where it is none. */
function readOne(bytes: Buffer): Message {
  JSON.parse(bytes.toString());
  const { messages } = readMessages(Buffer.from(bytes));
  const [message] = messages;
  assert.ok(messages.length === 1 && message && message.kind !== 'malformed', replay(bytes));
  return message;
}

const idOf = (message: Message) =>
  message.kind !== 'notification' && message.id ? rawText(message.bytes, message.id) : 'null';

/** A client on a wire that carries messages both ways. */
export async function openStreamClient(
  hub: TestHub,
  server: string | undefined,
  openWire: OpenWire,
  { speaker, check }: WireNeeds,
): Promise<WireClient> {
  const answers = new Map<string, number>();
  const must = new Map<string, number>();
  const may = new Map<string, number>();
  const asked: string[] = [];
  let failure: unknown;
  let lastBarrier = 0;
  const add = (to: Map<string, number>, id: string) => void to.set(id, (to.get(id) ?? 0) + 1);

  const wire = await openWire(hub, server, bytes => {
    try {
      check(bytes);
      const message = readOne(bytes);
      if (message.kind === 'answer') add(answers, idOf(message));
      if (message.kind === 'request') asked.push(idOf(message));
    } catch (error) {
      failure ??= error;
    }
  });

  function say(bytes: Buffer): void {
    for (const frame of wire.framesOf(bytes)) {
      const expected = expectedOf(frame);
      for (const id of expected.must) add(must, id);
      for (const id of expected.may) add(may, id);
    }
    wire.send(bytes);
  }

  const missing = () => [...must].filter(([id, count]) => (answers.get(id) ?? 0) < count);

  async function settle(sent: readonly Buffer[]): Promise<void> {
    const texts = () => `${replay()}\n${sent.map(bytes => replay(bytes)).join('\n')}`;
    await until(
      () => {
        for (const id of asked.splice(0)) wire.send(replyTo(id, speaker));
        return failure !== undefined || missing().length === 0;
      },
      () => `no answer to ${JSON.stringify(missing())}: ${texts()}`,
    );
    if (failure !== undefined) throw failure;
    for (const [id, count] of answers)
      if (count > (must.get(id) ?? 0) + (may.get(id) ?? 0))
        assert.fail(`${count} answers to ${id}, of which ${must.get(id)} were due: ${texts()}`);
  }

  say(encode('open', 'initialize', initialize));
  await settle([]);
  return {
    async send(count, generator) {
      const sent = Array.from({ length: count }, () => generator.message(speaker).bytes);
      for (const bytes of sent) say(bytes);
      // What comes twice has come before the answer to what is asked last.
      await settle(sent);
      say(encode(`barrier ${++lastBarrier}`, 'ping'));
      await settle(sent);
    },
    close: () => wire.close(),
  };
}

/** How long who listens over HTTP is listened to, in milliseconds. */
const listenMs = 20;

/** Reads the answer to a POST, message by message, as they come. */
async function readMessagesOf(
  response: IncomingMessage,
  listens: boolean,
  took: (bytes: Buffer) => void,
): Promise<void> {
  const isStream = response.headers['content-type'] === 'text/event-stream';
  if (isStream && listens) setTimeout(() => response.destroy(), listenMs);
  let rest = '';
  try {
    for await (const part of response.setEncoding('latin1')) {
      rest += String(part);
      if (!isStream) continue;
      const events = rest.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = /^data: (.+)$/m.exec(event)?.[1];
        if (data !== undefined) took(Buffer.from(data, 'latin1'));
      }
    }
    if (!isStream && rest !== '') took(Buffer.from(rest, 'latin1'));
  } catch (error) {
    if (!listens) throw error;
  }
}

/** Posts one message and checks that what must be answered is, and nothing else. */
async function exchange(
  url: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  { check, speaker }: WireNeeds,
  mayRefuse: boolean,
): Promise<void> {
  const { must, may } = expectedOf(bytes);
  const answers: string[] = [];
  const response = await post(url, bytes, headers);
  await readMessagesOf(response, may.length > 0, received => {
    check(received);
    const message = readOne(received);
    if (message.kind === 'answer') answers.push(idOf(message));
    // The call waits for this: nobody waits for that.
    if (message.kind === 'request')
      void post(url, replyTo(idOf(message), speaker), headers).then(reply => reply.resume());
  });
  const optional = mayRefuse && must.length === 0 ? [...may, 'null'] : may;
  const isRight =
    must.length > 0
      ? String(answers) === String(must)
      : answers.length <= 1 && answers.every(id => optional.includes(id));
  assert.ok(
    isRight,
    `${response.statusCode} with answers to [${answers.join()}], due were [${must.join()}]: ${replay(bytes)}`,
  );
}

/** A client with a session over streamable HTTP. */
export async function openHttpClient(
  hub: TestHub,
  server: string | undefined,
  needs: WireNeeds,
): Promise<WireClient> {
  const url = `${hub.url}/mcp${server === undefined ? '' : `/${server}`}`;
  const opened = await post(url, encode('open', 'initialize', initialize));
  assert.equal(opened.statusCode, 200);
  opened.resume();
  const headers = {
    'mcp-session-id': String(opened.headers['mcp-session-id']),
    'mcp-protocol-version': '2025-11-25',
  };
  return {
    async send(count, generator) {
      await Promise.all(
        Array.from({ length: count }, () => generator.message(needs.speaker).bytes)
          .filter(({ length }) => length > 0)
          .map(bytes => exchange(url, bytes, headers, needs, false)),
      );
    },
    close() {},
  };
}

/** A client of the stateless revision. */
export async function openModernClient(
  hub: TestHub,
  server: string | undefined,
  needs: WireNeeds,
): Promise<WireClient> {
  const url = `${hub.url}/mcp${server === undefined ? '' : `/${server}`}`;
  return {
    async send(count, generator) {
      await Promise.all(
        Array.from({ length: count }, () => generator.message(needs.speaker).bytes)
          .filter(({ length }) => length > 0)
          .map(bytes => exchange(url, bytes, headersOf(bytes, generator), needs, true)),
      );
    },
    close() {},
  };
}

/** The headers that belong to a message, most of the time. */
function headersOf(bytes: Buffer, { random }: Generator): Readonly<Record<string, string>> {
  const version = { 'mcp-protocol-version': random() < 0.95 ? modernVersion : '2025-11-25' };
  const [message] = readMessages(Buffer.from(bytes)).messages;
  if (!message || message.kind === 'malformed' || message.kind === 'answer') return version;
  const params = membersOf(message.bytes, message.params);
  const name = ['name', 'uri', 'taskId'].map(key => stringAt(message.bytes, params?.get(key)));
  const named = name.find(text => text !== undefined);
  return {
    ...version,
    'mcp-method': random() < 0.95 ? encodeHeaderValue(message.method) : 'ping',
    ...(named !== undefined && named.length < 2_000 && { 'mcp-name': encodeHeaderValue(named) }),
  };
}
