import {
  type Clock,
  createAbortScope,
  durationText,
  isObject,
  messageOf,
  tryParseJson,
} from '#core';
import {
  type ChatAnswer,
  type ChatLimits,
  type ChatRequest,
  estimateTokens,
} from '../chat/chat-types.ts';
import { chatAnswerOf } from '../chat/chat-answer.ts';
import { ModelFailure, failureOfAbort } from '../failure.ts';
import { startIdleTimeout } from '../idle-timeout.ts';
import type { createModelCounts } from '../model-counts.ts';
import { type QueuePlace, createModelQueue } from '../model-queue.ts';
import { type ModelBreaker, refusalOf, verdictOf } from '../ollama-call.ts';
import { errorTextOf, mediaTypeOf } from '../response-body.ts';
import { lateFailure } from '../turn.ts';
import { createCompletion } from './completion-stream.ts';
import {
  type ProviderCall,
  failureInChunk,
  failureOfStatus,
  requireKey,
} from './provider-failure.ts';
import { eventsOf, fetchWithKey, malformed, wholeText } from './provider-response.ts';
import { listModels } from './list-models.ts';
import { isOfLlamaServer, requireToolTemplate } from './tool-support.ts';
import { type Quirks, quirksAfter, requestBody, usualQuirks } from './request-body.ts';

/** A chat endpoint of OpenAI or one that is compatible with its API. */
export type ProviderSettings = {
  /** Base URL of the API, without a trailing slash. */
  readonly url: string;
  /** API key, a secret. */
  readonly key: string | undefined;
  /** Sentence that says why the key cannot be read and how to fix it; undefined if the key is usable. */
  readonly keyFault: string | undefined;
  /** Maximum number of concurrent calls of each model. */
  readonly parallel: number;
};

export type ProviderNeeds = {
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly breaker: ModelBreaker;
  readonly counts: ReturnType<typeof createModelCounts>;
  readonly newId: () => string;
  readonly life: AbortSignal;
};

type ProviderRequest = ChatRequest & ChatLimits;

/** Maximum length of an answer in characters. */
const maxLength = 1_000_000;

