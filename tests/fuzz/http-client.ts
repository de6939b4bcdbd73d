import assert from 'node:assert/strict';
import { request } from 'node:http';
import { membersOf, readMessages, stringAt } from '#jsonrpc';
import { encodeHeaderValue, modernVersion } from '#mcp';
import { askAgain } from './again.ts';
import { encode, expectedOf, idOf, introduction, readOne, replyTo } from './expected.ts';
import type { Generator, Made } from './generate.ts';
import { type Pipe, openPipe } from './pipe.ts';
import { replay } from './settings.ts';
import type { OpenWireClient, WireNeeds } from './wire-client.ts';

type Headers = Readonly<Record<string, string>>;

/** Time in ms after which a subscription is closed. */
const listenMs = 30;
/** Maximum length of generated headers. Longer ones would end the connection, with all other answers on it. */
const maxHeader = 4_000;
const legacy = { 'MCP-Protocol-Version': '2025-11-25' };

/**
 * Posts on a separate connection. The stream that answers may never end, or not before the client has answered a
 * request of the server, which may arrive on any stream: no other request must wait behind it.
 */
async function postAlone(
  url: URL,
  body: Buffer,
  headers: Headers,
  took: (bytes: Buffer) => void,
  listens: boolean,
): Promise<void> {
  const pipe = openPipe(url.origin);
  let isEnough = false;
  const leave = () => {
    isEnough = true;
    pipe.close();
  };
  let timer: NodeJS.Timeout | undefined;
  try {
    await pipe.post(url.pathname, body, headers, bytes => {
      took(bytes);
      if (listens) timer ??= setTimeout(leave, listenMs);
    });
  } catch (error) {
    if (!isEnough) throw error;
  } finally {
    clearTimeout(timer);
    pipe.close();
  }
}

/** True if the tool sends the client a request before it answers. */
function isAsking(bytes: Buffer): boolean {
  const [message] = readMessages(Buffer.from(bytes)).messages;
  if (message?.kind !== 'request' || message.method !== 'tools/call') return false;
  const name = membersOf(message.bytes, message.params)?.get('name');
  return stringAt(message.bytes, name)?.endsWith('ask') ?? false;
}

/** Returns the headers for a message, which are right most of the time. */
function modernHeaders({ bytes, echoes }: Made, { random }: Generator): Headers {
  const isRight = () => echoes !== undefined || random() < 0.95;
  const version = {
    'MCP-Protocol-Version': isRight() ? modernVersion : '2025-11-25',
  };
  const [message] = readMessages(Buffer.from(bytes)).messages;
  if (!message || message.kind === 'malformed' || message.kind === 'answer') return version;
  const params = membersOf(message.bytes, message.params);
  const texts = ['name', 'uri', 'taskId'].map(key => stringAt(message.bytes, params?.get(key)));
  const named = texts.find(text => text !== undefined);
  const method = encodeHeaderValue(message.method);
  const name = named === undefined ? undefined : encodeHeaderValue(named);
  return {
    ...version,
    'Mcp-Method': isRight() && method.length < maxHeader ? method : 'ping',
    ...(name !== undefined && name.length < maxHeader && { 'Mcp-Name': name }),
  };
}

type Way = {
  /** Ends the session of a client that leaves during calls, which would otherwise continue. */
  readonly leave: () => void;
  readonly headersOf: (made: Made) => Headers;
  /** Whether the hub may refuse messages that need no answer, because headers and message differ. */
  readonly mayRefuse: boolean;
};

