import { type Clock, type Log, createAbortScope, messageOf, setBounded } from '#core';
import { ModelFailure } from '#models';
import type { EmbeddedText, EmbeddingModel } from './embedding-model.ts';
import type { ToolText } from './tool-text.ts';
import { type VectorStore, vectorKey } from './vector-store.ts';

export type Meanings = ReturnType<typeof createMeanings>;

/** Weight of the embedding of a tool's names, relative to that of its description. */
const namedShare = 0.5;
/** Maximum time in ms that a search waits for the embedding of its query: loading a model takes seconds. */
const queryMs = 1_500;
/** Minimum time in ms before a pass is retried that failed, or found no model. */
const retryMs = 30_000;
/** Number of tools in a row that a model fails to embed, after which a pass ends. */
const maxFailures = 3;
/** Maximum number of queries with a cached embedding. Clients repeat a query with another limit. */
const maxQueries = 64;

/** Creates the comparison of queries with tools by their embeddings. A background pass embeds each tool once. */
export function createMeanings({
  model,
  store,
  clock,
  log,
}: {
  readonly model: EmbeddingModel;
  readonly store: VectorStore;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const life = new AbortController();
  /** Vectors of the tools in use, so that searches need not compute their keys. Cleared when the model changes. */
  let known = new WeakMap<ToolText, Float32Array>();
  /** Vectors of whole lists of tools, in their order. Cleared when another vector becomes known. */
  let lists = new WeakMap<readonly ToolText[], readonly (Float32Array | undefined)[]>();
  /** Lists in which all tools have vectors. */
  let complete = new WeakSet<readonly ToolText[]>();
  /** Tools that the model failed to embed. They are tried after all others. */
  const failed = new WeakSet<ToolText>();
  let digest: string | undefined;
  let wanted: readonly ToolText[] = [];
  let pass: Promise<void> | undefined;
  let notBeforeMs = -Infinity;
  const queries = new Map<string, EmbeddedText>();

  /** Clears all vectors if the digest of the model has changed: vectors of different models are not comparable. */
  function useDigest(made: string): void {
    if (made === digest) return;
    digest = made;
    known = new WeakMap();
    complete = new WeakSet();
    lists = new WeakMap();
  }

  function learn(text: ToolText, vector: Float32Array): void {
    known.set(text, vector);
    lists = new WeakMap();
  }

  function isComplete(texts: readonly ToolText[]): boolean {
    if (complete.has(texts)) return true;
    if (!texts.every(text => known.has(text))) return false;
    complete.add(texts);
    return true;
  }

  async function embedTool(text: ToolText): Promise<void> {
    const [described, named] = text.embedded;
    const whole = await model.embed('tool', described, life.signal);
    useDigest(whole.digest);
    const names = await model.embed('tool', named, life.signal);
    // The model was replaced meanwhile. The next pass embeds the tool again.
    if (names.digest !== whole.digest || digest !== whole.digest) return;
    // The dot product with a sum is the sum of the dot products, so one vector holds both embeddings.
    const vector = whole.vector.map((value, at) => value + namedShare * (names.vector[at] ?? 0));
    learn(text, vector);
    await store.put(vectorKey(text, whole.digest), vector);
  }

  /** Loads the vectors that earlier runs of the hub have stored. */
  function recall(texts: readonly ToolText[]): void {
    if (digest === undefined) return;
    for (const text of texts) {
      if (known.has(text)) continue;
      const kept = store.find(vectorKey(text, digest));
      if (kept) learn(text, kept);
    }
  }

  function vectorsOf(texts: readonly ToolText[]) {
    let vectors = lists.get(texts);
    if (!vectors) {
      vectors = texts.map(text => known.get(text));
      lists.set(texts, vectors);
    }
    return vectors;
  }

  async function run(): Promise<void> {
    await store.open();
    const chosen = await model.choose(life.signal);
    if (chosen === undefined) return;
    useDigest(chosen);
    let [made, failures] = [0, 0];
    for (let texts: typeof wanted | undefined; texts !== wanted;) {
      texts = wanted;
      recall(texts);
      const missing = texts.filter(text => !known.has(text));
      for (const text of missing.toSorted(
        (a, b) => Number(failed.has(a)) - Number(failed.has(b)),
      )) {
        try {
          await embedTool(text);
          made++;
          failures = 0;
        } catch (error) {
          failed.add(text);
          if (!isOfText(error) || ++failures === maxFailures) throw error;
          log.debug({ error: messageOf(error) }, 'a tool is found by words only');
        }
        // Start again, because the servers have changed their tools meanwhile.
        if (texts !== wanted) break;
      }
    }
    if (made > 0) log.info({ model: model.name, tools: made }, 'tools are found by their meaning');
  }

  return {
    /** Embeds tools in the background, unless a pass is running, or one failed within the last 30 s. Never throws. */
    prepare(texts: readonly ToolText[]): void {
      wanted = texts;
      if (pass || clock.monotonic() < notBeforeMs || isComplete(texts)) return;
      pass = run()
        .catch((error: unknown) => {
          log.debug({ error: messageOf(error) }, 'tools are found by words only');
        })
        .then(() => {
          pass = undefined;
          notBeforeMs = isComplete(wanted) ? -Infinity : clock.monotonic() + retryMs;
        });
    },
    /** Resolves when no pass is running. */
    settled: async (): Promise<void> => await pass,
    /** Resolves with the embedding of a query, or with undefined if no model embeds it in time. Never rejects. */
    async ofQuery(text: string, signal: AbortSignal): Promise<Float32Array | undefined> {
      const before = queries.get(text);
      if (before && before.digest === digest) return before.vector;
      if (digest === undefined) return undefined;
      try {
        using limit = createAbortScope([signal, life.signal], { clock, limitMs: queryMs });
        const embedded = await model.embed('query', text, limit.signal);
        useDigest(embedded.digest);
        setBounded(queries, text, embedded, maxQueries);
        return embedded.vector;
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'a search compares words only');
        return undefined;
      }
    },
    /** Returns the similarity of each tool to a query; NaN for tools without a vector. */
    compare: (texts: readonly ToolText[], query: Float32Array): Float64Array =>
      Float64Array.from(vectorsOf(texts), vector =>
        vector?.length === query.length ? product(vector, query) : NaN,
      ),
    /** Cancels the running pass. */
    async stop(): Promise<void> {
      life.abort(new Error('the hub stops'));
      await pass;
      await store.close();
    },
  };
}

/** True if a model failed because of the text, for example with a vector that has no direction. */
const isOfText = (error: unknown): boolean =>
  error instanceof ModelFailure && /^(?:refused|too_long|empty|malformed)$/.test(error.kind);

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
