import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, setBounded } from '#core';
import type { Meanings } from './meanings.ts';
import { readQuery } from './query.ts';
import { bestOf, joinScores } from './ranking.ts';
import { type SearchedTool, type ToolText, readToolText } from './tool-text.ts';
import { type CountedWords, type WordIndex, countWords, createWordIndex } from './word-index.ts';

/** Finds tools by descriptions of what they do. */
export type ToolSearch = {
  /** Indexes a list of tools in the background. Never throws. */
  prepare(tools: readonly SearchedTool[]): void;
  /**
   * Resolves with the positions of the tools that match a query best, at most `limit`, the best first. With an
   * embedding model, tools with a similar meaning are found even if no word is the same; without a model, a tool must
   * have a word of the query. Rejects with the reason of the signal.
   */
  find(
    tools: readonly SearchedTool[],
    wanted: ToolQuery,
    signal: AbortSignal,
  ): Promise<readonly number[]>;
};

type ToolQuery = {
  readonly query: string;
  readonly limit: number;
  /** Returns false for a tool that the caller must not find. */
  readonly isFindable: (position: number) => boolean;
};

type Document = { readonly text: ToolText; readonly words: CountedWords };
type Index = { readonly texts: readonly ToolText[]; readonly words: WordIndex };

/** Maximum number of cached documents. After a change of the list, most tools are the same. */
const maxDocuments = 10_000;
/** Time in ms after which the indexing of a list yields to the event loop. */
const turnMs = 5;

/** Creates the tool search. `meanings` is absent without Ollama. */
export function createToolSearch({
  meanings,
  clock,
}: {
  readonly meanings?: Meanings | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
}): ToolSearch {
  const documents = new Map<string, Document>();
  const indexes = new WeakMap<readonly SearchedTool[], Promise<Index>>();

  function documentOf(tool: SearchedTool): Document {
    const key = keyOf(tool);
    let document = documents.get(key);
    if (!document) {
      const text = readToolText(tool);
      document = { text, words: countWords(text.fields) };
    }
    setBounded(documents, key, document, maxDocuments);
    return document;
  }

  async function build(tools: readonly SearchedTool[]): Promise<Index> {
    const read: Document[] = [];
    let begunMs = clock.monotonic();
    for (const tool of tools) {
      read.push(documentOf(tool));
      if (clock.monotonic() - begunMs < turnMs) continue;
      await nextTurn();
      begunMs = clock.monotonic();
    }
    const texts = read.map(({ text }) => text);
    meanings?.prepare(texts);
    return { texts, words: createWordIndex(read.map(({ words }) => words)) };
  }

  function indexOf(tools: readonly SearchedTool[]): Promise<Index> {
    let index = indexes.get(tools);
    if (!index) indexes.set(tools, (index = build(tools)));
    return index;
  }

  return {
    prepare(tools) {
      void indexOf(tools).then(({ texts }) => meanings?.prepare(texts));
    },
    async find(tools, { query, limit, isFindable }, signal) {
      const asked = readQuery(query);
      const { texts, words } = await indexOf(tools);
      meanings?.prepare(texts);
      const vector = await meanings?.ofQuery(asked.embedded, signal);
      signal.throwIfAborted();
      const positions = [...tools.keys()].filter(isFindable);
      const byWords = words.scores(asked.words);
      const byMeaning = vector && meanings?.compare(texts, vector);
      const scores = joinScores(pick(byWords, positions), byMeaning && pick(byMeaning, positions));
      return bestOf(scores, limit).flatMap(at => positions[at] ?? []);
    },
  };
}

const keyOf = ({ server, name, definition }: SearchedTool): string =>
  createHash('sha1').update(`${server}\0${name}\0`).update(definition).digest('base64url');

const pick = (scores: Float64Array, positions: readonly number[]): Float64Array =>
  Float64Array.from(positions, at => scores[at] ?? NaN);
