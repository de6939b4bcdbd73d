import { keywordsOf, wordsOf } from './words.ts';

/** A query in the forms that are compared. */
type Query = {
  /** Stems, for the index of words. */
  readonly words: readonly string[];
  /** The text that is embedded. */
  readonly embedded: string;
};

/** Maximum length in characters of what is read of a query. */
const maxLength = 500;
const url = /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>]+/gi;
const path = /(?<![\w:/\\.])(?:\.{0,2}\/|~\/|[a-z]:\\)[\w.-]+(?:[/\\][\w.-]+)*/gi;

/**
 * Reads a query. Values that a tool would get as arguments stand for their kind: "open /docs/report.md" is about a file
 * path, and no tool has "report" in its description because of it. Sentence words are not embedded either.
 */
export function readQuery(text: string): Query {
  const plain = text.slice(0, maxLength).replaceAll(url, 'url').replaceAll(path, 'file path');
  return { words: wordsOf(plain), embedded: keywordsOf(plain) };
}
