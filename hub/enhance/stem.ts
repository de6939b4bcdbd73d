import { tableOf, wordSet } from './words.ts';

/** A word without its ending. A `~` at the end marks a stem, as opposed to a word without inflected forms. */
export type Stem = { readonly stem: string; readonly form: Form };
export type Form = 'plain' | 's' | 'ing' | 'ed' | 'passive';

/** Words that end like an inflected form, but are none. */
const whole = wordSet(
  `string thing bring king ring spring sibling during nothing something everything anything morning evening ceiling
  heading setting padding spacing meaning being missing pending remaining leading trailing building opening mapping
  embed shed bed red led need feed speed seed hundred indeed species series news analysis status bus address access
  process class pass less always this his its has was is as us alias canvas redis basis css https dns aws`,
);

/** Rules that convert British spellings to American ones. `spellings`: words that no rule covers. */
const endings: readonly (readonly [RegExp, string])[] = [
  [/(?<=[a-z]{2})is(?=(?:e[srd]?|ers?|ing|ations?)$)/, 'iz'],
  [/lys(?=(?:e[srd]?|ing)$)/, 'lyz'],
  [/^(col|fav|behavi|hon|lab|neighb|flav|hum|rum|harb|od|vap|arm|endeav|parl)our/, '$1or'],
  [/^(cen|thea|li|fib|calib|me|kilome|centime)tre/, '$1ter'],
  [/^(catal|dial|anal|prol|epil)ogue/, '$1og'],
  [/^((?:trav|canc|lab|mod|sign|fu|lev|chann|couns|di|tot|pan)[aei]?l)l(?=(?:ed|ing|ers?)$)/, '$1'],
];
const spellings = tableOf(
  `defence defense | offence offense | licence license | practise practice | grey gray | programme program |
  programmes programs | judgement judgment | ageing aging | fulfil fulfill | enrol enroll | skilful skillful |
  whilst while | amongst among | towards toward | maths math | mum mom | learnt learned |
  spelt spelled | burnt burned | dreamt dreamed | jewellery jewelry | sceptical skeptical`,
);

/** Returns the American spelling of a word in lower case. */
export function americanOf(word: string): string {
  const known = spellings.get(word);
  if (known !== undefined) return known;
  if (word.length < 5 || whole.has(word)) return word;
  for (const [pattern, letters] of endings)
    if (pattern.test(word)) return word.replace(pattern, letters);
  return word;
}

/** Returns the stem of a word in lower case. `isKnown`: true if its argument is a word, and not only a remainder. */
export function stemOf(written: string, isKnown: (word: string) => boolean = () => false): Stem {
  const word = americanOf(written);
  if (word.length <= 3 || whole.has(word)) return { stem: `${word}~`, form: 'plain' };
  const [bases, form] = basesOf(word);
  return { stem: `${bases.find(isKnown) ?? bases[0] ?? word}~`, form };
}

/** Returns the words of which a word may be an inflected form, the most probable first. */
function basesOf(word: string): readonly [readonly string[], Form] {
  const [one, two, three] = [word.slice(0, -1), word.slice(0, -2), word.slice(0, -3)];
  if (/[^aeiou]ies$/.test(word)) return [[`${three}y`, one], 's'];
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return [[two, one], 's'];
  if (/[^sui]s$/.test(word)) return [[one], 's'];
  if (word.endsWith('ied')) return [[`${three}y`], 'ed'];
  if (/[aeiouy].*[^e]ed$/.test(word)) return [verbsOf(two), 'ed'];
  if (/[aeiouy].*ing$/.test(word)) return [verbsOf(three), 'ing'];
  return [[word], 'plain'];
}

/** Returns the verbs that a form may belong to: "planned" to "plan", "planed" to "plane", "called" to "call". */
function verbsOf(base: string): readonly string[] {
  const single = base.replace(/([^aeiou])\1$/, '$1');
  if (single !== base) return /(?:ll|ss|ff|zz|dd)$/.test(base) ? [base, single] : [single, base];
  const endsShort =
    /(?:^|[^aeiou])[aeiouy][^aeiouwxy]$/.test(base) && /^[^aeiou]*[aeiouy]+[^aeiou]+$/.test(base);
  return endsShort ||
    /(?:at|iz|bl|dl|tl|gl|pl|cl|fl|kl|zl|rg|rs|ns|v|uc|ac|ic|us|[^aeiou][aiou]d|[^aeiou][aiu]m|quir|[tsg]ur|[ae]g|vok)$/.test(
      base,
    )
    ? [`${base}e`, base]
    : [base, `${base}e`];
}