/** Creates a provider. Sends nothing before a call. */
export function createProvider(provider: string, settings: ProviderSettings, needs: ProviderNeeds) {
  const { clock, breaker, counts, newId, life } = needs;
  const { url, key, parallel } = settings;
  const queue = createModelQueue({ parallel }, { clock, counts, usualMs: () => 0, life });
  /** Quirks by model, because the models of one endpoint may differ. */
  const quirksOf = new Map<string, Quirks>();
  let isLlamaServer = false;

  /** Sends the request, and retries without a parameter that the endpoint refuses and can do without. */
  async function post(
    request: ProviderRequest,
    name: string,
    call: ProviderCall,
    signal: AbortSignal,
  ): Promise<Response> {
    for (;;) {
      const quirks = quirksOf.get(name) ?? usualQuirks;
      const sent = {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify(requestBody(request, name, quirks)),
      };
      const within = { fetch: needs.fetch, signal };
      const response = await fetchWithKey(`${url}/chat/completions`, call, within, sent);
      if (response.ok) return response;
      const text = await errorTextOf(response, { ...call, signal });
      const next = response.status === 400 ? quirksAfter(text, quirks) : undefined;
      if (!next) throw failureOfStatus(response, text, clock.now(), call);
      quirksOf.set(name, next);
    }
  }

  async function read(
    response: Response,
    request: ProviderRequest,
    call: ProviderCall,
    signal: AbortSignal,
    heard: () => void,
  ) {
    const completion = createCompletion(request.progress);
    const take = (value: unknown) => {
      if (!isObject(value)) throw malformed(call, 'a part that is not a JSON object');
      const failure = failureInChunk(value, call);
      if (failure) throw failure;
      completion.add(value);
      if (completion.length > maxLength)
        throw new ModelFailure('cut', `the answer has more than ${maxLength} characters`, call);
    };
    const isJson = mediaTypeOf(response).includes('json');
    if (isJson) {
      take(tryParseJson(await wholeText(response, call, signal)));
      heard();
    } else {
      for await (const data of eventsOf(response, call, signal)) {
        if (data === '[DONE]') break;
        take(tryParseJson(data));
        heard();
      }
    }
    if (completion.isEmpty) throw malformed(call, 'no completion');
    // A message that is not streamed is complete, also without a finish reason.
    if (completion.isWhole || (isJson && completion.hasMessage)) return completion.end();
    const message = `the answer of ${provider} ended before it was complete`;
    throw new ModelFailure('cut', message, { model: call.model });
  }

  async function ask(
    request: ProviderRequest,
    name: string,
    call: ProviderCall,
    signal: AbortSignal,
  ) {
    const permit = breaker.claim();
    if (permit.kind === 'refused') throw refusalOf(permit, call.model, provider);
    using scope = createAbortScope([signal]);
    using idle = startIdleTimeout(request.silentMs, clock, timeoutMs =>
      scope.abort(silence(request, timeoutMs)),
    );
    const sentMs = clock.monotonic();
    let isFirst = true;
    const heard = () => {
      idle.reset();
      if (isFirst) counts.firstToken(call.model, clock.monotonic() - sentMs);
      isFirst = false;
    };
    try {
      const within = { ...needs, signal: scope.signal };
      const hasTools = request.tools.length > 0;
      // Checked before each call, because the llama-server may have loaded another model.
      if (hasTools && isLlamaServer) await requireToolTemplate(url, call, within);
      const response = await post(request, name, call, scope.signal);
      const wasKnown = isLlamaServer;
      isLlamaServer = isOfLlamaServer(response);
      if (hasTools && isLlamaServer && !wasKnown) await requireToolTemplate(url, call, within);
      const answer = await read(response, request, call, scope.signal, heard);
      permit.succeeded();
      return answer;
    } catch (error) {
      const failure = scope.signal.aborted ? failureOfAbort(scope.signal, call.model) : error;
      // Close the connection.
      scope.abort(failure);
      const verdict =
        failure instanceof ModelFailure ? verdictOf(failure, idle.idleMs) : 'cancelled';
      if (verdict === 'failed') permit.failed(messageOf(failure));
      else permit[verdict]();
      throw failure;
    }
  }

  return {
    queues: () => queue.snapshot(),
    /** Lists the names of the models, without the prefix of the provider. Rejects with ModelFailure. */
    models: (signal: AbortSignal): Promise<readonly string[]> =>
      listModels({ provider, settings, clock, fetch: needs.fetch }, signal),
    /** Chats with the model that the provider calls `name`. Rejects with ModelFailure. */
    async chat(request: ProviderRequest, name: string, signal: AbortSignal): Promise<ChatAnswer> {
      const { model, caller, totalMs } = request;
      const call = { provider, model, key };
      requireKey(call, settings.keyFault);
      const startedMs = clock.monotonic();
      const joined: { place?: QueuePlace } = {};
      using limit = createAbortScope([signal, life], {
        clock,
        limitMs: totalMs,
        reason: () => lateFailure(request, joined.place),
      });
      try {
        using place = queue.join(model, { client: caller.client, endsMs: startedMs + totalMs });
        joined.place = place;
        await place.turn(limit.signal);
        const answer = await ask(request, name, call, limit.signal);
        if (answer.isLegacyCall) throw legacyCall(call);
        const made = answerOf(request, answer, newId);
        counts.succeeded(model, made.usage.inputTokens, made.usage.outputTokens, caller);
        return { ...made, tookMs: clock.monotonic() - startedMs };
      } catch (error) {
        const failure = limit.signal.aborted ? failureOfAbort(limit.signal, model) : error;
        if (failure instanceof ModelFailure) counts.failed(model, failure.kind);
        throw failure;
      }
    },
  };
}

function silence({ model, silentSetting }: ProviderRequest, timeoutMs: number): ModelFailure {
  const remedy = silentSetting === undefined ? '' : `. Raise ${silentSetting}`;
  const message = `${model} was silent for ${durationText(timeoutMs)}${remedy}`;
  return new ModelFailure('timeout', message, { model });
}

const legacyCall = ({ provider, model }: ProviderCall) =>
  new ModelFailure(
    'malformed',
    `${provider} answered with "function_call", an earlier form of "tool_calls" that the hub does not read. Update the server at models.providers.${provider}.url, or choose another model`,
    { model },
  );

export type Provider = ReturnType<typeof createProvider>;

function answerOf(
  request: ProviderRequest,
  answer: ReturnType<ReturnType<typeof createCompletion>['end']>,
  newId: () => string,
): Omit<ChatAnswer, 'tookMs'> {
  const { model, messages, system = '', tools } = request;
  const made = chatAnswerOf(answer, request, model, newId);
  const asked = JSON.stringify([system, messages, tools]).length;
  const said = JSON.stringify(made.content).length;
  return {
    model,
    ...made,
    usage: {
      inputTokens: answer.promptTokens ?? estimateTokens(asked),
      outputTokens: answer.outputTokens ?? estimateTokens(said),
    },
  };
}
