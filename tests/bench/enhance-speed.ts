import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isObject } from '#core';
import { type RedisServer, startRedis } from '#helpers/redis';
import { improvedOf, startOllama } from '../doubles/ollama.ts';
import { forkReady, freePort } from './child.ts';
import { type HttpConnection, type Reply, openConnection } from './load/http-connection.ts';
import { median } from './median.ts';
import { pinApart } from './pin.ts';
import { spawnHub } from './subjects/hub.ts';

/** Latencies of `POST /ollama/enhance` in ms. Each is the median of calls made one after the other. */
type EnhanceSpeed = {
  /** A bare Fastify server that reads the same body and answers the same object. */
  readonly bareMs: number;
  /** A hit of the exact cache in memory. */
  readonly memoryMs: number;
  /** A hit of the exact cache in Redis, and a bare Fastify that answers after one GET. Undefined without Redis. */
  readonly redis: { readonly hitMs: number; readonly bareMs: number } | undefined;
  /** A prompt that neither cache has, and the same calls to both models without the hub. */
  readonly miss: { readonly hubMs: number; readonly modelMs: number };
  /** Number of calls with a wrong answer. */
  readonly wrong: number;
};

const prompt =
  'Please refactor the parser in src/parse.ts so that it reads tokens lazily, and add tests for the empty input, for comments and for strings with escapes. Keep the public API as it is.';
const body = JSON.stringify({ prompt });
const json = 'application/json';
/** The model of the scripted Ollama that completes text. */
const chatModel = 'llama3.2:3b';
const better = improvedOf(prompt);

/** Number of calls of one kind in a row, before the next kind has its turn. */
const callsAtOnce = 100;
const missesMeasured = 200;

/** Starts all that is compared. Kinds of calls take turns, so that other load affects all of them. */
export async function measureEnhance(options: {
  readonly rounds: number;
  readonly withRedis: boolean;
}): Promise<EnhanceSpeed> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const ollama = opened.use(await startOllama());
  let wrong = 0;
  const pids: number[] = [];

  /** Posts a body and checks the answer. This counts into the time of all kinds of calls. */
  async function checked(connection: HttpConnection, body: string, source: string) {
    const reply = await posted(connection, body);
    const answer: unknown = JSON.parse(reply.body.toString());
    if (reply.status !== 200 || !isObject(answer) || answer['source'] !== source) wrong++;
    return answer;
  }

  async function openHub(name: string, settings: Readonly<Record<string, string>>) {
    const hub = opened.use(
      await spawnHub(
        `agenthub-bench-${name}`,
        {},
        {
          settings: {
            OLLAMA_HOST: ollama.url,
            OLLAMA_MODEL: chatModel,
            REDIS_URL: '',
            QDRANT_URL: '',
            ...settings,
          },
        },
      ),
    );
    await answers(`${hub.url}/ollama/models`);
    const connection = await openConnection(new URL(`${hub.url}/ollama/enhance`), json);
    opened.defer(() => connection.close());
    pids.push(hub.pid);
    return (text: string, source: string) =>
      checked(connection, JSON.stringify({ prompt: text }), source);
  }

  const inMemory = await openHub('memory', {});
  await inMemory(prompt, 'model');
  const file = join(folder, 'answer.json');
  await writeFile(file, JSON.stringify(await inMemory(prompt, 'l1')));
  const bareFile = fileURLToPath(new URL('subjects/bare-fastify.ts', import.meta.url));
  async function openBare(...more: readonly string[]) {
    const port = await freePort();
    pids.push(opened.use(await forkReady(bareFile, [String(port), file, ...more])).pid);
    const connection = await openConnection(new URL(`http://127.0.0.1:${port}/`), json);
    opened.defer(() => connection.close());
    return () => checked(connection, body, 'l1');
  }
  const bare = await openBare();

  const redis = options.withRedis ? opened.use(await startRedis()) : undefined;
  const shared = redis && (await openShared(redis, openHub, openBare));
  const direct = await openConnection(new URL(`${ollama.url}/api/chat`), json);
  opened.defer(() => direct.close());
  const embedding = await openConnection(new URL(`${ollama.url}/api/embed`), json);
  opened.defer(() => embedding.close());

  opened.use(pinApart(pids));
  const times = {
    bare: [] as number[],
    memory: [] as number[],
    hit: [] as number[],
    bareGet: [] as number[],
  };
  // Negative rounds are not measured: they warm up Node's compilers.
  for (let round = -options.rounds; round < options.rounds; round++) {
    const took = async (all: number[], work: () => Promise<unknown>) => {
      for (let call = 0; call < callsAtOnce; call++) {
        const since = performance.now();
        await work();
        if (round >= 0) all.push(performance.now() - since);
      }
    };
    await took(times.bare, bare);
    await took(times.memory, () => inMemory(prompt, 'l1'));
    if (!shared) continue;
    await took(times.hit, () => shared.enhance(prompt, 'l1'));
    await took(times.bareGet, shared.bare);
  }

  const miss = await measureMiss(missesMeasured, async index => {
    const fresh = `${prompt} Number ${index} of them.`;
    return [
      await inMs(() => inMemory(fresh, 'model')),
      await inMs(async () => {
        await posted(embedding, JSON.stringify({ model: 'nomic-embed-text', input: fresh }));
        await posted(direct, chatOf(fresh));
      }),
    ];
  });
  const at = (all: readonly number[]) => median(all) ?? Number.NaN;
  return {
    bareMs: at(times.bare),
    memoryMs: at(times.memory),
    redis: shared && { hitMs: at(times.hit), bareMs: at(times.bareGet) },
    miss,
    wrong,
  };
}

async function openShared(
  redis: RedisServer,
  openHub: (
    name: string,
    settings: Readonly<Record<string, string>>,
  ) => Promise<(text: string, source: string) => Promise<unknown>>,
  openBare: (...more: readonly string[]) => Promise<() => Promise<unknown>>,
) {
  const enhance = await openHub('redis', { REDIS_URL: redis.url });
  await enhance(prompt, 'model');
  const { Redis } = await import('ioredis');
  const client = new Redis(redis.url);
  await client.set('bench', better);
  client.disconnect();
  return { enhance, bare: await openBare(redis.url) };
}

/** Measures calls with a new prompt each, through the hub and without it. */
async function measureMiss(
  rounds: number,
  call: (index: number) => Promise<readonly [number, number]>,
): Promise<EnhanceSpeed['miss']> {
  const all: (readonly [number, number])[] = [];
  for (let index = 0; index < rounds; index++) all.push(await call(index));
  return {
    hubMs: median(all.map(([hub]) => hub)) ?? Number.NaN,
    modelMs: median(all.map(([, model]) => model)) ?? Number.NaN,
  };
}

async function inMs(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

const chatOf = (text: string) =>
  JSON.stringify({
    model: chatModel,
    messages: [{ role: 'user', content: text }],
    stream: true,
  });

function posted(connection: HttpConnection, body: string): Promise<Reply> {
  return new Promise(resolve => connection.post('', body, resolve));
}

/** Waits until a server answers at this URL, for at most a minute. */
async function answers(url: string): Promise<void> {
  const until = performance.now() + 60_000;
  while (performance.now() < until) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // The server does not listen yet.
    }
    await delay(50);
  }
  throw new Error(`${url} does not answer`);
}
