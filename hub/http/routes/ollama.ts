import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isClientName } from '#config';
import { HubError, isObject, shown } from '#core';
import type { Enhancement } from '#enhance';
import { type HttpSystem, reportOf } from '../errors.ts';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { sameAs } from '../tool-policy.ts';
import { changing } from './audit.ts';
import { hangUpOf, openEvents, wantsEvents } from './events.ts';
import { type Named, invalid, readMembers, readQuery, refuseBody, snakeCased } from './input.ts';

type Needs = {
  readonly prompts: Pick<NonNullable<HttpNeeds['prompts']>, 'open'>;
  readonly system: HttpSystem;
};

/** Adds `/ollama/...`: prompts, models and caches (spec 1.8, 1.16, 1.17). */
export function ollamaRoutes(app: FastifyInstance, { prompts, system }: Needs): void {
  const tool = sameAs('agenthub', 'enhance_prompt');
  app.post('/ollama/enhance', { ...tool, bodyLimit: maxPromptBytes }, async (request, reply) => {
    const wanted = {
      prompt: readPrompt(request.body),
      client: readClient(request.headers['x-client-name'], 'X-Client-Name'),
      bypass: readBypass(request.headers['x-cache-bypass']),
    };
    const { enhancer } = await prompts.open();
    // A cached answer takes less time than creating a stream and an abort signal.
    const ready = wantsEvents(request) ? undefined : await enhancer.atHand(wanted);
    if (ready) return reply.headers(headersOf(ready)).send(bodyOf(ready));
    return await answer(request, reply, system, async (signal, tell) => {
      const done = await enhancer.enhance(wanted, signal, tell);
      reply.headers(headersOf(done));
      return bodyOf(done);
    });
  });

  app.get('/ollama/models', async (request, reply) => {
    const { models } = await prompts.open();
    return await answer(request, reply, system, async signal => ({
      models: await asked(models.list(signal)),
    }));
  });

  app.post<Named>('/ollama/models/:name/pull', changing('model_pull'), async (request, reply) => {
    refuseBody(request.body, 'POST /ollama/models/{name}/pull');
    const { name } = request.params;
    if (!modelName.test(name))
      throw invalid(
        `name: ${shown(name)} is not allowed: write the name of a model such as llama3.2:3b, with %2F for each "/" in it`,
      );
    const { models } = await prompts.open();
    return await answer(request, reply, system, async (signal, tell) => {
      await asked(models.pull(name, tell, signal));
      return { name, status: 'success' };
    });
  });

  app.get('/ollama/cache/stats', async () => {
    const { enhancer } = await prompts.open();
    const { prompts: counts, exact, semantic } = await enhancer.stats();
    return snakeCased({ l1: exact, l2: semantic ?? null, prompts: counts });
  });

  app.delete('/ollama/cache', changing('caches_clear', ['client']), async request => {
    refuseBody(request.body, 'DELETE /ollama/cache');
    const { client } = readQuery(request, ['client']);
    const { enhancer } = await prompts.open();
    const { exact, semantic } = await enhancer.forget(readClient(client, 'client'));
    return { client: client ?? null, removed: { l1: exact, l2: semantic } };
  });

  // The answer contains similar prompts of other clients.
  app.get('/ollama/cache/explain', administered, async (request, reply) => {
    const { prompt, client } = readQuery(request, ['prompt', 'client']);
    if (prompt === undefined || prompt === '')
      throw invalid('prompt: is missing: write ?prompt= and the prompt, percent-encoded');
    const named = readClient(client, 'client');
    const { enhancer } = await prompts.open();
    return await answer(request, reply, system, async signal => {
      const { exact, semantic, ...rest } = await enhancer.explain(prompt, named, signal);
      return { ...rest, l1: exact, l2: semantic };
    });
  });
}

/** Maximum size of a prompt in bytes, enough for the longest context window of a model. */
const maxPromptBytes = 4 * 2 ** 20;
const modelName = /^\w[\w.:/-]{0,199}$/;

function readPrompt(body: unknown): string {
  if (!isObject(body))
    throw invalid('the body: write an object: {"prompt": "..."}, as application/json');
  const { prompt } = readMembers(body, ['prompt']);
  if (prompt === undefined) throw invalid('prompt: is missing: write a string');
  if (typeof prompt !== 'string')
    throw invalid(`prompt: ${shown(prompt)} is not allowed: write a string`);
  if (prompt.trim() === '') throw invalid('prompt: must not be empty');
  return prompt;
}

function readClient(value: string | readonly string[] | undefined, name: string) {
  const text = String(value ?? '').trim();
  if (text === '') return undefined;
  if (isClientName(text)) return text;
  throw invalid(
    `${name}: ${shown(text)} is not allowed: the name of a client has 1 to 64 letters, digits, spaces and "_.@/+-", and starts with a letter or digit`,
  );
}

function readBypass(value: string | readonly string[] | undefined): boolean {
  const text = String(value ?? 'false').toLowerCase();
  if (['true', '1', ''].includes(text)) return true;
  if (['false', '0'].includes(text)) return false;
  throw invalid(`X-Cache-Bypass: ${shown(text)} is not allowed: write true or false`);
}

const cacheHeaders = {
  hit_l1: 'HIT-L1',
  hit_l2: 'HIT-L2',
  miss: 'MISS',
  bypass: 'BYPASS',
  disabled: 'DISABLED',
} as const satisfies Record<Enhancement['cache'], string>;

function headersOf({ cache, similarity, ageMs, model }: Enhancement): Record<string, string> {
  const headers: Record<string, string> = { 'x-cache': cacheHeaders[cache] };
  if (similarity !== undefined) headers['x-cache-similarity'] = similarity.toFixed(4);
  if (ageMs !== undefined) headers['x-cache-age'] = String(Math.floor(ageMs / 1000));
  if (model !== undefined) headers['x-cache-model'] = model;
  return headers;
}

/** Formats the result for a prompt with the keys of the REST API. JSON omits undefined values. */
const bodyOf = ({ cache, ageMs, attempts, tookMs, ...rest }: Enhancement): object => ({
  ...rest,
  cache: cacheHeaders[cache],
  age_ms: ageMs,
  attempts: attempts.map(snakeCased),
  took_ms: tookMs,
});

/** Returns the answer of Ollama. Converts its failures to errors of the API. */
async function asked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    // Loaded on first use, to save memory.
    const { ModelFailure } = await import('#models');
    if (!(cause instanceof ModelFailure)) throw cause;
    const code = cause.kind === 'missing' ? 'HUB_MODEL_UNKNOWN' : 'HUB_OLLAMA_FAILED';
    throw new HubError(code, cause.message, { cause, data: { kind: cause.kind } });
  }
}

/**
 * Answers with the result of `work`, or with an event for each step if the client accepts events. Cancels the work if
 * the client disconnects.
 */
async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  system: HttpSystem,
  work: (signal: AbortSignal, tell: (progress: object) => void) => Promise<object>,
): Promise<FastifyReply> {
  const signal = hangUpOf(reply);
  if (!wantsEvents(request))
    try {
      return await reply.send(snakeCased(await work(signal, () => {})));
    } catch (error) {
      if (!signal.aborted) throw error;
      return reply.hijack();
    }
  using events = openEvents(reply, system.clock);
  try {
    const done = await work(signal, progress => events.send('progress', snakeCased(progress)));
    events.send('done', snakeCased(done), true);
  } catch (error) {
    if (signal.aborted) return reply;
    events.send('error', reportOf(error, request.url, system), true);
  }
  return reply;
}
