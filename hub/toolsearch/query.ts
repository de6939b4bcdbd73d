import { keywordsOf, wordsOf } from './words.ts';

/** A query, prepared for both kinds of comparison. */
type Query = {
  /** Stems of the words of the query, for the word index. */
  readonly words: readonly string[];
  /** Text of the query for the embedding model. */
  readonly embedded: string;
};

/** Maximum length of a query in characters. The rest is ignored. */
const maxLength = 500;
const url = /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>]+/gi;
const path = /(?<![\w:/\\.])(?:\.{0,2}\/|~\/|[a-z]:\\)[\w.-]+(?:[/\\][\w.-]+)*/gi;

/**
 * Parses a query. Values that would be arguments of a tool are replaced by their type: "open /docs/report.md" becomes
 * "open file path", because no description contains "report" for this reason. Stop words are not embedded.
 */
export function readQuery(text: string): Query {
  const plain = text.slice(0, maxLength).replaceAll(url, 'url').replaceAll(path, 'file path');
  return { words: wordsOf(plain), embedded: keywordsOf(plain) };
}
