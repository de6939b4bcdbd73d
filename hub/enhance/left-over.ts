import { vocabulary } from './phrases.ts';
import type { Side } from './spot-pairs.ts';
import type { Spot } from './spots.ts';
import { names, wordSet } from './words.ts';

/** Returns the words without a counterpart that add something to the request. */
export function leftOver(side: Side): readonly Spot[] {
  return side.spots.filter(
    (spot, at) =>
      !side.pairs.has(at) &&
      !isNeutral(side, spot, at) &&
      !(isRepeated(side, spot) && hasPronoun(side, at)),
  );
}

export const repeatedNouns = (side: Side): readonly Spot[] =>
  side.spots.filter(
    (spot, at) => !side.pairs.has(at) && !isNeutral(side, spot, at) && isRepeated(side, spot),
  );

/** True if the other prompt has the noun elsewhere, and so may have a pronoun here. */
function isRepeated({ spots, pairs }: Side, { stem, isVerb, isNegated }: Spot): boolean {
  if (isVerb || isNegated || /^(?:number|sign) /.test(stem)) return false;
  return spots.some((item, at) => item.stem === stem && !item.isNegated && pairs.has(at));
}

const pronouns = wordSet('it its they their them he she one ones itself that this those');

/** True if the other prompt has a pronoun between the same neighbouring words. */
function hasPronoun({ spots, others, pairs }: Side, at: number): boolean {
  const before = spots.findLastIndex((_, place) => place < at && pairs.has(place));
  const after = spots.findIndex((_, place) => place > at && pairs.has(place));
  const [begin, end] = [pairs.get(before) ?? -1, pairs.get(after) ?? others.length];
  return others.some(
    ({ stem }, place) => place > begin && place < end && pronouns.has(stem.replace('~', '')),
  );
}

/** True if a word without a counterpart adds nothing to the request. */
function isNeutral({ spots, others, pairs }: Side, spot: Spot, at: number): boolean {
  if (spot.isNegated) return false;
  const next = spots[at + 1];
  const isListed = spot.begins === 'item' || next?.begins === 'item';
  // "in 1 sentence" is "in one sentence".
  if (singles.has(spot.stem) && others.some(({ stem }) => singles.has(stem))) return true;
  if (spot.isAsk && isPlainAsk({ spots, others, pairs }, spot)) return true;
  // "too" adds nothing in "does it help, too", but changes "is it too hot".
  if (spot.stem === 'too~') return next === undefined || next.begins !== undefined;
  if (vocabulary().neutral.has(spot.stem)) return true;
  // Not an item of a list: "the date and the place" is more than "the date".
  if (vocabulary().light.has(spot.raw.toLowerCase())) return !isListed || spot.isVerb;
  if (isLightVerb({ spots, others, pairs }, at)) return true;
  const other = others[pairs.get(at + 1) ?? -1];
  // "any mistakes" is "mistakes".
  if (spot.stem === 'any') return isPlural(next) && isPlural(other);
  // "exactly" adds nothing in "what exactly", but changes "exactly 5".
  if (exactly.has(spot.raw.toLowerCase())) return !next?.stem.startsWith('number ');
  const behind =
    next?.begins === 'chunk' && next.preposition !== 'for' ? [next] : [next, spots[at + 2]];
  const isNamed = behind.some(item => /^(?:path|identifier) /.test(item?.stem ?? ''));
  if (isNamed && namedKinds.has(spot.stem) && !isListed) return true;
  // "good" adds nothing after a request for a suggestion: "what would be a good title" is "suggest a title".
  const isWished = spots.findLast(({ isAsk, part }) => isAsk && part === spot.part)?.stem ?? '';
  if (spot.stem === 'good~' && wishes.has(isWished)) return true;
  const isMade = isWished === '=create' || wishes.has(isWished);
  if (niceties.has(spot.raw.toLowerCase()) && isMade) return true;
  // "a PDF file" is "a PDF".
  return (
    names.has(spots[at - 1]?.raw.toLowerCase() ?? '') && formatKinds.has(spot.stem) && !isListed
  );
}

const makers = wordSet('=create addto write~ =setup add~ perform~ =do do =run give~');

/** True for a verb with little meaning before a noun of action: "add validation to the form" is "validate the form". */
function isLightVerb(side: Side, at: number): boolean {
  return makers.has(side.spots[at]?.stem ?? '') && isDerived(side, at + 1);
}

/** True if a word that is not a verb has a verb as its counterpart. */
export function isDerived({ spots, others, pairs }: Side, at: number): boolean {
  const [spot, other] = [spots[at], others[pairs.get(at) ?? -1]];
  return (
    spot !== undefined &&
    other !== undefined &&
    spot.stem !== other.stem &&
    !spot.isVerb &&
    other.isVerb
  );
}

const namedKinds = wordSet('endpoint~ =endpoint route~ =route page~ file~ function module~');
const formatKinds = wordSet(
  'file~ language~ library~ framework~ database tool~ format~ =format =library =tool',
);

/** True for a verb of writing or showing, if the other prompt has no verb: "Write a cover letter" is "Cover letter". */
function isPlainAsk({ spots, others, pairs }: Side, { stem, part }: Spot): boolean {
  if (!plainAsks.has(stem)) return false;
  const found = [...pairs].filter(([one]) => spots[one]?.part === part);
  const parts = new Set(found.map(([, other]) => others[other]?.part));
  return (
    found.length > 0 &&
    !others.some(({ part: other, isAsk }) => isAsk && parts.has(other)) &&
    !others.some(
      ({ part: other, isVerb }, at) => isVerb && parts.has(other) && others[at - 1]?.part !== other,
    )
  );
}

const wishes = wordSet('?what =suggest');
const niceties = wordSet('nice suitable appropriate fitting');
const exactly = wordSet('exactly precisely');
const isPlural = (spot: Spot | undefined): boolean =>
  spot !== undefined && (spot.form === 's' || /[^s]s$/.test(spot.raw)) && !spot.isVerb;
const singles = new Set(['number 1', 'one', 'single~']);
const plainAsks = wordSet('=create =show ?what =suggest ?want');
