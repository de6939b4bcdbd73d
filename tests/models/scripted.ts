import { isObject } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { createModelCounts } from '../../hub/models/model-counts.ts';
import { createAbsences } from '../../hub/models/absence.ts';
import { createModelList } from '../../hub/models/model-list.ts';
import { createModelQueue } from '../../hub/models/model-queue.ts';
import { createPaces } from '../../hub/models/pace.ts';
import { createOllamaCaller } from '../../hub/models/ollama-call.ts';

type Sent = { readonly path: string; readonly body: Readonly<Record<string, unknown>> };

/** Answers a request; undefined selects the usual answer about the two models. */
export type Answer = (sent: Sent, signal: AbortSignal) => Promise<Response> | Response | undefined;

/** Returns a response of JSON lines. */
export const linesOf = (...lines: readonly object[]): Response =>
  new Response(lines.map(line => `${JSON.stringify(line)}\n`).join(''));

/** Returns a response that never arrives. Rejects when the signal aborts. */
export const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

/** Returns the lists of two models, of which none is loaded. */
function listed(path: string): Response {
  const models = [
    { name: 'chat:latest', digest: 'c', size: 1, capabilities: ['completion'] },
    { name: 'embed:latest', digest: 'e', size: 1, capabilities: ['embedding'] },
  ];
  if (path === '/api/ps') return Response.json({ models: [] });
  return path === '/api/tags' ? Response.json({ models }) : new Response('', { status: 404 });
}

/** Creates the dependencies of calls to Ollama, over a scripted `fetch`. */
export function openScripted(answer: Answer) {
  const clock: ManualClock = createManualClock();
  const sent: Sent[] = [];
  /** Reports to the breaker and the health check, in order. */
  const told: string[] = [];
  const life = new AbortController();
  const scripted: typeof fetch = async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : {};
    const request = { path, body: isObject(body) ? body : {} };
    sent.push(request);
    return (await answer(request, init?.signal ?? life.signal)) ?? listed(path);
  };
  const needs = {
    clock,
    fetch: scripted,
    life: life.signal,
    breaker: {
      claim: () => ({
        kind: 'permit' as const,
        succeeded: () => void told.push('succeeded'),
        failed: (why: string) => void told.push(`failed: ${why}`),
        cancelled: () => void told.push('cancelled'),
      }),
      reset: () => void told.push('reset'),
      snapshot: () => ({ state: 'closed' as const, until: undefined, why: undefined }),
    },
    health: {
      requireAlive: (_signal: AbortSignal): Promise<void> => Promise.resolve(),
      heard: () => void told.push('heard'),
      failed: ({ kind }: { readonly kind: string }) => void told.push(`unwell: ${kind}`),
    },
  };
  const callOllama = createOllamaCaller('http://ollama.test', needs);
  const absences = createAbsences();
  const modelList = createModelList({ callOllama, clock, absences });
  const counts = createModelCounts();
  const paces = createPaces(clock);
  const queueNeeds = { clock, counts, usualMs: paces.usualMs, life: life.signal };
  const queue = createModelQueue({}, queueNeeds);
  const modelNeeds = { callOllama, modelList, absences, queue, paces, counts };
  return { clock, sent, told, life, needs, ...modelNeeds };
}
