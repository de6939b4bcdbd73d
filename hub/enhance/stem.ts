/** A word without its ending. Compared by `stem`; `form` is the ending. */
export type Stem = { readonly stem: string; readonly form: Form };
export type Form = 'plain' | 's' | 'ing' | 'ed' | 'passive';

/** Words that end like a form of another word, and are none. */
const whole = new Set(
  `string thing bring king ring spring sibling during nothing something everything anything morning evening ceiling
  heading setting padding spacing meaning being missing pending remaining leading trailing building opening mapping
  embed shed bed red led need feed speed seed hundred indeed species series news analysis status bus address access
  process class pass less always this his its has was is as us alias canvas redis basis css https dns aws news`.split(
    /\s+/,
  ),
);

/** The stem of a word in lower case. `~` keeps stems apart from words that have no forms ("note", "not"). */
export function stemOf(word: string): Stem {
  if (word.length <= 3 || whole.has(word)) return { stem: `${reduced(word)}~`, form: 'plain' };
  const [base, form] = endingOf(word);
  return { stem: `${reduced(base)}~`, form };
}

function endingOf(word: string): readonly [string, Form] {
  if (/[^aeiou]ies$/.test(word)) return [word.replace(/ies$/, 'y'), 's'];
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return [word.slice(0, -2), 's'];
  if (/[^sui]s$/.test(word)) {
    const singular = word.slice(0, -1);
    return [singular, 's'];
  }
  if (word.endsWith('ied')) return [word.replace(/ied$/, 'y'), 'ed'];
  if (/[aeiouy].*[^e]ed$/.test(word)) return [word.slice(0, -2), 'ed'];
  if (/[aeiouy].*ing$/.test(word)) return [word.slice(0, -3), 'ing'];
  return [word, 'plain'];
}

/** Without a final "e" and doubled letters, which come and go with the ending. */
const reduced = (base: string) =>
  base.length < 3 ? base : base.replace(/e$/, '').replace(/([^aeiou])\1$/, '$1');
