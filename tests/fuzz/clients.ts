import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import {
  type Message,
  type Request,
  membersOf,
  rawText,
  readMessages,
  stringAt,
  whole,
} from '#jsonrpc';
import type { Router, Session, Endpoint } from '#routing';
import { askAgain } from './again.ts';
import { isOfStateless } from './expected.ts';
import type { Generator, Made, Speaker } from './generate.ts';
import { replay } from './settings.ts';

/** Creates a secret for each client, and finds secrets of other clients in what a client receives. */
export function createSecrets() {
  const known = new Set<string>();
  return {
    create(): string {
      const secret = `~${randomBytes(6).toString('hex')}~`;
      known.add(secret);
      return secret;
    },
    /** Fails if the bytes contain a secret of another client. */
    check(own: string, bytes: Buffer | string): void {
      for (const [found] of bytes.toString('latin1').matchAll(/~[0-9a-f]{12}(?=~)/g))
        if (`${found}~` !== own && known.has(`${found}~`))
          assert.fail(`a client received what is another's: ${replay(bytes)}`);
    },
  };
}

type Secrets = ReturnType<typeof createSecrets>;

/** A request that has not been answered yet. */
type Open = { readonly request: Request; readonly listens: boolean; readonly over: Promise<void> };

/** A client directly at the router, which sends generated messages and checks what it receives. */
export interface FuzzedClient {
  readonly speaker: Speaker;
  /** Sends a generated message. Returns the number of messages parsed from it. */
  send(made: Made): number;
  /** Resolves when all requests except subscriptions are answered. Fails if that takes too long. */
  settled(): Promise<void>;
  /** Closes the client. Fails unless all its requests are answered then. */
  close(): Promise<void>;
}

const wholeOf = (reply: ReturnType<Session['accept']>) => reply.then(said => said && whole(said));

/** Time limit for an answer in ms. Calls take only some milliseconds. */
const patienceMs = 30_000;
/**
 * Time in ms after which the hub drops a server's request to a client. Until then a call waits if the hub sent its
 * request with another call of the client, and the client does not continue that call.
 */
const inputMs = 10 * 60_000;
const lookMs = 30;