/** Opens a client that posts messages, and checks that each POST gets only the answers to its own messages. */
function openPoster(url: URL, way: Way, { speaker, generator, check }: WireNeeds) {
  const calls = openPipe(url.origin);
  // A separate pipe, as a reply must not wait behind the call that it belongs to.
  const replies = openPipe(url.origin);
  const open = new Set<Promise<void>>();
  let failure: unknown;
  let isClosed = false;

  async function exchange(pipe: Pipe, made: Made): Promise<void> {
    const { bytes, echoes } = made;
    const { must, may } = expectedOf(bytes);
    const answers: string[] = [];
    let echoed = echoes === undefined;
    function took(received: Buffer): void {
      if (isClosed) return;
      check(received);
      const message = readOne(received);
      if (message.kind === 'answer') answers.push(idOf(message));
      if (message.kind === 'request') reply(idOf(message));
      if (echoes === undefined || message.kind !== 'answer') return;
      // If no other call was in flight, the server's request belonged to this call.
      const again = askAgain(bytes, received, speaker.secret);
      if (again) begin(replies, { bytes: again, echoes });
      if (again || received.includes(echoes)) echoed = true;
    }
    const headers = way.headersOf(made);
    let status: number | string = 'alone';
    const listens = may.length > 0;
    if (listens || isAsking(bytes)) await postAlone(url, bytes, headers, took, listens);
    else ({ status } = await pipe.post(url.pathname, bytes, headers, took));
    const optional = way.mayRefuse && must.length === 0 ? [...may, 'null'] : may;
    const isRight =
      must.length > 0
        ? String(answers) === String(must)
        : answers.length <= 1 && answers.every(id => optional.includes(id));
    assert.ok(
      isRight && echoed,
      `${status} with answers to [${answers.join()}], due were [${must.join()}]`,
    );
  }

  /** Starts an exchange. The next `send` or `settle` throws its failure. */
  function begin(pipe: Pipe, made: Made): void {
    const one = exchange(pipe, made)
      .catch((cause: unknown) => {
        if (!isClosed)
          failure ??= new Error(`${String(cause)}: ${replay(made.bytes)}`, {
            cause,
          });
      })
      .finally(() => open.delete(one));
    open.add(one);
  }

  function reply(id: string): void {
    for (const bytes of [generator.reply(speaker, id), replyTo(id, speaker)])
      if (bytes !== undefined) begin(replies, { bytes, echoes: undefined });
  }

  const confirm = () => {
    if (failure !== undefined) throw failure;
  };
  return {
    async send(count: number) {
      for (let sent = 0; sent < count; sent++) {
        await calls.ready();
        confirm();
        let made = generator.message(speaker);
        // An empty message would be a POST without a body.
        while (made.bytes.length === 0) made = generator.message(speaker);
        begin(calls, made);
      }
    },
    async settle() {
      while (open.size > 0) await Promise.all(open);
      confirm();
    },
    close() {
      isClosed = true;
      if (open.size > 0) way.leave();
      calls.close();
      replies.close();
    },
  };
}

const urlOf = (origin: string, server: string | undefined) =>
  new URL(`${origin}/mcp${server === undefined ? '' : `/${server}`}`);

/** Opens a client with a session over streamable HTTP. */
export const openHttpClient: OpenWireClient = async (hub, server, needs) => {
  const url = urlOf(hub.url, server);
  const pipe = openPipe(url.origin);
  const opened = await pipe.post(
    url.pathname,
    encode('open', 'initialize', introduction),
    {},
    () => {},
  );
  pipe.close();
  assert.equal(opened.status, 200);
  const headers = {
    ...legacy,
    'Mcp-Session-Id': opened.headers['mcp-session-id'] ?? '',
  };
  const leave = () =>
    void request(url, { method: 'DELETE', headers, agent: false })
      .on('response', answer => answer.resume())
      .end();
  return openPoster(url, { headersOf: () => headers, mayRefuse: false, leave }, needs);
};

/** Opens a client of the stateless revision. */
export const openModernClient: OpenWireClient = async (hub, server, needs) => {
  const headersOf = (made: Made) => modernHeaders(made, needs.generator);
  return openPoster(urlOf(hub.url, server), { headersOf, mayRefuse: true, leave() {} }, needs);
};
