import {
  type Clock,
  HubError,
  type JsonObject,
  createEmitter,
  isObject,
  tryParseExactly,
  tryParseJson,
} from '#core';
import { type ReplyBytes, readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { Server } from '#servers';

/** A question of the server to the person who called its tool (elicitation). */
export type RunQuestion = {
  /** Number of the question within its call. */
  readonly number: number;
  readonly message: string;
  readonly schema: unknown;
  /** URL of a page that the person opens in place of answering in a form. */
  readonly url: string | undefined;
};

/** An answer to the question with the same number. */
export type QuestionAnswer = Pick<RunQuestion, 'number'> & {
  readonly action: 'accept' | 'decline';
  readonly content?: JsonObject;
};

/** A question with the id of the server's request. */
type Asked = { readonly id: unknown; readonly question: RunQuestion };

/** A call of a tool from its page in the dashboard. */
export type ToolRun = {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  readonly startedAt: number;
  readonly tookMs: number | undefined;
  readonly progress: RunProgress | undefined;
  readonly question: RunQuestion | undefined;
  /** Result or error of the call. Undefined while it runs; null if it was cancelled. */
  readonly answer: Readonly<Record<string, unknown>> | null | undefined;
};

export type RunProgress = {
  readonly message: string | undefined;
  readonly progress: number;
  readonly total: number | undefined;
};

type Needs = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly newId: () => string;
  readonly version: string;
};

/** Maximum number of calls that pages can show. Beyond it, the oldest is cancelled and removed. */
const maxRuns = 50;
export const unknownRun =
  'This call is no longer known: newer calls have replaced it, or the hub was restarted';
const [initializeId, callId] = [1, 2];
const progressToken = 'dashboard';

/** Calls tools as a client with a session, so that servers can report progress and ask the caller. */
export function createToolRuns({ router, clock, newId, version }: Needs) {
  type Kept = {
    run: ToolRun;
    readonly end: (reason: string) => void;
    /** Unanswered questions. The page shows the first one. */
    asked: readonly Asked[];
    readonly reply: (asked: Asked, result: object) => void;
  };
  const runs = new Map<string, Kept>();
  const { event: changed, fire } = createEmitter<undefined>();

  function update(kept: Kept, change: Partial<ToolRun>): void {
    kept.run = { ...kept.run, ...change };
    fire(undefined);
  }

  function setAsked(kept: Kept, asked: readonly Asked[]): void {
    kept.asked = asked;
    update(kept, { question: asked[0]?.question });
  }

  function makeRoom(): void {
    for (const [id, { end }] of runs) {
      if (runs.size < maxRuns) return;
      end('newer calls have taken its place');
      runs.delete(id);
    }
  }

  /** Begins a call. `done` resolves when the call is answered. */
  function begin(server: Server, tool: string, args: JsonObject, principal: Principal) {
    makeRoom();
    const session = router.open(server, principal, bytes => heard(bytes), { over: 'http' });
    const startedMs = clock.monotonic();
    const kept: Kept = {
      run: {
        id: newId(),
        server: server.config.name,
        tool,
        args,
        startedAt: clock.now(),
        tookMs: undefined,
        progress: undefined,
        question: undefined,
        answer: undefined,
      },
      end: reason => session.close(reason),
      asked: [],
      reply: ({ id }, result) => void send({ jsonrpc: '2.0', id, result }),
    };
    runs.set(kept.run.id, kept);
    let questions = 0;
    const stream = { send: (bytes: Buffer) => heard(bytes) };
    async function send(written: object): Promise<ReplyBytes | undefined> {
      const message = readMessage(bytesOf(written));
      if (message.kind === 'malformed') throw new TypeError('it is a message');
      return await session.accept(message, stream, principal);
    }

    function heard(bytes: Buffer): void {
      const message = tryParseJson(bytes.toString());
      const { method, params, id } = isObject(message) ? message : {};
      if (!isObject(params)) return;
      const progress = method === 'notifications/progress' ? progressIn(params) : undefined;
      if (progress) update(kept, { progress });
      const { asked } = kept;
      if (method === 'elicitation/create')
        setAsked(kept, [
          ...asked,
          { id, question: { number: ++questions, ...questionIn(params) } },
        ]);
      if (method === 'notifications/cancelled')
        setAsked(
          kept,
          asked.filter(one => one.id !== params['requestId']),
        );
    }

    async function call(): Promise<ToolRun> {
      const failed = answerIn(await send(initializeBy(version)))?.['error'];
      if (failed === undefined) await send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      const params = { name: tool, arguments: args, _meta: { progressToken } };
      const request = { jsonrpc: '2.0', id: callId, method: 'tools/call', params };
      const answer = failed === undefined ? answerIn(await send(request)) : { error: failed };
      session.close('the call is over');
      const tookMs = clock.monotonic() - startedMs;
      kept.asked = [];
      update(kept, { answer: answer ?? null, question: undefined, tookMs });
      return kept.run;
    }
    return { id: kept.run.id, done: call() };
  }

  const get = (id: string): Kept => {
    const kept = runs.get(id);
    if (kept) return kept;
    throw new HubError('HUB_CALL_UNKNOWN', unknownRun);
  };

  return {
    begin,
    /** Returns a call. Throws HUB_CALL_UNKNOWN. */
    get: (id: string): ToolRun => get(id).run,
    find: (id: string): ToolRun | undefined => runs.get(id)?.run,
    /** Cancels a running call. Throws HUB_CALL_UNKNOWN. */
    cancel: (id: string): void => get(id).end('it was cancelled on the dashboard'),
    /** Answers a question of a call, if it is still unanswered. Throws HUB_CALL_UNKNOWN. */
    answer(id: string, { number, ...result }: QuestionAnswer): void {
      const kept = get(id);
      const answered = kept.asked.find(({ question }) => question.number === number);
      if (!answered) return;
      setAsked(
        kept,
        kept.asked.filter(one => one !== answered),
      );
      kept.reply(answered, result);
    },
    /** Fires when a call has made progress, asks a question or has ended. */
    changed,
  };
}

const bytesOf = (message: object) => Buffer.from(JSON.stringify(message));

function initializeBy(version: string): object {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { form: {}, url: {} } },
    clientInfo: { name: 'dashboard', version },
  };
  return { jsonrpc: '2.0', id: initializeId, method: 'initialize', params };
}

function answerIn(reply: ReplyBytes | undefined): Readonly<Record<string, unknown>> | undefined {
  const answer = reply && tryParseExactly(whole(reply).toString());
  return isObject(answer) ? answer : undefined;
}

const textIn = (value: unknown) => (typeof value === 'string' ? value : undefined);

function progressIn(params: Readonly<Record<string, unknown>>): RunProgress | undefined {
  const { progress, total, message } = params;
  if (typeof progress !== 'number') return undefined;
  return {
    progress,
    total: typeof total === 'number' ? total : undefined,
    message: textIn(message),
  };
}

function questionIn(params: Readonly<Record<string, unknown>>): Omit<RunQuestion, 'number'> {
  const url = params['mode'] === 'url' ? textIn(params['url']) : undefined;
  return { message: textIn(params['message']) ?? '', schema: params['requestedSchema'], url };
}