export function openFuzzed(
  router: Router,
  endpoint: Endpoint,
  speaker: Speaker,
  needs: {
    readonly generator: Generator;
    readonly secrets: Secrets;
    readonly clock: Pick<ManualClock, 'advance'>;
  },
): FuzzedClient {
  const { generator, secrets, clock } = needs;
  const open = new Set<Open>();
  let isClosed = false;
  /** Ids of requests from servers, as JSON texts. */
  const asked = new Set<string>();

  /** Checks a message that is not an answer: it must be a request or notification, without secrets of other clients. */
  function received(bytes: Buffer): void {
    assert.ok(!isClosed, `a client that is gone was told something: ${replay(bytes)}`);
    secrets.check(speaker.secret, bytes);
    const { messages } = readMessages(Buffer.from(bytes));
    const [message] = messages;
    assert.ok(message && messages.length === 1, replay(bytes));
    assert.ok(
      message.kind === 'request' || message.kind === 'notification',
      `neither a request nor a notification: ${replay(bytes)}`,
    );
    JSON.parse(bytes.toString());
    if (message.kind !== 'request') return;
    const id = rawText(message.bytes, message.id);
    asked.add(id);
    const reply = generator.reply(speaker, id);
    // A real client answers asynchronously, after the request.
    if (reply) setImmediate(() => isClosed || take(reply));
  }

  const session: Session = router.open(endpoint, caller, received);

  function take(bytes: Buffer, made?: Made): number {
    const { messages } = readMessages(Buffer.from(bytes));
    for (const message of messages)
      if (message.kind !== 'malformed') accept(message, made ?? { bytes, echoes: undefined });
    return messages.length;
  }

  function accept(message: Message, made: Made): void {
    let answer: Promise<Buffer | undefined>;
    try {
      answer = wholeOf(session.accept(message, { send: received }, caller));
    } catch (error) {
      return assert.fail(`the router threw ${String(error)}: ${replay(made.bytes)}`);
    }
    if (message.kind !== 'request') {
      void answer.then(bytes => assert.equal(bytes, undefined, replay(made.bytes)));
      return;
    }
    const listens = message.method === 'subscriptions/listen';
    const isUnknown = speaker.era === 'legacy' && session.protocolVersion === undefined;
    const one: Open = {
      request: message,
      listens,
      over: answer.then(bytes => {
        open.delete(one);
        answered(message, bytes, made, isUnknown);
      }),
    };
    // `settle` reports the failure, as it waits for all requests.
    one.over.catch(() => open.add(one));
    open.add(one);
  }

  function answered(
    request: Request,
    bytes: Buffer | undefined,
    made: Made,
    isUnknown: boolean,
  ): void {
    const context = () => `${replay(made.bytes)} was answered by ${bytes?.toString()}`;
    // Another generated message may have cancelled the request.
    if (!bytes && made.echoes === undefined && isOfStateless(request.bytes)) return;
    assert.ok(bytes, `no answer: ${context()}`);
    secrets.check(speaker.secret, bytes);
    const [answer] = readMessages(Buffer.from(bytes)).messages;
    assert.equal(answer?.kind, 'answer', context());
    if (answer?.kind !== 'answer') return;
    JSON.parse(bytes.toString());
    const id = rawText(request.bytes, request.id);
    assert.equal(answer.id && rawText(answer.bytes, answer.id), id, context());
    assert.ok(!bytes.includes('HUB_INTERNAL'), context());
    // A client that never initialized gets no answer of a server, and neither does one beyond the maximum of instances.
    const isRefused =
      (isUnknown && bytes.includes(' came before ')) || bytes.includes('"HUB_INSTANCES_FULL"');
    if (made.echoes !== undefined && !isClosed && !isRefused) {
      // If no other call was in flight, the server's request belonged to this call.
      const again = askAgain(made.bytes, bytes, speaker.secret);
      if (again) return void take(again, { bytes: again, echoes: made.echoes });
      assert.ok(bytes.includes(made.echoes), `not its own answer: ${context()}`);
    }
    const result = membersOf(answer.bytes, answer.payload);
    const state = result?.get('requestState');
    if (stringAt(answer.bytes, result?.get('resultType')) !== 'input_required' || !state) return;
    if (isClosed || generator.random() < 0.3 || !request.params) return;
    const params = rawText(request.bytes, request.params);
    if (params.includes('"requestState"') || params.includes('"inputResponses"')) return;
    take(generator.retry(speaker, request.method, params, rawText(answer.bytes, state)));
  }

  /** Answers all requests of servers, as their calls wait for these answers. */
  function answerAll(): void {
    for (const id of asked)
      take(
        Buffer.from(
          `{"jsonrpc":"2.0","id":${id},"result":{"content":${JSON.stringify(speaker.secret)}}}`,
        ),
      );
    asked.clear();
  }

  async function settle(withListens: boolean): Promise<void> {
    const end = Date.now() + patienceMs;
    let isGivenUp = false;
    for (;;) {
      const waiting = [...open].filter(({ listens }) => withListens || !listens);
      if (waiting.length === 0) return;
      if (!isGivenUp && Date.now() > end - patienceMs / 2) {
        isGivenUp = true;
        clock.advance(inputMs);
      }
      if (Date.now() > end) {
        const texts = waiting.map(({ request }) => request.bytes.toString().slice(0, 500));
        return assert.fail(`not answered: ${replay()}\n${texts.join('\n')}`);
      }
      let timeout: NodeJS.Timeout | undefined;
      const look = new Promise<void>(resolve => (timeout = setTimeout(resolve, lookMs)));
      await Promise.race([Promise.all(waiting.map(({ over }) => over)), look]);
      clearTimeout(timeout);
      if (!isClosed) answerAll();
    }
  }

  return {
    speaker,
    send: made => take(made.bytes, made),
    settled: () => settle(false),
    async close() {
      session.close('the client hung up');
      isClosed = true;
      await settle(true);
    },
  };
}

/** Opens a well-behaved client, which must not be affected by the others. */
export function openBystander(
  router: Router,
  endpoint: Endpoint,
  prefix: string,
  secrets: Secrets,
): {
  initialize(): Promise<void>;
  /** Calls `echo`. Fails unless the answer is that to its own call. */
  echo(): Promise<void>;
  /** Calls a tool of the server. Returns the answer as JSON text. */
  call(tool: string): Promise<string>;
  close(): void;
} {
  const secret = secrets.create();
  const received = (bytes: Buffer) => secrets.check(secret, bytes);
  const session = router.open(endpoint, caller, received);
  let lastId = 0;

  async function ask(method: string, params: object): Promise<string> {
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }));
    const [message] = readMessages(bytes).messages;
    assert.ok(message?.kind === 'request');
    const answer = await wholeOf(session.accept(message, { send: received }, caller));
    assert.ok(answer, replay());
    received(answer);
    return answer.toString();
  }

  const callWith = (name: string, given: object) =>
    ask('tools/call', { name: prefix + name, arguments: given });

  return {
    async initialize() {
      const clientInfo = { name: 'bystander', version: '1' };
      await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    },
    async echo() {
      const mark = `${secret}-${lastId}`;
      const answer = await callWith('echo', { secret: mark });
      assert.ok(
        answer.includes(`"id":${lastId},`) || answer.endsWith(`"id":${lastId}}`),
        `${replay()}: ${answer}`,
      );
      assert.ok(answer.includes(`echo ${mark}`), `${replay()}: ${answer}`);
    },
    call: tool => callWith(tool, {}),
    close: () => session.close('it has seen enough'),
  };
}
