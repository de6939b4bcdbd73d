import { wordsOf } from './words.ts';

/** Searched texts of a document, by field. */
export type SearchedFields = Readonly<Record<FieldName, string>>;
type FieldName = 'name' | 'server' | 'description' | 'parameters';

/** Word counts of a document, by field. */
export type CountedWords = Readonly<Record<FieldName, FieldWords>>;
type FieldWords = { readonly counts: ReadonlyMap<string, number>; readonly length: number };

/**
 * Weight of a word in each field, and influence of the length of the field (`b` of BM25): a name is short and says the
 * most. Tuned with the development half of tests/data/tool-search.json, where similar values give the same results.
 */
const fieldSettings = {
  name: { weight: 3, b: 0.5 },
  server: { weight: 1, b: 0.5 },
  description: { weight: 1, b: 0.75 },
  parameters: { weight: 0.7, b: 0.75 },
} as const;
const fieldNames = ['name', 'server', 'description', 'parameters'] as const;
/** Saturation of repeated words (`k1` of BM25): the lower, the less another occurrence counts. */
const saturation = 0.9;

export function countWords(fields: SearchedFields): CountedWords {
  const counted = (text: string): FieldWords => {
    const words = wordsOf(text);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { counts, length: words.length };
  };
  return {
    name: counted(fields.name),
    server: counted(fields.server),
    description: counted(fields.description),
    parameters: counted(fields.parameters),
  };
}

/** Documents that contain a word, and the weighted count of the word in each. */
type Postings = { readonly documents: number[]; readonly counts: number[] };

export type WordIndex = ReturnType<typeof createWordIndex>;

/**
 * Ranks documents by BM25F (Robertson, Zaragoza, 2009, 3.5): the counts of all fields are weighted and summed before
 * they saturate. Libraries add one BM25 score per field, which favours words that are in many fields (decisions/0048).
 */
export function createWordIndex(documents: readonly CountedWords[]) {
  const postings = new Map<string, Postings>();
  const lengths = fieldNames.map(field =>
    documents.reduce((sum, document) => sum + document[field].length, 0),
  );
  for (const [number, document] of documents.entries()) {
    const sums = new Map<string, number>();
    for (const [at, field] of fieldNames.entries()) {
      const { counts, length } = document[field];
      const { weight, b } = fieldSettings[field];
      const usual = (lengths[at] ?? 0) / documents.length;
      const share = weight / (1 - b + (usual > 0 ? (b * length) / usual : 0));
      for (const [word, count] of counts) sums.set(word, (sums.get(word) ?? 0) + share * count);
    }
    for (const [word, sum] of sums) {
      let ofWord = postings.get(word);
      if (!ofWord) postings.set(word, (ofWord = { documents: [], counts: [] }));
      ofWord.documents.push(number);
      ofWord.counts.push(sum);
    }
  }

  return {
    /** Returns the score of each document for these words; 0 if a document has none of them. */
    scores(words: readonly string[]): Float64Array {
      const scores = new Float64Array(documents.length);
      for (const word of new Set(words)) {
        const found = postings.get(word);
        if (!found) continue;
        const having = found.documents.length;
        const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
        for (const [at, number] of found.documents.entries()) {
          const count = found.counts[at] ?? 0;
          const gain = (rarity * count * (saturation + 1)) / (count + saturation);
          scores[number] = (scores[number] ?? 0) + gain;
        }
      }
      return scores;
    },
  };
}
