/** A word without its ending. `~` tells stems from words that have no forms. */
export type Stem = { readonly stem: string; readonly form: Form };
export type Form = 'plain' | 's' | 'ing' | 'ed' | 'passive';

/** Words that end like a form of another word, and are none. */
const whole = new Set(
  `string thing bring king ring spring sibling during nothing something everything anything morning evening ceiling
  heading setting padding spacing meaning being missing pending remaining leading trailing building opening mapping
  embed shed bed red led need feed speed seed hundred indeed species series news analysis status bus address access
  process class pass less always this his its has was is as us alias canvas redis basis css https dns aws`.split(
    /\s+/,
  ),
);

/** The stem of a word in lower case. `isKnown` tells words from what is left of them without an ending. */
export function stemOf(word: string, isKnown: (word: string) => boolean = () => false): Stem {
  if (word.length <= 3 || whole.has(word)) return { stem: `${word}~`, form: 'plain' };
  const [bases, form] = basesOf(word);
  return { stem: `${bases.find(isKnown) ?? bases[0] ?? word}~`, form };
}

/** The words of which this may be a form, the most probable one first. */
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

/** "planned" is of "plan", "planed" of "plane", "called" of "call". */
function verbsOf(base: string): readonly string[] {
  const single = base.replace(/([^aeiou])\1$/, '$1');
  if (single !== base) return /(?:ll|ss|ff|zz|dd)$/.test(base) ? [base, single] : [single, base];
  const endsShort =
    /(?:^|[^aeiou])[aeiouy][^aeiouwxy]$/.test(base) && /^[^aeiou]*[aeiouy]+[^aeiou]+$/.test(base);
  return endsShort || /(?:at|iz|bl|dl|tl|gl|pl|rg|rs|ns|v|uc|ac|ic|us)$/.test(base)
    ? [`${base}e`, base]
    : [base, `${base}e`];
}
