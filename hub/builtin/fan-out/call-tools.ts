import type { FanOutConfig } from '#config';
import {
  type Clock,
  HubError,
  type JsonObject,
  createAbortScope,
  isJsonObject,
  isObject,
} from '#core';
import type { PrincipalRequests } from '#routing';
import type { ForeignResult } from '../builtin-server.ts';

/** A call of a fan-out tool, which calls several tools. */
type FanOutCall = Pick<FanOutConfig, 'name' | 'merge' | 'timeoutMs'> & {
  /** Public names of the tools to call. */
  readonly tools: readonly string[];
  /** Tools of the config that are not called, and why. */
  readonly notCalled: readonly Failure[];
  readonly args: JsonObject;
};

type Failure = { readonly tool: string; readonly error: string };
type Success = { readonly tool: string; readonly result: JsonObject };
/** Outcome of one tool. `denied`: the caller may not use the tool, and must not learn that it exists. */
type Outcome = Success | Failure | 'denied';

type Needs = {
  /** Sends requests as the caller. */
  readonly requests: Pick<PrincipalRequests, 'request'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Aborted when the caller cancels the call. */
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
};

/** Maximum length of a tool's error in the result, in characters. */
const maxError = 500;

/**
 * Calls the tools and merges their results. The result names the tools that failed, and is an error if none succeeded.
 * Rejects with HUB_NAME_UNKNOWN if the caller may use none of them.
 */
export async function callTools(call: FanOutCall, needs: Needs): Promise<ForeignResult> {
  const outcomes = await merges[call.merge](call, needs);
  needs.signal.throwIfAborted();
  const successes = outcomes.filter(isSuccess);
  const failures = [...outcomes.filter(isFailure), ...call.notCalled];
  if (call.tools.length > 0 && outcomes.every(outcome => outcome === 'denied'))
    throw new HubError('HUB_NAME_UNKNOWN', `no tool is called ${JSON.stringify(call.name)}`);
  const named = failures.map(({ tool, error }) => `${tool}: ${error}`).join('\n');
  const failed = failures.length > 0 ? [textBlock(`Failed:\n${named}`)] : [];
  const [first] = successes;
  const structured = call.merge === 'concat' ? undefined : first?.result['structuredContent'];
  return {
    content: [
      ...(call.merge === 'concat' ? successes.flatMap(titled) : successes.flatMap(contentOf)),
      ...failed,
    ],
    ...(isJsonObject(structured) && { structuredContent: structured }),
    ...(successes.length === 0 && { isError: true }),
    _meta: {
      'agenthub/fan_out': {
        answered: successes.map(({ tool }) => tool),
        failed: failures.map(({ tool, error }) => ({ tool, error })),
      },
    },
  };
}

type Merge = (call: FanOutCall, needs: Needs) => Promise<readonly Outcome[]>;

const merges: Readonly<Record<FanOutCall['merge'], Merge>> = {
  concat: (call, needs) => Promise.all(call.tools.map(tool => callTool(tool, call, needs))),
  async first(call, needs) {
    const outcomes: Outcome[] = [];
    for (const tool of call.tools) {
      const outcome = await callTool(tool, call, needs);
      outcomes.push(outcome);
      if (isSuccess(outcome) || needs.signal.aborted) break;
    }
    return outcomes;
  },
  async race(call, needs) {
    const outcomes: Outcome[] = [];
    const over = new AbortController();
    const signal = AbortSignal.any([needs.signal, over.signal]);
    await Promise.all(
      call.tools.map(async tool => {
        const outcome = await callTool(tool, call, { ...needs, signal });
        if (over.signal.aborted) return;
        outcomes.push(outcome);
        if (isSuccess(outcome)) over.abort();
      }),
    );
    return outcomes;
  },
};

async function callTool(
  tool: string,
  { args, timeoutMs }: FanOutCall,
  { requests, clock, signal, progress }: Needs,
): Promise<Outcome> {
  const error = `it did not answer within ${timeoutMs / 1000} s`;
  using scope = createAbortScope([signal], {
    clock,
    limitMs: timeoutMs,
    reason: () => new HubError('HUB_CALL_TIMEOUT', error),
  });
  try {
    const params = { name: tool, arguments: args };
    const result = await requests.request('tools/call', params, scope.signal, {
      progress: message => progress(`${tool}: ${message}`),
    });
    if (result['isError'] === true) return { tool, error: shortened(textIn(result)) };
    progress(`${tool} answered`);
    return { tool, result };
  } catch (cause) {
    if (!(cause instanceof HubError)) throw cause;
    if (cause.data['code'] === 'HUB_POLICY_DENIED') return 'denied';
    const isLate = scope.signal.aborted && !signal.aborted;
    return { tool, error: isLate ? error : shortened(cause.message) };
  }
}

const isSuccess = (outcome: Outcome): outcome is Success =>
  outcome !== 'denied' && 'result' in outcome;
const isFailure = (outcome: Outcome): outcome is Failure =>
  outcome !== 'denied' && 'error' in outcome;

const titled = (success: Success): readonly JsonObject[] => [
  textBlock(`${success.tool}:`),
  ...contentOf(success),
];

const contentOf = ({ result: { content } }: Success): readonly JsonObject[] =>
  Array.isArray(content) ? content.filter(isJsonObject) : [];

const textIn = ({ content }: JsonObject): string =>
  (Array.isArray(content) ? content : [])
    .flatMap(block => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : []))
    .join(' ') || 'it failed without a message';

const textBlock = (text: string): JsonObject => ({ type: 'text', text });

const shortened = (text: string) =>
  text.length > maxError ? `${text.slice(0, maxError).toWellFormed()}...` : text;
